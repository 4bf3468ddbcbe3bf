/**
 * Transactions that `tessera rebuild` has found in the old journal and pool: they were acknowledged and are in no block that
 * was found. Once this node stands at the block of storage they are submitted again, like any other; what became impossible
 * is refused with the rule.
 */

import type { Room } from '../db/disk-room.js';
import { isTesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import { decodeTransactions } from '../peers/payloads.js';
import type { Admission } from './admission/admission.js';
import type { ChainSync } from './blocks/chain-sync.js';
import { ranges } from './state/layout.js';
import type { StateStore } from './state/state-store.js';

/** Groups that are read at once. */
const CHUNK = 100;
/** Verdicts on the transactions themselves. After any other error they are kept and tried again: they were acknowledged. */
const VERDICTS: ReadonlySet<string> = new Set([
  'transaction_rejected',
  'invalid_signature',
  'malformed_transaction',
  'unknown_input',
  'double_spend',
]);

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
      this.#removeListeners();
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
      if (isTesseraError(error) && VERDICTS.has(error.code)) return false;
      throw error;
    }
  }
}
