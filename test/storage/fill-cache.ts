/** Stores 300 blocks in an archive with a small cache and prints by how much the live buffers grew. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LevelKv } from '../../src/db/level-kv.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { printLiveGrowth } from '../support/live-memory-child.js';
import { createTestChain, RULES } from '../support/storage/test-chain.js';

const folder = await mkdtemp(join(tmpdir(), 'tessera-cache-'));
const kv = await LevelKv.open(folder, { createIfMissing: true });
const archive = await Archive.open({ rules: RULES, cacheBytes: 512 * 1_024 }, { kv });
const chain = createTestChain();
chain.grow(300);
await printLiveGrowth(chain.blocks, (block) => archive.store(block));
await kv.close();
await rm(folder, { recursive: true });
