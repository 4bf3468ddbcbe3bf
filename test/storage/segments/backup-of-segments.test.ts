/** Backups of an archive: closed segments are copied once, and a node starts on any of them, also one taken while it stored. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BackupStore } from '../../../src/db/backup/backup-store.js';
import { restoreBackup } from '../../../src/db/backup/restore-backup.js';
import { takeBackup } from '../../../src/db/backup/take-backup.js';
import { DataDir } from '../../../src/db/data-dir.js';
import { systemRandom } from '../../../src/lib/random.js';
import { openArchiveFiles } from '../../../src/node/archive-files.js';
import { Archive } from '../../../src/storage/archive/archive.js';
import { createTestChain, RULES, type TestChain } from '../../support/storage/test-chain.js';

const OWNER = { role: 'storage', networkName: 'test' } as const;
const MAX_BYTES = 4_000;

let root: string;
let directory: DataDir;
let archive: Archive;
let chain: TestChain;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tessera-segments-backup-'));
  directory = await DataDir.open(join(root, 'data'), OWNER);
  archive = await Archive.open({ rules: RULES }, await openArchiveFiles(directory, { maxBytes: MAX_BYTES }));
  chain = createTestChain();
});
afterEach(async () => {
  await directory.close();
  await rm(root, { recursive: true });
});

async function fill(to: number): Promise<void> {
  for (const block of chain.grow(to).blocks.slice(archive.nextHeight)) await archive.store(block);
}

const options = { ...OWNER, isSealed: false, passphrase: async () => 'none' };
const { signal } = new AbortController();
const onProgress = (): void => undefined;

async function take(now: number) {
  const store = await BackupStore.openToWrite(join(root, 'backups'), options, { random: systemRandom });
  const what = {
    dataDir: join(root, 'data'),
    ...OWNER,
    lastDatabase: undefined,
    program: '0',
    now,
    signal,
    onProgress,
  };
  try {
    const taken = await takeBackup(what, store);
    return { ...taken, listing: await store.listing(taken.name) };
  } finally {
    await store.close();
  }
}

/** Blocks of a node that starts on the backup. */
async function blocksIn(backup: string): Promise<number> {
  const store = await BackupStore.openToRead(join(root, 'backups'), options, { random: systemRandom });
  const dataDir = join(root, `restored-${backup}`);
  await restoreBackup({ backup, dataDir, signal, onProgress }, store);
  const restored = await DataDir.open(dataDir, OWNER);
  try {
    const opened = await Archive.open({ rules: RULES }, await openArchiveFiles(restored, { maxBytes: MAX_BYTES }));
    await opened.load();
    const { blocks } = await opened.verify();
    expect(opened.tip.hash).toBe(chain.hash(blocks - 1));
    return blocks;
  } finally {
    await restored.close();
  }
}

it('have each closed segment once', async () => {
  await fill(12);
  const first = await take(1_000_000);
  await fill(16);
  const second = await take(2_000_000);
  const closed = first.listing.files.filter(({ path }) => path.endsWith('.blocks'));
  expect(closed.length).toBeGreaterThan(2);
  for (const file of closed) expect(second.listing.files).toContainEqual(file);
  expect(second.newBytes).toBeLessThan(second.bytes);
  expect([await blocksIn(first.name), await blocksIn(second.name)]).toEqual([12, 16]);
});

it('taken while blocks are stored have all that was stored before', async () => {
  await fill(4);
  const filling = fill(14);
  const before = archive.nextHeight;
  const { name } = await take(1_000_000);
  await filling;
  expect(await blocksIn(name)).toBeGreaterThanOrEqual(before);
});
