/** Child process of chain-index-kill.e2e.test.ts: stores block after block with an index that follows, until a failpoint ends it. */

import { DataDir } from '../../src/db/data-dir.js';
import { endlessRoom } from '../../src/db/disk-room.js';
import { systemClock } from '../../src/lib/clock.js';
import { armFailpoint } from '../../src/lib/failpoints.js';
import { silentLogger } from '../../src/lib/logger.js';
import { openArchiveFiles } from '../../src/node/archive-files.js';
import { indexDatabase } from '../../src/node/rebuild/rebuild-index.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { ChainIndex } from '../../src/storage/chain-index/chain-index.js';
import { createTestChain, RULES } from '../support/storage/test-chain.js';

const dataDir = await DataDir.open(process.argv[2] ?? '', { role: 'storage', networkName: 'test' });
const archive = await Archive.open({ rules: RULES }, await openArchiveFiles(dataDir));
process.on('disconnect', () => process.exit());
armFailpoint(process.env);
const database = indexDatabase(dataDir);
const modules = { archive, database, room: endlessRoom, clock: systemClock, logger: silentLogger, metrics: noMetrics };
const index = new ChainIndex({}, modules);
await index.start();

// The chain is the same at every start: the blocks of earlier runs are made again and left out.
const chain = createTestChain();
for (;;) {
  const block = chain.add();
  if (block.block.header.bNum < BigInt(archive.nextHeight)) continue;
  await archive.store(block);
  await index.at(async () => undefined).catch(() => undefined);
}
