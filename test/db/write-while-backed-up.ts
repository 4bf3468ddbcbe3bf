/**
 * Child process of backup.test.ts: a node's folder with two databases and a log under steady writing. Each record goes into the first
 * one synced, and with some others into the log, which forgets the oldest; the second, which follows it, is not synced. Records of 4 KB are replaced again and again, so that logs and
 * tables come and go. Tells which records were acknowledged, until it is killed.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { DataDir } from '../../src/db/data-dir.js';
import { encodeU64, u64Key } from '../../src/db/keys.js';
import { utf8 } from '../../src/lib/bytes.js';
import { recordOf } from './incompressible.js';

const BATCH = 20;
const REPLACED = 700;
/** Records that the log keeps: in a few files. */
const KEPT = 2_000;

const [, , path = '', start = '0'] = process.argv;
const directory = await DataDir.open(path, { role: 'mempool', networkName: 'test' });
const ledger = await directory.open('ledger');
const state = await directory.open('state');
const log = await directory.open('journal');
process.on('disconnect', () => process.exit());
for (let n = Number(start); ; n += BATCH) {
  const batch = ledger.batch();
  for (let i = n; i < n + BATCH; i++) {
    batch.put(u64Key('n', i), encodeU64(i)).put(u64Key('r', i % REPLACED), recordOf(i % 5));
  }
  const entry = log
    .batch()
    .put(u64Key('e', n + BATCH), Buffer.concat(Array.from({ length: BATCH }, (_, i) => recordOf(i))));
  await log.write(entry.del(u64Key('e', Math.max(0, n - KEPT))), { sync: true });
  await ledger.write(batch, { sync: true });
  await state.write(state.batch().put(utf8('head'), encodeU64(n + BATCH - 1)), { sync: false });
  process.send?.(n + BATCH - 1);
  await nextTurn();
}
