/**
 * Child process of backup.test.ts: a node's folder with two databases under steady writing. Each record goes into the first
 * one synced; the second, which follows it, is not synced. Records of 4 KB are replaced again and again, so that logs and
 * tables come and go. Tells which records were acknowledged, until it is killed.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { DataDir } from '../../src/db/data-dir.js';
import { encodeU64, u64Key } from '../../src/db/keys.js';
import { utf8 } from '../../src/lib/bytes.js';
import { recordOf } from './incompressible.js';

const BATCH = 20;
const REPLACED = 700;

const [, , path = '', start = '0'] = process.argv;
const directory = await DataDir.open(path, { role: 'mempool', networkName: 'test' });
const journal = await directory.open('journal');
const state = await directory.open('state');
process.on('disconnect', () => process.exit());
for (let n = Number(start); ; n += BATCH) {
  const batch = journal.batch();
  for (let i = n; i < n + BATCH; i++) {
    batch.put(u64Key('n', i), encodeU64(i)).put(u64Key('r', i % REPLACED), recordOf(i % 5));
  }
  await journal.write(batch, { sync: true });
  await state.write(state.batch().put(utf8('head'), encodeU64(n + BATCH - 1)), { sync: false });
  process.send?.(n + BATCH - 1);
  await nextTurn();
}
