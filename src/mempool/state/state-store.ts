/**
 * The database of the mempool's state. Writes run one after the other, so that nobody writes based on what was read before
 * somebody else's write. What the disk refuses is retried until it succeeds: meanwhile the state in memory is ahead, and the
 * journal has all of it. Damage ends the mempool with an error that names it.
 */

import { databaseError } from '../../db/database-error.js';
import type { Kv, KvBatch, KvEntry, KvRange } from '../../db/kv.js';
import type { Clock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { Mutex } from '../../lib/mutex.js';
import { Failure } from '../../lib/service.js';

/** Milliseconds between two attempts to write what the disk refuses. */
const RETRY_MS = 1_000;

export interface StateWriteOptions {
  readonly sync: boolean;
  /** Called once when the disk refuses a write for now. */
  readonly onDelay?: () => void;
}

export class StateStore {
  readonly #kv: Kv;
  readonly #clock: Clock;
  readonly #writes = new Mutex();
  readonly #failure = new Failure();
  readonly #stopping = new AbortController();
  #problem: string | null = null;

  constructor(kv: Kv, clock: Clock) {
    this.#kv = kv;
    this.#clock = clock;
  }

  /** Rejects with `data_corrupt` and the like: what is on disk is not what was written. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** Why what is in memory cannot be written now; null when it can. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Ends attempts to write. What was not written comes from the journal at the next start. */
  stop(): void {
    this.#stopping.abort();
  }

  get(key: Uint8Array): Promise<Uint8Array | undefined> {
    return this.#guard(() => this.#kv.get(key));
  }

  /** In the order of `keys`. */
  getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    return keys.length === 0 ? Promise.resolve([]) : this.#guard(() => this.#kv.getMany(keys));
  }

  /** All entries of a range; only for ranges of bounded size. */
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

  write(batch: KvBatch, options: StateWriteOptions): Promise<void> {
    return this.#writes.run(() => this.#write(batch, options));
  }

  /** Writes what `change` puts into the batch; no other write comes between its reads and this one. */
  update(change: (batch: KvBatch) => Promise<void>): Promise<void> {
    return this.#writes.run(async () => {
      const batch = this.#kv.batch();
      await change(batch);
      if (batch.size > 0) await this.#write(batch, { sync: false });
    });
  }

  async #write(batch: KvBatch, { sync, onDelay }: StateWriteOptions): Promise<void> {
    for (;;) {
      try {
        await this.#guard(() => this.#kv.write(batch, { sync }));
        this.#problem = null;
        return;
      } catch (error) {
        if (!(error instanceof TesseraError) || error.code !== 'database_failed') throw error;
        if (this.#stopping.signal.aborted)
          throw new TesseraError('shutting_down', 'the node is stopping', { cause: error });
        const isFirst = this.#problem === null;
        this.#problem = error.message;
        if (isFirst) onDelay?.();
      }
      await this.#pause();
    }
  }

  #pause(): Promise<void> {
    const { signal } = this.#stopping;
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = this.#clock.after(RETRY_MS, end);
      signal.addEventListener('abort', end);
    });
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const named = databaseError("the mempool's database", error);
      if (named.code !== 'shutting_down' && named.code !== 'database_failed') this.#failure.report(named);
      throw named;
    }
  }
}
