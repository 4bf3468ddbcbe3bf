/** Child process of data-dir.test.ts: opens the data directory, writes a record, and holds on until it is killed. */

import { DataDir } from '../../src/db/data-dir.js';

const dir = await DataDir.open(process.argv[2] ?? '', { role: 'storage', networkName: 'test' });
const kv = await dir.open('archive');
await kv.write(kv.batch().put(Buffer.from('key'), Buffer.from('from the other process')), { sync: true });
process.send?.('open');
process.on('disconnect', () => process.exit());
