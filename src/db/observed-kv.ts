/** A store that tells how long its writes take, for whoever measures it. Everything else is the store's own. */

import type { DataDir } from './data-dir.js';
import type { Kv } from './kv.js';

export interface KvObserver {
  /** A batch is handed to the database; call the result when it is written. */
  writing(sync: boolean): () => void;
}

/** The same store, observed. */
export function observeKv(kv: Kv, observer: KvObserver): Kv {
  return {
    get: (key) => kv.get(key),
    getMany: (keys) => kv.getMany(keys),
    batch: () => kv.batch(),
    async write(batch, options) {
      const done = observer.writing(options.sync);
      await kv.write(batch, options);
      done();
    },
    entries: (range) => kv.entries(range),
    close: () => kv.close(),
  };
}

/** The same folder, whose databases are observed when they are opened. */
export function observeDataDir(dataDir: DataDir, observer: KvObserver): DataDir {
  return {
    path: dataDir.path,
    open: async (name) => observeKv(await dataDir.open(name), observer),
    close: () => dataDir.close(),
  };
}
