/** Statuses of transactions (decision V1). Refusals at admission are noted only here, and never replace another status. */

import type { KvBatch } from '../../db/kv.js';
import type { Clock, Timer } from '../../lib/clock.js';
import { unixSeconds } from '../../lib/clock.js';
import { isTesseraError } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import type { TxStatus } from '../service.js';
import { expiryOfKey, FIRST_REFUSAL_NUMBER, keys, ranges } from './layout.js';
import { decodeHashes, decodeStatus, encodeHashes, encodeStatus } from './records.js';
import type { MempoolState } from './state.js';
import type { StateStore } from './state-store.js';

/** Refusals noted in one hour; further ones are not remembered, so that a flood of bad transactions cannot fill the disk. */
const MAX_REFUSALS_PER_HOUR = 100_000;
/** Refusals that wait to be written; further ones are not remembered. */
const MAX_WAITING_REFUSALS = 10_000;
const MAX_REFUSALS_PER_WRITE = 1_000;
const HOUR_MS = 3_600_000;
/** Expired groups forgotten in one write; a group has the transactions of a block at most. */
const PURGE_GROUPS = 4;
const LAST_NUMBER = 0xffff_ffff;

export interface StatusesOptions {
  /** Seconds that a final status is kept. */
  readonly lifetime: number;
}

export interface StatusesModules {
  readonly store: StateStore;
  readonly state: Pick<MempoolState, 'pending' | 'statuses' | 'waits'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** True while the clock of this node may be wrong; never by default. */
  readonly isClockOff?: () => boolean;
}

export class Statuses {
  readonly #options: StatusesOptions;
  readonly #modules: StatusesModules;
  readonly #isClockOff: () => boolean;
  readonly #refusals = new Map<string, TxStatus>();
  #writing: Promise<void> | undefined;
  #writtenThisHour = 0;
  #hourStart: number;
  #number = FIRST_REFUSAL_NUMBER;
  #timer: Timer | undefined;
  #purging: Promise<void> | undefined;
  #stopped = false;

  constructor(options: StatusesOptions, modules: StatusesModules) {
    const { clock, isClockOff = () => false } = modules;
    this.#modules = modules;
    this.#options = options;
    this.#isClockOff = isClockOff;
    this.#hourStart = clock.monotonic();
    this.#purgeLater();
  }

  /** Statuses by hash, in the order asked; unknown hashes are absent. */
  async get(hashes: readonly string[]): Promise<ReadonlyMap<string, TxStatus>> {
    const wanted = [...new Set(hashes)];
    const inMemory = wanted.map((hash) => this.#inMemory(hash));
    // A half of a trade may come again behind its block, and wait or be refused; its status on disk counts: it stays confirmed.
    const unsure = (hash: string, status: TxStatus | undefined): boolean =>
      status === undefined || status.status === 'Rejected' || this.#modules.state.waits(hash);
    // Taken before the disk is read: a refusal that is written in the meantime is gone from here afterwards.
    const refusals = wanted.map((hash) => this.#refusals.get(hash));
    const unread = wanted.filter((hash, i) => unsure(hash, inMemory[i]));
    const records = await this.#modules.store.getMany(unread.map(keys.status));
    const onDisk = new Map(unread.map((hash, i) => [hash, records[i]]));
    const found = new Map<string, TxStatus>();
    for (const [i, hash] of wanted.entries()) {
      const record = onDisk.get(hash);
      const kept = record && decodeStatus(record);
      const status = kept?.status === 'Confirmed' ? kept : (inMemory[i] ?? kept ?? refusals[i]);
      if (status !== undefined) found.set(hash, status);
    }
    return found;
  }

  /** True when the transaction waits for its block, or is in one that was stored just now (decision V4). */
  isAdmittedInMemory(hash: string): boolean {
    const status = this.#inMemory(hash);
    return status !== undefined && status.status !== 'Rejected';
  }

  /** True when the transaction was admitted before: it waits, or it is in a block (decision V4). */
  async isAdmitted(hash: string): Promise<boolean> {
    if (this.isAdmittedInMemory(hash)) return true;
    const record = await this.#modules.store.get(keys.status(hash));
    return record !== undefined && decodeStatus(record).status === 'Confirmed';
  }

  /** Notes that a rule refuses a transaction, unless it has a status. It can be read from now on, and is written soon. */
  refuse(hash: string, rule: string): void {
    if (this.#modules.clock.monotonic() - this.#hourStart > HOUR_MS) {
      this.#hourStart = this.#modules.clock.monotonic();
      this.#writtenThisHour = 0;
    }
    const noted = this.#writtenThisHour + this.#refusals.size;
    if (this.#stopped || noted >= MAX_REFUSALS_PER_HOUR || this.#refusals.size >= MAX_WAITING_REFUSALS) return;
    if (this.#refusals.has(hash) || this.#inMemory(hash) !== undefined) return;
    this.#refusals.set(hash, { status: 'Rejected', timestamp: unixSeconds(this.#modules.clock), additionalInfo: rule });
    this.#writing ??= this.#writeRefusals();
  }

  /** Forgets statuses older than the lifetime, hourly; gives their number. None are forgotten while the clock of this node is off. */
  async purge(): Promise<number> {
    if (this.#isClockOff()) return 0;
    const before = Math.max(0, unixSeconds(this.#modules.clock) - this.#options.lifetime);
    let forgotten = 0;
    for (let groups = PURGE_GROUPS; groups === PURGE_GROUPS && !this.#stopped; ) {
      await this.#modules.store.update(async (batch) => {
        const expired = await this.#modules.store.list({ ...ranges.expiryBefore(before), limit: PURGE_GROUPS });
        groups = expired.length;
        for (const [key, value] of expired) {
          batch.del(key);
          forgotten += await this.#forget(key, decodeHashes(value), batch);
        }
      });
    }
    return forgotten;
  }

  /** Stops noting and forgetting; resolves when all waiting refusals are written. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await Promise.all([this.#writing, this.#purging]);
  }

  #inMemory(hash: string): TxStatus | undefined {
    const pending = this.#modules.state.pending(hash);
    if (pending === undefined) return this.#modules.state.statuses.unwritten(hash);
    return { status: 'Pending', timestamp: pending.time, additionalInfo: pending.info };
  }

  async #writeRefusals(): Promise<void> {
    try {
      while (this.#refusals.size > 0) {
        const group = [...this.#refusals].slice(0, MAX_REFUSALS_PER_WRITE);
        await this.#modules.store.update((batch) => this.#putRefusals(group, batch));
        for (const [hash] of group) this.#refusals.delete(hash);
      }
    } catch (error) {
      // A failed database has already ended the mempool.
      if (!isTesseraError(error)) throw error;
      this.#refusals.clear();
    } finally {
      this.#writing = undefined;
    }
  }

  /** Notes refusals. Transactions that were admitted in the meantime, or have another status, keep that. */
  async #putRefusals(group: readonly (readonly [string, TxStatus])[], batch: KvBatch): Promise<void> {
    const records = await this.#modules.store.getMany(group.map(([hash]) => keys.status(hash)));
    const noted = group.filter(([hash], i) => records[i] === undefined && this.#inMemory(hash) === undefined);
    if (noted.length === 0) return;
    for (const [hash, status] of noted) batch.put(keys.status(hash), encodeStatus(status));
    const time = Math.max(...noted.map(([, { timestamp }]) => timestamp));
    batch.put(keys.expiry(time, this.#number), encodeHashes(noted.map(([hash]) => hash)));
    this.#number = this.#number === LAST_NUMBER ? FIRST_REFUSAL_NUMBER : this.#number + 1;
    this.#writtenThisHour += noted.length;
  }

  /** Forgets the statuses of one group, but not those that a later decision has replaced: they expire with their own. */
  async #forget(key: Uint8Array, hashes: readonly string[], batch: KvBatch): Promise<number> {
    const { time, ofRefusals } = expiryOfKey(key);
    const records = await this.#modules.store.getMany(hashes.map(keys.status));
    let forgotten = 0;
    for (const [i, hash] of hashes.entries()) {
      const record = records[i];
      if (record === undefined) continue;
      const { status, timestamp } = decodeStatus(record);
      if (ofRefusals ? status !== 'Rejected' : timestamp > time) continue;
      batch.del(keys.status(hash));
      forgotten++;
    }
    return forgotten;
  }

  #purgeLater(): void {
    this.#timer = this.#modules.clock.after(HOUR_MS, () => {
      this.#purging = this.purge()
        .then(() => undefined)
        .catch((error: unknown) =>
          this.#modules.logger.warn({ err: error }, 'old transaction statuses could not be forgotten'),
        )
        .finally(() => {
          if (!this.#stopped) this.#purgeLater();
        });
    });
  }
}
