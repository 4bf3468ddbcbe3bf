import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { DataDir } from '../../src/db/data-dir.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { createTestChain, RULES } from '../support/storage/test-chain.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-kill-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** Lets a child store blocks until it has confirmed `count`, and kills it in the middle of the next. */
async function storeAndKill(path: string, count: number): Promise<number> {
  const child = fork(new URL('./store-until-killed.ts', import.meta.url), [path], { execArgv: ['--import', 'tsx'] });
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
    const archive = await Archive.open({ rules: RULES }, { kv: await dir.open('archive') });
    const { nextHeight } = archive;
    expect(nextHeight).toBeGreaterThan(confirmed);
    expect(await archive.verify()).toEqual({ blocks: nextHeight, transactions: nextHeight * 3 });
    chain.grow(nextHeight);
    expect(archive.tip.hash).toBe(chain.hash(nextHeight - 1));
    await dir.close();
  }
});
