/** `tessera rebuild` of a mempool node that ends in the middle or is called again: no transaction is forgotten (rule P1). */

import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canMakeFaultyDisks, FaultyDisk } from '../support/faulty-disk/faulty-disk.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const FIXTURE = fileURLToPath(new URL('../fixtures/folders-1/mempool', import.meta.url));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-rebuild-'));
  await cp(FIXTURE, join(folder, 'mempool'), { recursive: true });
});
afterEach(() => rm(folder, { recursive: true }));

async function rebuild(env: Readonly<Record<string, string>> = {}): Promise<string> {
  const place = ['--role', 'mempool', '--config', 'config/dev.toml', '--data', join(folder, 'mempool')];
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'rebuild', ...place], {
    env: { ...process.env, ...env },
  });
  return stdout;
}

/** The journal of the fixture holds four payments; without an archive no block has them. */
const FOUR = 'no blocks yet and 4 groups of transactions to be submitted again';

describe('rebuild of a mempool node', () => {
  it('keeps what is to be submitted again when it is called twice', async () => {
    expect(await rebuild()).toContain(FOUR);
    expect(await rebuild()).toContain(FOUR);
  });

  it.runIf(canMakeFaultyDisks).each([
    ['before', 'kill'],
    ['after', 'kill-after'],
  ])('goes on when the process is killed %s the old databases are put aside', async (_when, action) => {
    const disk = await FaultyDisk.create();
    try {
      await disk.set(`rename /before-rebuild- ${action}`);
      await expect(rebuild(disk.environment())).rejects.toMatchObject({ signal: 'SIGKILL' });
    } finally {
      await disk.remove();
    }
    expect(await rebuild()).toContain(FOUR);
    expect(await rebuild()).toContain(FOUR);
  });
});
