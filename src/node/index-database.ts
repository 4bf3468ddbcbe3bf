/** The database of the index of the chain in the data folder of a storage node: opened, and removed to be made anew. */

import type { DataDir } from '../db/data-dir.js';
import { damagedFolders, removeAside, removeLeftovers } from '../db/put-aside.js';
import type { IndexDatabase } from '../storage/chain-index/chain-index.js';

export const INDEX = 'index';

export function indexDatabase(dataDir: DataDir): IndexDatabase {
  return {
    async open() {
      await removeLeftovers(dataDir.path, INDEX);
      return dataDir.open(INDEX);
    },
    async remove() {
      await dataDir.putAside(INDEX);
      await removeAside(dataDir.path, await damagedFolders(dataDir.path, INDEX));
    },
  };
}
