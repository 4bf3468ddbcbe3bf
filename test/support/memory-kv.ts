/**
 * The key-value store in memory (`memory-level`), for tests of rules: reads and records are those of the store on disk, but
 * nothing is sealed and nothing survives.
 */

import { MemoryLevel } from 'memory-level';
import { closedError } from '../../src/db/database-error.js';
import type { Kv, KvBatch, KvEntry, KvRange } from '../../src/db/kv.js';
import { BINARY, LevelReader } from '../../src/db/level-reader.js';
import { PendingBatch, writesOf } from '../../src/db/record.js';

const NAME = 'memory';

export class MemoryKv implements Kv {
  readonly #level = new MemoryLevel<Uint8Array, Uint8Array>({ ...BINARY, storeEncoding: 'view' });
  readonly #reader = new LevelReader(NAME, async (work) => work(this.#open()));
  #isClosed = false;

  async get(key: Uint8Array): Promise<Uint8Array | undefined> {
    return copied(await this.#reader.get(key));
  }

  async getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    return (await this.#reader.getMany(keys)).map(copied);
  }

  async *entries(range: KvRange): AsyncGenerator<KvEntry> {
    for await (const [key, value] of this.#reader.entries(range)) yield [Uint8Array.from(key), Uint8Array.from(value)];
  }

  batch(): KvBatch {
    return new PendingBatch();
  }

  async write(batch: KvBatch, _options: { readonly sync: boolean }): Promise<void> {
    const operations = writesOf(batch).map(({ key, record }) => {
      const copy = Uint8Array.from(key);
      return record === undefined
        ? ({ type: 'del', key: copy } as const)
        : ({ type: 'put', key: copy, value: record } as const);
    });
    await this.#open().batch(operations, BINARY);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#level.close();
  }

  #open() {
    if (this.#isClosed) throw closedError(NAME);
    return this.#level;
  }
}

/** `memory-level` stores and returns the caller's own bytes; they are copied, because the caller may change them. */
function copied(value: Uint8Array | undefined): Uint8Array | undefined {
  return value && Uint8Array.from(value);
}
