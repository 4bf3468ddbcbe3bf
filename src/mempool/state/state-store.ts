/**
 * The database of the mempool's state. Writes run one after the other. What the journal can bring back is written
 * behind: small batches wait a moment for others; reads by key see them at once. What the disk refuses is held in
 * memory and retried, and commands go on meanwhile. Damage ends the mempool.
 */

import { databaseError, isUnreadable } from '../../db/database-error.js';
import type { Kv, KvBatch, KvEntry, KvRange } from '../../db/kv.js';
import { type PendingWrite, unsealRecord, writesOf } from '../../db/record.js';
import { type Clock, pauseUntil, type Timer } from '../../lib/clock.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import { Mutex } from '../../lib/mutex.js';
import { Failure } from '../../lib/service.js';
import { SignalSource } from '../../lib/signal.js';

/** Milliseconds between two attempts to write what the disk refuses. */
const RETRY_MS = 1_000;

/** Milliseconds that `writeSoon` waits at most for more to write, and the bytes that end the wait. */
const SOON_MS = 250;
const SOON_BYTES = 1024 * 1024;
/** Number of records from which a batch is written at once: for so many an own write costs little. */
const LARGE_BATCH = 256;

interface StateWriteOptions {
  readonly sync: boolean;
}

interface HeldBatch extends StateWriteOptions {
  readonly batch: KvBatch;
}

export class StateStore {
  readonly #kv: Kv;
  readonly #clock: Clock;
  readonly #writes = new Mutex();
  readonly #failure = new Failure();
  /** Rejects with `data_corrupt` and the like: what is on disk is not what was written. */
  readonly failed = this.#failure.promise;
  readonly #stopping = new AbortController();
  readonly resumed = new SignalSource<void>();
  /** Writes that wait for others, and those on their way to the disk, by key. */
  #soon = new Map<string, PendingWrite>();
  #soonBytes = 0;
  #flushing: ReadonlyMap<string, PendingWrite> = new Map();
  #timer: Timer | undefined;
  /** Batches that the disk has refused, in order. Callers stop while there is a problem, so there are few. */
  readonly #held: HeldBatch[] = [];
  /** Records that the held batches put (null: delete), by key. */
  readonly #heldRecords = new Map<string, Uint8Array | null>();
  #draining: Promise<void> | undefined;
  #problem: string | null = null;
  #refusals = 0;
  /** Why held batches are not written any more: no other batch may follow them. */
  #ended: unknown;

  constructor(kv: Kv, clock: Clock) {
    this.#kv = kv;
    this.#clock = clock;
  }

  /** Why what is in memory cannot be written now; null when it can. */
  get problem(): string | null {
    return this.#problem;
  }

  get refusals(): number {
    return this.#refusals;
  }

  /** Ends attempts to write. Batches that were not written come from the journal at the next start. */
  stop(): void {
    this.#stopping.abort();
  }

  async get(key: Uint8Array): Promise<Uint8Array | undefined> {
    return (await this.getMany([key]))[0];
  }

  async getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    if (keys.length === 0) return [];
    // Taken before the disk is read: a record that is written in the meantime is gone from here afterwards.
    const held = keys.map((key) => this.#unwritten(key));
    const values = await this.#guard(() => this.#kv.getMany(keys));
    return keys.map((key, i) => {
      const record = held[i];
      if (record === undefined) return values[i];
      return record === null ? undefined : unsealRecord(key, record);
    });
  }

  /** All entries of a range on disk, without what is held or waits; only for ranges of bounded size. */
  list(range: KvRange): Promise<KvEntry[]> {
    return this.#guard(async () => {
      const entries: KvEntry[] = [];
      for await (const entry of this.#kv.entries(range)) entries.push(entry);
      return entries;
    });
  }

  batch(): KvBatch {
    return this.#kv.batch();
  }

  /** Resolves with true when the batch is on disk, with false when it is held because the disk refuses it for now. */
  write(batch: KvBatch, options: StateWriteOptions): Promise<boolean> {
    return this.#writes.run(() => this.#write(batch, options));
  }

  /** Writes a batch of what the journal can bring back, within a moment, with others. False: the disk refuses it for now. */
  writeSoon(batch: KvBatch): Promise<boolean> {
    return this.#writes.run(async () => {
      const isHeld = this.#draining !== undefined || this.#ended !== undefined;
      if (isHeld || batch.size > LARGE_BATCH) return this.#write(batch, { sync: false });
      for (const write of writesOf(batch)) {
        this.#soon.set(nameOf(write.key), write);
        this.#soonBytes += write.key.length + (write.record?.length ?? 0);
      }
      if (this.#soonBytes > SOON_BYTES) return this.#flush();
      this.#timer ??= this.#clock.after(SOON_MS, () => void this.flush().catch(() => undefined));
      return true;
    });
  }

  /** Writes all waiting records. False when the disk refuses that for now. */
  flush(): Promise<boolean> {
    return this.#writes.run(() => this.#flush());
  }

  /** Resolves when no batch is held. Rejects with `shutting_down` when the store is stopped before. */
  async drained(): Promise<void> {
    await this.#draining;
  }

  /** Writes what `change` puts into the batch; no other write comes between its reads and this one. */
  async update(change: (batch: KvBatch) => Promise<void>): Promise<void> {
    for (let isDone = false; !isDone; ) {
      await this.drained();
      isDone = await this.#writes.run(async () => {
        // Ranges are read from the disk, so all earlier writes must be there.
        if (this.#draining !== undefined || !(await this.#flush())) return false;
        const batch = this.#kv.batch();
        await change(batch);
        if (batch.size > 0) await this.#write(batch, { sync: false });
        return true;
      });
    }
    await this.drained();
  }

  async #flush(): Promise<boolean> {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#soon.size === 0) return this.#draining === undefined;
    const batch = this.#kv.batch();
    for (const { key, record } of this.#soon.values()) {
      if (record === undefined) batch.del(key);
      else batch.put(key, unsealRecord(key, record));
    }
    this.#flushing = this.#soon;
    this.#soon = new Map();
    this.#soonBytes = 0;
    return this.#writeNow(batch, { sync: false }).finally(() => {
      this.#flushing = new Map();
    });
  }

  async #write(batch: KvBatch, options: StateWriteOptions): Promise<boolean> {
    if (this.#soon.size > 0) await this.#flush();
    return this.#writeNow(batch, options);
  }

  async #writeNow(batch: KvBatch, options: StateWriteOptions): Promise<boolean> {
    if (this.#ended !== undefined) throw this.#ended;
    if (this.#draining === undefined) {
      try {
        await this.#guard(() => this.#kv.write(batch, options));
        return true;
      } catch (error) {
        this.#onRefusal(error);
      }
    }
    this.#held.push({ batch, ...options });
    for (const { key, record } of writesOf(batch)) this.#heldRecords.set(nameOf(key), record ?? null);
    this.#draining ??= this.#drain();
    // Callers that wait for it get the reason of a failure.
    this.#draining.catch(() => undefined);
    return false;
  }

  async #drain(): Promise<void> {
    try {
      while (this.#held.length > 0) {
        if (!this.#stopping.signal.aborted) await pauseUntil(this.#clock, RETRY_MS, this.#stopping.signal);
        if (this.#stopping.signal.aborted) throw new TesseraError('shutting_down', 'the node is stopping');
        for (let first = this.#held[0]; first !== undefined && (await this.#retry(first)); first = this.#held[0]) {
          this.#held.shift();
        }
      }
      this.#problem = null;
    } catch (error) {
      this.#ended = error;
      throw error;
    } finally {
      this.#heldRecords.clear();
      this.#draining = undefined;
    }
    this.resumed.emit();
  }

  /** The record of a key that is not on disk yet; null for a deletion, undefined for none. */
  #unwritten(key: Uint8Array): Uint8Array | null | undefined {
    if (this.#soon.size + this.#flushing.size + this.#heldRecords.size === 0) return undefined;
    const name = nameOf(key);
    const write = this.#soon.get(name) ?? this.#flushing.get(name);
    return write === undefined ? this.#heldRecords.get(name) : (write.record ?? null);
  }

  async #retry({ batch, sync }: HeldBatch): Promise<boolean> {
    try {
      await this.#guard(() => this.#kv.write(batch, { sync }));
      return true;
    } catch (error) {
      this.#onRefusal(error);
      return false;
    }
  }

  #onRefusal(error: unknown): void {
    if (!isTesseraError(error, 'database_failed')) throw error;
    this.#problem = error.message;
    this.#refusals++;
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const named = databaseError("the mempool's database", error);
      const isForNow = named.code === 'shutting_down' || (named.code === 'database_failed' && !isUnreadable(named));
      if (!isForNow) this.#failure.report(named);
      throw named;
    }
  }
}

function nameOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1');
}
