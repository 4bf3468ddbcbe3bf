/** A log that the system does not let be read: LevelDB would open without what is in it, and say nothing (rule P3). */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { canMakeFaultyDisks, FaultyDisk } from '../support/faulty-disk/faulty-disk.js';

const SCRIPT = fileURLToPath(new URL('open-and-count.ts', import.meta.url));
const WRITES = 50;
/** More reads of a log than an opening makes. */
const READS = 8;

async function run(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, ['--import', 'tsx', SCRIPT, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  await once(child, 'close');
  return printed;
}

it.runIf(canMakeFaultyDisks)(
  'a database whose log cannot be read opens whole, or not at all',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tessera-unread-'));
    const disk = await FaultyDisk.create();
    try {
      const original = join(folder, 'original');
      expect(await run({}, join(original, 'db'), String(WRITES))).toBe(String(WRITES));
      const endings: string[] = [];
      for (let skip = 0; skip < READS; skip++) {
        const copy = join(folder, String(skip));
        await cp(original, copy, { recursive: true });
        await disk.set(`read .log EIO skip=${skip} times=1`);
        endings.push(await run(disk.environment(), join(copy, 'db')));
      }
      expect(endings).toContain('data_lost');
      expect(endings.at(-1)).toBe(String(WRITES));
      for (const ending of endings)
        expect([String(WRITES), 'data_lost', 'database_failed', 'data_corrupt']).toContain(ending);
    } finally {
      await disk.remove();
      await rm(folder, { recursive: true, force: true });
    }
  },
  300_000,
);
