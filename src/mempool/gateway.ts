/** Answers wallets of linked users and miners, tells them of each block, and tells storage what is stored. */

import type { Certificate } from '../chain/certificate.js';
import { countTransactions, decodeTransactionsInPieces, encodeUtxos } from '../chain/decode-in-pieces.js';
import type { Transaction, Utxo } from '../chain/types.js';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import { FewLines } from '../lib/few-lines.js';
import { Mutex } from '../lib/mutex.js';
import { hasWallet } from '../lib/roles.js';
import { TimeSlices } from '../lib/time-slices.js';
import { MAX_LIST, MAX_PAGE_OUTPUTS, type MessageBody } from '../peers/messages.js';
import type { Link, Message, Reply } from '../peers/network.js';
import type { Admission } from './admission/admission.js';
import type { ChainSync } from './blocks/chain-sync.js';
import type { Signer } from './blocks/signer.js';
import type { MempoolParts } from './modules.js';
import { closedBlockBytes, closedHash } from './state/round.js';

/** Characters of a reason in a message. */
const MAX_DETAIL = 1_000;

export interface GatewayModules
  extends Pick<MempoolParts, 'applier' | 'clock' | 'logger' | 'network' | 'state' | 'statuses'> {
  readonly sync: Pick<ChainSync, 'caughtUp'>;
  readonly admission: Admission;
  /** Why no transactions are taken now; null when they are. */
  readonly unready: () => string | null;
  /** Signer of blocks; undefined in a network that names no producers. */
  readonly signer?: Signer | undefined;
}

export class Gateway {
  readonly #modules: GatewayModules;
  readonly #lines: FewLines;
  readonly #slices: TimeSlices;
  /** Locks of links: what comes over one link is read in its order, because a payment may spend what the one before it pays. */
  readonly #reading = new WeakMap<Link, Mutex>();
  readonly #listeners: (() => void)[] = [];

  constructor(modules: GatewayModules) {
    const { clock, logger } = modules;
    this.#slices = new TimeSlices(clock);
    this.#modules = modules;
    this.#lines = new FewLines(logger, clock);
  }

  start(): void {
    this.#modules.network.handle('transactions.submit', (link, message) => this.#onSubmit(link, message));
    this.#modules.network.handle('utxos.get', (_link, message) => this.#onUtxosGet(message));
    this.#modules.network.handle('statuses.get', (_link, message) => this.#onStatusesGet(message));
    this.#modules.network.handle('producer.get', () => {
      const certificate = this.#modules.signer?.node(this.#modules.network.nodeKey);
      const unready = this.#modules.unready()?.slice(0, MAX_DETAIL);
      return { type: 'producer', body: { ...(certificate && { certificate }), ...(unready && { unready }) } };
    });
    this.#modules.network.handle('chain.tip.get', () => {
      const { height, hash } = this.#modules.state.head;
      return { type: 'chain.tip', body: { next: height + 1, hash, time: this.#modules.clock.now() } };
    });
    this.#listeners.push(
      this.#modules.applier.confirmed.on((round) => {
        this.#announce(round.height, closedHash(round), () => closedBlockBytes(round));
      }),
      // A wallet needs only the last of the fetched blocks, and asks for those that it has missed.
      this.#modules.sync.caughtUp.on(({ height, hash, bytes }) => this.#announce(height, hash, () => bytes)),
    );
  }

  stop(): void {
    for (const remove of this.#listeners.splice(0)) remove();
  }

  async #onSubmit(link: Link, { attachment }: Message<'transactions.submit'>): Promise<Reply> {
    try {
      await this.#modules.admission.submit(await this.#read(link, attachment), link.sender);
      return { type: 'transactions.result', body: { accepted: true, code: '', detail: '' } };
    } catch (error) {
      // A transaction that may still be in the journal is not refused: the wallet would pay again.
      if (!isTesseraError(error) || error.details.mayBeTaken === true) throw error;
      const body = { accepted: false, code: error.code, detail: error.message.slice(0, MAX_DETAIL) };
      return { type: 'transactions.result', body };
    }
  }

  /** Answers with one page of outputs: a wallet with many is answered in pieces, which hold nobody up. */
  #onUtxosGet({ body }: Message<'utxos.get'>): Reply {
    const { utxos, next } = this.#pageOf(body);
    const { height, hash } = this.#modules.state.head;
    return {
      type: 'utxos',
      body: { block_num: height, hash, ...this.#certified(height, hash), ...(next === undefined ? {} : { next }) },
      attachment: encodeUtxos(utxos),
    };
  }

  async #onStatusesGet({ body }: Message<'statuses.get'>): Promise<Reply> {
    const found = await this.#modules.statuses.get(body.hashes);
    const statuses = [...found].map(([hash, { status, additionalInfo }]) => ({
      hash,
      status,
      info: additionalInfo.slice(0, MAX_DETAIL),
    }));
    return { type: 'statuses', body: { statuses } };
  }

  /** The transactions of a submission. Throws `malformed_transaction`, and `invalid_request` for too many. */
  #read(link: Link, bytes: Uint8Array): Promise<readonly Transaction[]> {
    const mutex = this.#reading.get(link) ?? new Mutex();
    this.#reading.set(link, mutex);
    return mutex.run(() => {
      const count = countTransactions(bytes);
      if (count <= MAX_LIST) return decodeTransactionsInPieces(bytes, () => this.#slices.turn());
      throw new TesseraError(
        'invalid_request',
        `${count} transactions in one submission; at most ${MAX_LIST} are taken`,
      );
    });
  }

  #pageOf({ addresses, after }: MessageBody<'utxos.get'>): {
    readonly utxos: readonly Utxo[];
    readonly next: MessageBody<'utxos'>['next'];
  } {
    const { utxos } = this.#modules.state;
    const found: Utxo[] = [];
    for (const [index, address] of [...new Set(addresses)].entries()) {
      const from = index === 0 && after !== undefined ? { tHash: after.t_hash, n: after.n } : undefined;
      for (const slot of utxos.slotsOf(address, from)) {
        const last = found.at(-1);
        if (last !== undefined && found.length === MAX_PAGE_OUTPUTS) {
          // The last output found may be of the previous address; then this page has no output of the current one.
          const begun = last[1].scriptPublicKey === address;
          const { tHash, n } = last[0];
          return { utxos: found, next: begun ? { address, after: { t_hash: tHash, n } } : { address } };
        }
        found.push([utxos.outPoint(slot), utxos.output(slot)]);
      }
    }
    return { utxos: found, next: undefined };
  }

  #certified(height: number, hash: string | null): { readonly certificate?: Certificate } {
    if (this.#modules.signer === undefined || hash === null) return {};
    return { certificate: this.#modules.signer.block({ height, hash }) };
  }

  #announce(height: number, hash: string, read: () => Uint8Array): void {
    const links = [...this.#modules.network.links].filter(({ role }) => hasWallet(role));
    if (links.length === 0) return;
    const body = { block_num: height, hash, ...this.#certified(height, hash) };
    for (const link of this.#modules.network.broadcast(links, 'block.mined', body, read())) {
      this.#lines.about(link).warn({ peer: link.address }, 'a block was not announced');
    }
  }
}
