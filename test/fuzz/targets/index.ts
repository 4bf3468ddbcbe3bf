/** Everything that can be fuzzed, beside the HTTP API. */

import type { FuzzTarget } from '../target.js';
import { bincode } from './bincode.js';
import { journalRecords } from './journal.js';
import { keystore } from './keystore.js';
import { peers } from './peers.js';
import { storedRecords } from './records.js';
import { scripts } from './scripts.js';

export const TARGETS: readonly FuzzTarget[] = [bincode, scripts, peers, keystore, journalRecords, storedRecords];
