/** Everything that can be fuzzed, beside the HTTP API. */

import type { FuzzTarget } from '../target.js';
import { answers } from './answers.js';
import { backups } from './backups.js';
import { bincode } from './bincode.js';
import { certificates } from './certificates.js';
import { journalRecords } from './journal.js';
import { keystore } from './keystore.js';
import { peers } from './peers.js';
import { proofs } from './proofs.js';
import { storedRecords } from './records.js';
import { scripts } from './scripts.js';
import { words } from './words.js';

export const TARGETS: readonly FuzzTarget[] = [
  bincode,
  scripts,
  peers,
  certificates,
  proofs,
  keystore,
  words,
  backups,
  answers,
  journalRecords,
  storedRecords,
];
