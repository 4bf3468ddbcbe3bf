/**
 * Child process of log-kv.test.ts: writes synced records one after the other from number START on, and prints those that were
 * acknowledged, or the code of the error, until COUNT are written or it is killed.
 */

import { u64Key } from '../../src/db/keys.js';
import { LogKv } from '../../src/db/log-kv.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { recordOf } from './incompressible.js';

const [, , path = '', start = '1', count = 'Infinity'] = process.argv;
const kv = await LogKv.open(path, { createIfMissing: true });
for (let n = Number(start); n < Number(start) + Number(count); n++) {
  const told = await kv.write(kv.batch().put(u64Key('n', n), recordOf(n)), { sync: true }).then(
    () => String(n),
    (error: unknown) => (isTesseraError(error) ? `${n}:${error.code}` : String(error)),
  );
  process.stdout.write(`${told}\n`);
}
await kv.close();
