/** Guards of the program that a hunt takes out, one at a time, to see that the judge notices. */

import type { Guard } from './guard.js';
import { OF_THE_JOURNAL } from './journal.js';
import { OF_MEMPOOL_NODES } from './mempool.js';
import { OF_STORAGE_NODES } from './storage.js';
import { OF_WALLETS } from './wallets.js';

export const GUARDS: readonly Guard[] = [...OF_MEMPOOL_NODES, ...OF_THE_JOURNAL, ...OF_STORAGE_NODES, ...OF_WALLETS];
