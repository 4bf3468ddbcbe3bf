/** Child process of kill.e2e.test.ts: stores block after block, tells each number that is confirmed, until it is killed. */

import { DataDir } from '../../src/db/data-dir.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { createTestChain, RULES } from '../support/storage/test-chain.js';

const dir = await DataDir.open(process.argv[2] ?? '', { role: 'storage', networkName: 'test' });
const archive = await Archive.open({ rules: RULES }, { kv: await dir.open('archive') });
process.on('disconnect', () => process.exit());

// The chain is the same at every start: the blocks of earlier runs are made again and left out.
const chain = createTestChain();
for (;;) {
  const block = chain.add();
  if (block.block.header.bNum < BigInt(archive.nextHeight)) continue;
  const { height } = await archive.store(block);
  process.send?.(height);
}
