/** Answers the wallets of linked users and miners: submissions, unspent outputs, statuses, and news of each block. */

import type { Utxo } from '../chain/types.js';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import type { Message, PeerNetwork, Reply } from '../peers/network.js';
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

export interface GatewayModules {
  readonly state: MempoolState;
  readonly applier: Applier;
  readonly admission: Admission;
  readonly statuses: Statuses;
  readonly network: PeerNetwork;
  readonly logger: Logger;
}

export class Gateway {
  readonly #state: MempoolState;
  readonly #applier: Applier;
  readonly #admission: Admission;
  readonly #statuses: Statuses;
  readonly #network: PeerNetwork;
  readonly #logger: Logger;
  #removeListener: (() => void) | undefined;

  constructor({ state, applier, admission, statuses, network, logger }: GatewayModules) {
    this.#state = state;
    this.#applier = applier;
    this.#admission = admission;
    this.#statuses = statuses;
    this.#network = network;
    this.#logger = logger;
  }

  start(): void {
    this.#network.handle('transactions.submit', (_link, message) => this.#onSubmit(message));
    this.#network.handle('utxos.get', (_link, message) => this.#onUtxosGet(message));
    this.#network.handle('statuses.get', (_link, message) => this.#onStatusesGet(message));
    this.#removeListener = this.#applier.confirmed.on((round) => this.#announce(round));
  }

  stop(): void {
    this.#removeListener?.();
  }

  async #onSubmit({ attachment }: Message<'transactions.submit'>): Promise<Reply> {
    try {
      await this.#admission.submit(decodeTransactions(attachment));
      return { type: 'transactions.result', body: { accepted: true, code: '', detail: '' } };
    } catch (error) {
      if (!isTesseraError(error)) throw error;
      const body = { accepted: false, code: error.code, detail: error.message.slice(0, MAX_DETAIL) };
      return { type: 'transactions.result', body };
    }
  }

  #onUtxosGet({ body }: Message<'utxos.get'>): Reply {
    return {
      type: 'utxos',
      body: { block_num: this.#state.head.height },
      attachment: encodeUtxos(this.#utxosOf(body.addresses)),
    };
  }

  async #onStatusesGet({ body }: Message<'statuses.get'>): Promise<Reply> {
    const found = await this.#statuses.get(body.hashes);
    const statuses = [...found].map(([hash, { status, additionalInfo }]) => ({
      hash,
      status,
      info: additionalInfo.slice(0, MAX_DETAIL),
    }));
    return { type: 'statuses', body: { statuses } };
  }

  #utxosOf(addresses: readonly string[]): Utxo[] {
    const { utxos } = this.#state;
    const found: Utxo[] = [];
    for (const address of new Set(addresses)) {
      for (const slot of utxos.slotsOf(address)) {
        found.push([utxos.outPoint(slot), utxos.output(slot)]);
        if (found.length > MAX_UTXOS) {
          throw new TesseraError('invalid_request', `more than ${MAX_UTXOS} outputs; ask for fewer addresses at once`);
        }
      }
    }
    return found;
  }

  #announce(round: Round): void {
    const links = [...this.#network.links].filter(({ role }) => role === 'user' || role === 'miner');
    if (links.length === 0) return;
    const body = { block_num: round.height, hash: closedHash(round) };
    const bytes = closedBlockBytes(round);
    for (const link of this.#network.broadcast(links, 'block.mined', body, bytes)) {
      this.#logger.warn({ peer: link.address }, 'a block was not announced');
    }
  }
}
