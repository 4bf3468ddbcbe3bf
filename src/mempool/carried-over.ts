/**
 * Transactions that `tessera rebuild` has found in the old journal and pool: they were acknowledged and are in no block that
 * was found. Once this node stands at the block of storage they are submitted again, like any other; what became impossible
 * is refused with the rule.
 */

import { isTesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import { decodeTransactions } from '../peers/payloads.js';
import type { Admission } from './admission/admission.js';
import type { ChainSync } from './blocks/chain-sync.js';
import { ranges } from './state/layout.js';
import type { StateStore } from './state/state-store.js';

/** Groups that are read at once. */
const CHUNK = 100;
/** Errors that are no verdict on the transaction: it is tried again after the next change of the chain. */
const NOT_NOW: ReadonlySet<string> = new Set(['mempool_full', 'mempool_unreachable', 'overloaded', 'shutting_down']);

export interface CarriedOverModules {
  readonly store: StateStore;
  readonly admission: Admission;
  readonly sync: Pick<ChainSync, 'mayCut' | 'changed'>;
  readonly logger: Logger;
}

export class CarriedOver {
  readonly #modules: CarriedOverModules;
  #removeListener: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(modules: CarriedOverModules) {
    this.#modules = modules;
  }

  start(): void {
    this.#removeListener = this.#modules.sync.changed.on(() => this.#proceed());
    this.#proceed();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#removeListener?.();
    await this.#running;
  }

  #proceed(): void {
    if (this.#stopped || this.#running !== undefined || !this.#modules.sync.mayCut) return;
    this.#running = this.#submitAll().finally(() => {
      this.#running = undefined;
    });
  }

  async #submitAll(): Promise<void> {
    const { store, logger } = this.#modules;
    let admitted = 0;
    let refused = 0;
    try {
      for (let isMore = true; isMore && !this.#stopped; ) {
        const groups = await store.list({ ...ranges.carried, limit: CHUNK });
        isMore = groups.length === CHUNK;
        for (const [key, value] of groups) {
          if (await this.#submit(value)) admitted++;
          else refused++;
          await store.update(async (batch) => void batch.del(key));
        }
      }
      // While the node runs, nothing new is added to what is carried over.
      this.#removeListener?.();
    } catch (error) {
      if (!isTesseraError(error)) throw error;
      if (!this.#stopped) logger.warn({ err: error }, 'transactions of the old journal are submitted again later');
    }
    if (admitted + refused > 0) {
      logger.info({ admitted, refused }, 'transactions of the old journal were submitted again');
    }
  }

  /** True when it is admitted or in a block, false when a rule refuses it; throws when that cannot be decided now. */
  async #submit(group: Uint8Array): Promise<boolean> {
    try {
      await this.#modules.admission.submit(decodeTransactions(group));
      return true;
    } catch (error) {
      if (!isTesseraError(error) || NOT_NOW.has(error.code) || error.code === 'database_failed') throw error;
      return false;
    }
  }
}
