/**
 * Child process of full-disk.e2e.test.ts: writes one record after the other and tells which were acknowledged and which
 * failed, until it is killed. After a failure it reads everything back before it goes on.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { u64Key } from '../../src/db/keys.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { recordOf } from './incompressible.js';

const [, , path = '', start = '1'] = process.argv;
const kv = await LevelKv.open(path, { createIfMissing: true });
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });
const acknowledged: number[] = [];
for (let n = Number(start); ; n++) {
  try {
    await kv.write(kv.batch().put(u64Key('n', n), recordOf(n)), { sync: true });
    acknowledged.push(n);
    process.send?.({ written: n });
  } catch (error) {
    const found = await kv.getMany(acknowledged.map((number) => u64Key('n', number)));
    const readable = found.filter((value, i) => recordOf(acknowledged[i] ?? 0).equals(value ?? Buffer.alloc(0)));
    const code = isTesseraError(error) ? error.code : String(error);
    process.send?.({ failed: n, code, isReadable: readable.length === acknowledged.length });
  }
  await nextTurn();
}
