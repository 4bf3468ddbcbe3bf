/** Child process of tests that kill it or give it a disk that fails: stores blocks, and uploads their segments. Any message is answered with how far it is. */

import { join } from 'node:path';
import { DataDir } from '../../src/db/data-dir.js';
import { type Clock, systemClock } from '../../src/lib/clock.js';
import { armFailpoint } from '../../src/lib/failpoints.js';
import { openArchiveFiles } from '../../src/node/archive-files.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { FarSegments } from '../../src/storage/segments/far-segments.js';
import { Uploads } from '../../src/storage/segments/uploads.js';
import { openStore } from '../support/object-store.js';
import { silentLogger } from '../support/silent-logger.js';
import { createTestChain, RULES } from '../support/storage/test-chain.js';

const [, , path = '', count = '0'] = process.argv;
const dir = await DataDir.open(path, { role: 'storage', networkName: 'test' });
const store = openStore(process.env.TESSERA_TEST_STORE ?? '');
const far = new FarSegments({ path: join(path, 'fetched'), cacheBytes: 1_000_000 }, store);
const files = await openArchiveFiles(dir, { maxBytes: 4_000, far });
const archive = await Archive.open({ rules: RULES }, files);
for (const block of createTestChain().grow(Number(count)).blocks) await archive.store(block);
armFailpoint(process.env);
/** Repeats what failed after a moment. */
const hasty: Clock = { ...systemClock, after: (ms, run) => systemClock.after(Math.min(ms, 50), run) };
const uploads = new Uploads({ localBytes: 0 }, { segments: files.segments, far, clock: hasty, logger: silentLogger });
await uploads.start();
process.on('message', () => process.send?.({ problem: uploads.problem, closed: files.segments.closed }));
// The clock keeps no process alive.
setInterval(() => undefined, 1_000);
