/** Answers the wallets of linked users and miners: submissions, unspent outputs, statuses, and news of each block. */

import type { Utxo } from '../chain/types.js';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import type { PeerNetwork } from '../peers/network.js';
import { decodeTransactions, encodeUtxos } from '../peers/payloads.js';
import type { Admission } from './admission/admission.js';
import type { Applier } from './state/applier.js';
import { closedBlockBytes, closedHash, type Round } from './state/round.js';
import type { MempoolState } from './state/state.js';
import type { Statuses } from './state/statuses.js';

/** Unspent outputs in one answer; a wallet with more must ask for fewer addresses at once. */
const MAX_UTXOS = 100_000;
/** Characters of a reason in a message. */
const MAX_DETAIL = 1_000;

export interface Gateway {
  start(): void;
  stop(): void;
}

export function createGateway(modules: {
  readonly state: MempoolState;
  readonly applier: Applier;
  readonly admission: Admission;
  readonly statuses: Statuses;
  readonly network: PeerNetwork;
  readonly logger: Logger;
}): Gateway {
  const { state, applier, admission, statuses, network, logger } = modules;
  let removeListener: (() => void) | undefined;

  function utxosOf(addresses: readonly string[]): Utxo[] {
    const utxos: Utxo[] = [];
    for (const address of new Set(addresses)) {
      for (const slot of state.utxos.slotsOf(address)) {
        utxos.push([state.utxos.outPoint(slot), state.utxos.output(slot)]);
        if (utxos.length > MAX_UTXOS) {
          throw new TesseraError('invalid_request', `more than ${MAX_UTXOS} outputs; ask for fewer addresses at once`);
        }
      }
    }
    return utxos;
  }

  function announce(round: Round): void {
    const links = [...network.links].filter((link) => link.role === 'user' || link.role === 'miner');
    if (links.length === 0) return;
    const body = { block_num: round.height, hash: closedHash(round) };
    const bytes = closedBlockBytes(round);
    for (const link of network.broadcast(links, 'block.mined', body, bytes)) {
      logger.warn({ peer: link.address }, 'a block was not announced');
    }
  }

  return {
    start() {
      network.handle('transactions.submit', async (_link, { attachment }) => {
        try {
          await admission.submit(decodeTransactions(attachment));
          return { type: 'transactions.result', body: { accepted: true, code: '', detail: '' } };
        } catch (error) {
          if (!isTesseraError(error)) throw error;
          const body = { accepted: false, code: error.code, detail: error.message.slice(0, MAX_DETAIL) };
          return { type: 'transactions.result', body };
        }
      });
      network.handle('utxos.get', (_link, { body }) => ({
        type: 'utxos',
        body: { block_num: state.head.height },
        attachment: encodeUtxos(utxosOf(body.addresses)),
      }));
      network.handle('statuses.get', async (_link, { body }) => {
        const found = await statuses.get(body.hashes);
        return {
          type: 'statuses',
          body: {
            statuses: [...found].map(([hash, { status, additionalInfo }]) => ({
              hash,
              status,
              info: additionalInfo.slice(0, MAX_DETAIL),
            })),
          },
        };
      });
      removeListener = applier.confirmed.on(announce);
    },
    stop() {
      removeListener?.();
    },
  };
}
