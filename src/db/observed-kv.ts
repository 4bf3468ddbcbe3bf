/** A store that measures how long its writes take. Everything else is passed through to the store. */

import type { Clock } from '../lib/clock.js';
import type { Kv, KvBatch, KvEntry, KvRange } from './kv.js';

const MS_PER_SECOND = 1_000;

/** Takes seconds; a histogram is one. */
interface Observable {
  observe(seconds: number): void;
}

export interface WriteMeasures {
  /** Times of writes that wait for the disk. */
  readonly synced: Observable;
  readonly unsynced: Observable;
  readonly clock: Clock;
}

/** The same store, measured. */
export class ObservedKv implements Kv {
  readonly #kv: Kv;
  readonly #measures: WriteMeasures;

  constructor(kv: Kv, measures: WriteMeasures) {
    this.#kv = kv;
    this.#measures = measures;
  }

  get(key: Uint8Array): Promise<Uint8Array | undefined> {
    return this.#kv.get(key);
  }

  getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    return this.#kv.getMany(keys);
  }

  batch(): KvBatch {
    return this.#kv.batch();
  }

  async write(batch: KvBatch, options: { readonly sync: boolean }): Promise<void> {
    const { synced, unsynced, clock } = this.#measures;
    const begun = clock.monotonic();
    await this.#kv.write(batch, options);
    (options.sync ? synced : unsynced).observe((clock.monotonic() - begun) / MS_PER_SECOND);
  }

  entries(range: KvRange): AsyncIterable<KvEntry> {
    return this.#kv.entries(range);
  }

  close(): Promise<void> {
    return this.#kv.close();
  }
}
