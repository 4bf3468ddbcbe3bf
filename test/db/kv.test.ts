import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LevelKv } from '../../src/db/level-kv.js';
import { MemoryKv } from '../support/memory-kv.js';
import { kvContract } from './kv-contract.js';

kvContract('memory', async () => ({ kv: new MemoryKv(), dispose: async () => undefined }));

kvContract('LevelDB', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-kv-'));
  const kv = await LevelKv.open(join(folder, 'store'), { createIfMissing: true });
  return { kv, dispose: () => rm(folder, { recursive: true }) };
});
