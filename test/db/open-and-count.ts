/** For `unread-logs.e2e.test.ts`: opens a database and prints how many records it has, or the code of the error. */

import { openLevelKv } from '../../src/db/level-kv.js';
import { isTesseraError } from '../../src/lib/errors.js';

const [path = '', writes = '0'] = process.argv.slice(2);
try {
  const kv = await openLevelKv(path, { createIfMissing: true });
  for (let n = 0; n < Number(writes); n++) {
    await kv.write(kv.batch().put(Uint8Array.of(n), new Uint8Array(100)), { sync: true });
  }
  let count = 0;
  for await (const _ of kv.entries({ gte: new Uint8Array(), lt: Uint8Array.of(0xff) })) count += 1;
  process.stdout.write(String(count));
} catch (error) {
  process.stdout.write(isTesseraError(error) ? error.code : String(error));
}
// As kill -9 does it: what was written stays in the log.
process.kill(process.pid, 'SIGKILL');
