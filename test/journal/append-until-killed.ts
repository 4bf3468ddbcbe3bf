/** Child process of local-journal.test.ts: appends with 50 in flight, tells each acknowledged number, until it is killed. */

import { LogKv } from '../../src/db/log-kv.js';
import { openJournal } from '../support/journal.js';

const kv = await LogKv.open(process.argv[2] ?? '', { createIfMissing: true });
const journal = await openJournal(kv);
process.on('disconnect', () => process.exit());

let next = journal.head + 1;
async function appendForever(): Promise<void> {
  for (;;) {
    const n = next;
    next += 1;
    const seq = await journal.append(Buffer.from(`${n} `.repeat(40))).durable;
    if (seq !== n) throw new Error(`entry ${n} got number ${seq}`);
    process.send?.(seq);
  }
}
await Promise.all(Array.from({ length: 50 }, appendForever));
