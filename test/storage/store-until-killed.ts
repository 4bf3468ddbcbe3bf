/**
 * Child process of tests that kill it: stores block after block, and tells each number that is confirmed. What the disk refuses is tried
 * once more.
 */

import { DataDir } from '../../src/db/data-dir.js';
import { armFailpoint } from '../../src/lib/failpoints.js';
import { openArchiveFiles } from '../../src/node/archive-files.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { createTestChain, RULES } from '../support/storage/test-chain.js';

armFailpoint(process.env);
const dir = await DataDir.open(process.argv[2] ?? '', { role: 'storage', networkName: 'test' });
const archive = await Archive.open({ rules: RULES }, await openArchiveFiles(dir, { maxBytes: 4_000 }));
await archive.load();
process.on('disconnect', () => process.exit());

// The chain is the same at every start: the blocks of earlier runs are made again and left out.
const chain = createTestChain();
for (;;) {
  const block = chain.add();
  if (block.block.header.bNum < BigInt(archive.nextHeight)) continue;
  const { height } = await archive.store(block).catch(async () => {
    await dir.recover();
    return archive.store(block);
  });
  process.send?.(height);
}
