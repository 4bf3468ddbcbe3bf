/**
 * Submits again the transactions that `tessera rebuild` found in the old journal and pool, once this node is at the block of
 * storage. Impossible ones are refused with the rule; one that lacks an input is put off while others are admitted; one that
 * cannot be admitted yet is tried after the next block.
 */

import { decodeTransactions } from '../chain/decode-in-pieces.js';
import { transactionHash } from '../chain/hash.js';
import { spentOutPoints } from '../chain/transaction.js';
import type { Transaction } from '../chain/types.js';
import type { Room } from '../db/disk-room.js';
import { isTesseraError } from '../lib/errors.js';
import type { HasLogger } from '../observability/modules.js';
import type { Admission } from './admission/admission.js';
import type { ChainSync } from './blocks/chain-sync.js';
import type { Applier } from './state/applier.js';
import { arrivalOfKey, keys, ranges } from './state/layout.js';
import type { MempoolState } from './state/state.js';
import type { StateStore } from './state/state-store.js';

const CHUNK = 100;
/** Verdicts on the transactions themselves. After any other error the transactions are kept and tried again. */
const VERDICTS: ReadonlySet<string> = new Set([
  'transaction_rejected',
  'invalid_signature',
  'malformed_transaction',
  'double_spend',
]);

/** Outcomes of one transaction, or of a group: a group has the outcome of its members that is last in this list. */
const OUTCOMES = ['admitted', 'refused', 'orphan', 'later'] as const;
type Outcome = (typeof OUTCOMES)[number];

/** Verdicts that pass with time: the transactions are tried again after the next block. */
const LATER: ReadonlySet<string> = new Set(['too_many_ancestors', 'mempool_full', 'overloaded', 'invalid_request']);

export interface CarriedOverModules extends HasLogger {
  readonly state: Pick<MempoolState, 'coins' | 'head'>;
  readonly applier: Pick<Applier, 'confirmed'>;
  readonly store: StateStore;
  readonly admission: Admission;
  readonly sync: Pick<ChainSync, 'mayCut' | 'changed'>;
  readonly room: Pick<Room, 'isBack'>;
}

export class CarriedOver {
  readonly #modules: CarriedOverModules;
  readonly #listeners: (() => void)[] = [];
  #running: Promise<void> | undefined;
  /** True when something has changed while the transactions were submitted. */
  #isDueAgain = false;
  #stopped = false;

  constructor(modules: CarriedOverModules) {
    this.#modules = modules;
  }

  start(): void {
    const { sync, room, applier } = this.#modules;
    const proceed = (): void => this.#proceed();
    this.#listeners.push(sync.changed.on(proceed), room.isBack.on(proceed), applier.confirmed.on(proceed));
    proceed();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#removeListeners();
    await this.#running;
  }

  #end(): void {
    this.#removeListeners();
    this.#isDueAgain = false;
  }

  #removeListeners(): void {
    for (const remove of this.#listeners.splice(0)) remove();
  }

  #proceed(): void {
    const { sync, state } = this.#modules;
    // Before block 0 there is nothing that could be spent.
    if (this.#stopped || !sync.mayCut || state.head.height < 0) return;
    if (this.#running !== undefined) {
      this.#isDueAgain = true;
      return;
    }
    this.#isDueAgain = false;
    this.#running = this.#submitAll().finally(() => {
      this.#running = undefined;
      if (this.#isDueAgain) this.#proceed();
    });
  }

  async #submitAll(): Promise<void> {
    const { logger } = this.#modules;
    const counts = { admitted: 0, refused: 0, orphan: 0, later: 0 };
    try {
      for (let before = -1; counts.admitted > before && !this.#stopped; ) {
        before = counts.admitted;
        await this.#submitOnce(counts, { mayPutOff: true });
      }
      if (counts.orphan > 0 && counts.later === 0) await this.#submitOnce(counts, { mayPutOff: false });
      // While the node runs, nothing new is added to what is carried over.
      if (counts.later === 0) this.#end();
    } catch (error) {
      if (!isTesseraError(error)) throw error;
      if (!this.#stopped) logger.warn({ err: error }, 'transactions of the old journal are submitted again later');
    }
    const { admitted, refused, later } = counts;
    if (admitted + refused > 0) {
      logger.info({ admitted, refused, later }, 'transactions of the old journal were submitted again');
    }
  }

  async #submitOnce(counts: Record<Outcome, number>, { mayPutOff }: { readonly mayPutOff: boolean }): Promise<void> {
    const { store } = this.#modules;
    counts.orphan = 0;
    counts.later = 0;
    for (let from = 0, isMore = true; isMore && !this.#stopped; ) {
      const groups = await store.list({ ...ranges.carried, gte: keys.carried(from), limit: CHUNK });
      isMore = groups.length === CHUNK;
      for (const [key, value] of groups) {
        from = arrivalOfKey(key) + 1;
        const outcome = await this.#submit(decodeTransactions(value), mayPutOff);
        counts[outcome]++;
        if (outcome === 'admitted' || outcome === 'refused') {
          await store.update(async (batch) => void batch.del(key));
        }
      }
    }
  }

  /** Submits a group as a whole, or one by one when it is not taken whole. Throws when nothing can be decided now. */
  async #submit(group: readonly Transaction[], mayPutOff: boolean): Promise<Outcome> {
    const outcome = await this.#submitTogether(group, mayPutOff);
    if (outcome === 'admitted' || group.length === 1) return outcome;
    const outcomes = new Set<Outcome>();
    for (const tx of group) outcomes.add(await this.#submitTogether([tx], mayPutOff));
    return OUTCOMES.findLast((one) => outcomes.has(one)) ?? 'admitted';
  }

  /** Submits transactions as one group. One that is in a block counts as admitted. */
  async #submitTogether(txs: readonly Transaction[], mayPutOff: boolean): Promise<Outcome> {
    const early = this.#isEarly(txs);
    // The transaction is not submitted: a refusal would give it the status Rejected.
    if (early === 'later' || (early === 'orphan' && mayPutOff)) return early;
    try {
      await this.#modules.admission.submit(txs);
      return 'admitted';
    } catch (error) {
      if (!isTesseraError(error)) throw error;
      if (error.code === 'unknown_input' || VERDICTS.has(error.code)) return 'refused';
      if (LATER.has(error.code)) return 'later';
      throw error;
    }
  }

  /** 'orphan' when an output that the transactions spend is not there, 'later' when it is locked. */
  #isEarly(txs: readonly Transaction[]): Outcome | undefined {
    const { coins, head } = this.#modules.state;
    const own = new Set(txs.map(transactionHash));
    const spent = txs.flatMap(spentOutPoints).filter(({ tHash }) => !own.has(tHash));
    const outputs = spent.map((outPoint) => coins.find(outPoint));
    if (outputs.includes(undefined)) return 'orphan';
    const height = BigInt(Math.max(0, head.height));
    return outputs.some((output) => output !== undefined && output.locktime > height) ? 'later' : undefined;
  }
}
