/**
 * The database of the mempool's state. Writes come one after the other, so that nobody writes on the strength of what was
 * read before somebody else's write. An error of the database ends the mempool, by its name.
 */

import { databaseError } from '../../db/database-error.js';
import type { Kv, KvBatch, KvEntry, KvRange } from '../../db/kv.js';
import { Mutex } from '../../lib/mutex.js';
import { Failure } from '../../lib/service.js';

export class StateStore {
  readonly #kv: Kv;
  readonly #writes = new Mutex();
  readonly #failure = new Failure();

  constructor(kv: Kv) {
    this.#kv = kv;
  }

  /** Rejects with `database_failed` or `data_corrupt`: what is in memory and what is on disk may differ from then on. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  get(key: Uint8Array): Promise<Uint8Array | undefined> {
    return this.#guard(() => this.#kv.get(key));
  }

  /** In the order of `keys`. */
  getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    return keys.length === 0 ? Promise.resolve([]) : this.#guard(() => this.#kv.getMany(keys));
  }

  /** All entries of a range; for ranges with a limit. */
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

  write(batch: KvBatch, options: { readonly sync: boolean }): Promise<void> {
    return this.#writes.run(() => this.#guard(() => this.#kv.write(batch, options)));
  }

  /** Writes what `change` puts into the batch; no other write comes between its reads and this one. */
  update(change: (batch: KvBatch) => Promise<void>): Promise<void> {
    return this.#writes.run(async () => {
      const batch = this.#kv.batch();
      await change(batch);
      if (batch.size > 0) await this.#guard(() => this.#kv.write(batch, { sync: false }));
    });
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const named = databaseError("the mempool's database", error);
      if (named.code !== 'shutting_down') this.#failure.report(named);
      throw named;
    }
  }
}
