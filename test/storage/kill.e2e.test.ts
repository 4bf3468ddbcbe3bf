import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { DataDir } from '../../src/db/data-dir.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { openArchiveFiles } from '../../src/node/archive-files.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { builtScript } from '../support/built-script.js';
import { createTestChain, RULES } from '../support/storage/test-chain.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-kill-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** Lets a child store blocks until it has confirmed `count`, and kills it in the middle of the next. */
async function storeAndKill(path: string, count: number, failpoint = ''): Promise<number> {
  const env = { ...process.env, NODE_ENV: 'test', TESSERA_FAILPOINT: failpoint };
  const child = fork(await builtScript(new URL('./store-until-killed.ts', import.meta.url)), [path], {
    env,
  });
  const exited = once(child, 'exit');
  const enough = createDeferred<void>();
  let confirmed = -1;
  child.on('message', (height) => {
    confirmed = Number(height);
    if (confirmed >= count) enough.resolve();
  });
  await Promise.race([enough.promise, exited]);
  child.kill('SIGKILL');
  await exited;
  return confirmed;
}

it('kill -9 while blocks are stored leaves every confirmed one, whole, and no gap (rules P1, P7)', async () => {
  const path = join(folder, 'data');
  const chain = createTestChain();
  for (const count of [8, 16, 24]) {
    const confirmed = await storeAndKill(path, count);
    expect(confirmed).toBeGreaterThanOrEqual(count);
    const dir = await DataDir.open(path, { role: 'storage', networkName: 'test' });
    const archive = await Archive.open({ rules: RULES }, await openArchiveFiles(dir, { maxBytes: 4_000 }));
    await archive.load();
    const { nextHeight } = archive;
    expect(nextHeight).toBeGreaterThan(confirmed);
    expect(await archive.verify()).toEqual({ blocks: nextHeight, transactions: nextHeight * 3 });
    chain.grow(nextHeight);
    expect(archive.tip.hash).toBe(chain.hash(nextHeight - 1));
    await dir.close();
  }
});

it.each([
  'segment.append.before:blocks@5',
  'segment.append.after:blocks@5',
  'segment.sync.after:blocks@5',
  'archive.batch.before:archive@5',
  'archive.batch.after:archive@5',
  'segment.footer.after:blocks@2',
  'segment.closed.after:blocks@2',
])(
  'an end at %s leaves every confirmed block, and the same chain and files in the end (rules P1, P7)',
  async (name) => {
    const path = join(folder, 'data');
    const confirmed = await storeAndKill(path, 1_000, name);
    expect(confirmed).toBeGreaterThan(0);
    const dir = await DataDir.open(path, { role: 'storage', networkName: 'test' });
    const archive = await Archive.open({ rules: RULES }, await openArchiveFiles(dir, { maxBytes: 4_000 }));
    expect(archive.nextHeight + archive.ahead).toBeGreaterThan(confirmed);
    await archive.load();
    const chain = createTestChain().grow(16);
    for (const block of chain.blocks.slice(archive.nextHeight)) await archive.store(block);
    expect(archive.tip.hash).toBe(chain.hash(15));
    expect(await archive.verify()).toEqual({ blocks: 16, transactions: 48 });
    await dir.close();
    const other = await DataDir.open(join(folder, 'other'), { role: 'storage', networkName: 'test' });
    const undisturbed = await Archive.open({ rules: RULES }, await openArchiveFiles(other, { maxBytes: 4_000 }));
    for (const block of chain.blocks) await undisturbed.store(block);
    await other.close();
    const files = (data: string) => readdir(join(folder, data, 'segments'));
    expect(await files('data')).toEqual(await files('other'));
  },
);
