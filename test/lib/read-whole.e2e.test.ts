/** Reading a file on a disk that gives less at once than it has (rule P3). */

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { builtScript } from '../support/built-script.js';
import { canMakeFaultyDisks, FaultyDisk } from '../support/faulty-disk/faulty-disk.js';

const SCRIPT = new URL('read-whole-child.ts', import.meta.url);

it.runIf(canMakeFaultyDisks)('a short read is not the end of a file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-read-'));
  const disk = await FaultyDisk.create();
  try {
    const file = join(folder, 'keystore.json');
    await writeFile(file, 'x'.repeat(1_000));
    await disk.set('read keystore.json short times=2');
    const env = { ...process.env, ...disk.environment() };
    const { stdout } = await promisify(execFile)(process.execPath, [await builtScript(SCRIPT), file], { env });
    expect(stdout).toBe('1000');
    expect(await disk.hits()).toHaveLength(2);
  } finally {
    await disk.remove();
    await rm(folder, { recursive: true });
  }
});
