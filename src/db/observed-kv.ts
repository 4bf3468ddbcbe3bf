/** A store that measures how long its writes take. Everything else is the store's own. */

import type { Clock } from '../lib/clock.js';
import type { DataDir } from './data-dir.js';
import type { Kv } from './kv.js';

const MS_PER_SECOND = 1_000;

/** Takes seconds; a histogram is one. */
interface Observable {
  observe(seconds: number): void;
}

export interface WriteMeasures {
  /** Of writes that wait for the disk. */
  readonly synced: Observable;
  readonly unsynced: Observable;
  readonly clock: Clock;
}

/** The same folder, whose databases are measured. */
export function observeDataDir(dataDir: DataDir, measures: WriteMeasures): DataDir {
  return {
    path: dataDir.path,
    open: async (name) => observeKv(await dataDir.open(name), measures),
    close: () => dataDir.close(),
  };
}

function observeKv(kv: Kv, { synced, unsynced, clock }: WriteMeasures): Kv {
  return {
    get: (key) => kv.get(key),
    getMany: (keys) => kv.getMany(keys),
    batch: () => kv.batch(),
    async write(batch, options) {
      const begun = clock.monotonic();
      await kv.write(batch, options);
      (options.sync ? synced : unsynced).observe((clock.monotonic() - begun) / MS_PER_SECOND);
    },
    entries: (range) => kv.entries(range),
    close: () => kv.close(),
  };
}
