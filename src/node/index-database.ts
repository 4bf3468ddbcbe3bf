/** The database of the index of the chain in the data folder of a storage node. */

import type { DataDir } from '../db/data-dir.js';
import type { IndexDatabase } from '../storage/chain-index/chain-index.js';

export const INDEX = 'index';

export function indexDatabase(dataDir: DataDir): IndexDatabase {
  return {
    open: () => dataDir.openDerived(INDEX),
    remove: async () => void (await dataDir.removeDerived(INDEX)),
  };
}
