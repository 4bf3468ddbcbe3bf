import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openLevelKv } from '../../src/db/level-kv.js';
import { createArchive } from '../../src/storage/archive/archive.js';
import { liveBufferBytes, useUpBufferPool } from '../support/live-memory.js';
import { createTestChain, RULES } from '../support/storage/test-chain.js';

it('keeps within the memory that the cache of answers is given (storage.cache_bytes)', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-cache-'));
  const kv = await openLevelKv(folder, { createIfMissing: true });
  const cacheBytes = 512 * 1_024;
  const archive = await createArchive({ kv, rules: RULES, cacheBytes });
  const chain = createTestChain();
  chain.grow(300);
  const before = liveBufferBytes();
  for (const block of chain.blocks) {
    await archive.store(block);
    useUpBufferPool();
  }
  // Blocks of this size would fill the cache three times over with 8 KiB each. Some room is for whatever else runs here.
  expect(liveBufferBytes() - before).toBeLessThan(2 * cacheBytes);
  await kv.close();
  await rm(folder, { recursive: true });
});
