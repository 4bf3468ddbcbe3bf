/**
 * Transactions that `tessera rebuild` has found in the old journal and pool: they were acknowledged and are in no block that
 * was found. Once this node stands at the block of storage they are submitted again, like any other; what became impossible
 * is refused with the rule. Old journal and old pool need not give a transaction after those that it spends from: one whose
 * inputs are unknown is tried again as long as others are admitted.
 */

import type { Room } from '../db/disk-room.js';
import { isTesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import { decodeTransactions } from '../peers/payloads.js';
import type { Admission } from './admission/admission.js';
import type { ChainSync } from './blocks/chain-sync.js';
import { arrivalOfKey, keys, ranges } from './state/layout.js';
import type { StateStore } from './state/state-store.js';

/** Groups that are read at once. */
const CHUNK = 100;
/**
 * Verdicts on the transactions themselves, beside that an input is unknown. After any other error they are kept and tried
 * again: they were acknowledged.
 */
const VERDICTS: ReadonlySet<string> = new Set([
  'transaction_rejected',
  'invalid_signature',
  'malformed_transaction',
  'double_spend',
]);

type Outcome = 'admitted' | 'refused' | 'orphan';

export interface CarriedOverModules {
  readonly store: StateStore;
  readonly admission: Admission;
  readonly sync: Pick<ChainSync, 'mayCut' | 'changed'>;
  readonly room: Pick<Room, 'isBack'>;
  readonly logger: Logger;
}

export class CarriedOver {
  readonly #modules: CarriedOverModules;
  readonly #listeners: (() => void)[] = [];
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(modules: CarriedOverModules) {
    this.#modules = modules;
  }

  start(): void {
    const { sync, room } = this.#modules;
    const proceed = (): void => this.#proceed();
    this.#listeners.push(sync.changed.on(proceed), room.isBack.on(proceed));
    proceed();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#removeListeners();
    await this.#running;
  }

  #removeListeners(): void {
    for (const remove of this.#listeners.splice(0)) remove();
  }

  #proceed(): void {
    if (this.#stopped || this.#running !== undefined || !this.#modules.sync.mayCut) return;
    this.#running = this.#submitAll().finally(() => {
      this.#running = undefined;
    });
  }

  async #submitAll(): Promise<void> {
    const { logger } = this.#modules;
    const counts = { admitted: 0, refused: 0, orphan: 0 };
    try {
      for (let before = -1; counts.admitted > before && !this.#stopped; ) {
        before = counts.admitted;
        counts.orphan = 0;
        await this.#submitOnce(counts, 'orphan');
        if (counts.orphan === 0) break;
      }
      if (counts.orphan > 0 && !this.#stopped) await this.#submitOnce(counts);
      // While the node runs, nothing new is added to what is carried over.
      this.#removeListeners();
    } catch (error) {
      if (!isTesseraError(error)) throw error;
      if (!this.#stopped) logger.warn({ err: error }, 'transactions of the old journal are submitted again later');
    }
    const { admitted, refused } = counts;
    if (admitted + refused > 0) {
      logger.info({ admitted, refused }, 'transactions of the old journal were submitted again');
    }
  }

  /** Submits each group, and forgets those with a verdict; `kept` is none. */
  async #submitOnce(counts: Record<Outcome, number>, kept?: 'orphan'): Promise<void> {
    const { store } = this.#modules;
    for (let from = 0, isMore = true; isMore && !this.#stopped; ) {
      const groups = await store.list({ ...ranges.carried, gte: keys.carried(from), limit: CHUNK });
      isMore = groups.length === CHUNK;
      for (const [key, value] of groups) {
        from = arrivalOfKey(key) + 1;
        const outcome = await this.#submit(value);
        const verdict = outcome === 'orphan' && kept === undefined ? 'refused' : outcome;
        counts[verdict]++;
        if (verdict !== 'orphan') await store.update(async (batch) => void batch.del(key));
      }
    }
  }

  /** Throws when nothing can be decided now. What is in a block counts as admitted. */
  async #submit(group: Uint8Array): Promise<Outcome> {
    try {
      await this.#modules.admission.submit(decodeTransactions(group));
      return 'admitted';
    } catch (error) {
      if (isTesseraError(error, 'unknown_input')) return 'orphan';
      if (isTesseraError(error) && VERDICTS.has(error.code)) return 'refused';
      throw error;
    }
  }
}
