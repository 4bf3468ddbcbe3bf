/**
 * Logs that the system does not let LevelDB read: it would open without what is in them, say nothing and remove them (rule
 * P3). Our check reads them before it, and once more when LevelDB has opened: each of these reads fails in turn.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { builtScript } from '../support/built-script.js';
import { canMakeFaultyDisks, FaultyDisk } from '../support/faulty-disk/faulty-disk.js';

const SCRIPT = new URL('open-and-count.ts', import.meta.url);
const WRITES = 50;
/** More reads of a log than an opening makes. */
const READS = 6;
/** Writes, and bytes of each, after which LevelDB begins its second log: at 4 MiB. */
const MANY = 60;
const LARGE = 100_000;

let folder: string;
let path: string;
let disk: FaultyDisk;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-unread-'));
  path = join(folder, 'db');
  disk = await FaultyDisk.create();
});
afterEach(async () => {
  await disk.remove();
  await rm(folder, { recursive: true, force: true });
});

async function run(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [await builtScript(SCRIPT), path, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  await once(child, 'close');
  return printed;
}

/** What a copy had on the disk with these rules, and then on a sound one; for each set of rules. */
async function openings(...sets: readonly string[]): Promise<string[][]> {
  const printed = await run(disk.environment(), 'each', ...sets);
  return printed
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
}

describe.runIf(canMakeFaultyDisks)('a log that cannot be read for a moment (rule P3)', () => {
  it('costs nothing, whichever call of the start fails', async () => {
    expect(await run({}, String(WRITES))).toBe('.'.repeat(WRITES) + WRITES);
    const reads = Array.from({ length: READS }, (_, skip) => `read .log EIO skip=${skip} times=1`);
    const ofReads = await openings(...reads);
    // Our check meets it first, LevelDB after it, and in the end nothing does.
    expect(ofReads.slice(0, 2).map(([first]) => first)).toEqual(['database_failed', 'database_failed']);
    expect(ofReads.at(-1)).toEqual([String(WRITES), String(WRITES)]);
    const others = await openings(
      'open .log EIO skip=1 times=1',
      'read .log short times=1',
      'link before-open EPERM;read .log EIO skip=1 times=1',
    );
    expect(others.map(([first]) => first)).toEqual(['database_failed', String(WRITES), 'database_failed']);
    for (const [first, second] of [...ofReads, ...others]) {
      expect(['database_failed', String(WRITES)]).toContain(first);
      expect(second).toBe(String(WRITES));
    }
  });

  it('is not taken for damage when it has become a table, which LevelDB opens when it is read', async () => {
    // Two tables: the mark of the last write, which the start looks for, is in the second.
    for (let i = 0; i < 2; i++) {
      await run({}, String(WRITES));
      expect(await run({})).toBe(String(WRITES));
    }
    const opens = Array.from({ length: 2 * READS }, (_, skip) => `open .ldb EIO skip=${skip} times=1`);
    const found = await openings(...opens);
    expect(found.filter(([first]) => first === 'database_failed').length).toBeGreaterThan(1);
    for (const [first, second] of found) {
      expect(['database_failed', String(WRITES)]).toContain(first);
      expect(second).toBe(String(WRITES));
    }
  });

  it('is noticed when it is the first of two logs', async () => {
    // LevelDB goes on with a new log while it writes a table of the first.
    await disk.set('create .ldb kill');
    const acknowledged = (await run(disk.environment(), String(MANY), String(LARGE))).length;
    const logs = (await readdir(path)).filter((name) => name.endsWith('.log')).sort();
    expect(logs).toHaveLength(2);
    const rules = [1, 200].map((skip) => `read ${logs[0]} EIO skip=${skip} times=1`);
    for (const [first, second] of await openings(...rules)) {
      expect(first).toBe('database_failed');
      expect(Number(second)).toBeGreaterThanOrEqual(acknowledged);
    }
  });

  it('hides nothing when a running node opens the database again after a failed write', async () => {
    expect(await run(disk.environment(), 'reopen', 'read .log EIO skip=1 times=1')).toBe('true true 10');
  });

  it('costs nothing when the next start is killed while it puts the files back', async () => {
    await run({}, String(WRITES));
    for (const place of ['db.open.after', 'db.put-back.current']) {
      const env = { NODE_ENV: 'test', TESSERA_FAILPOINT: `${place}:db` };
      expect([place, await run(env)]).toEqual([place, '']);
    }
    expect(await run({})).toBe(String(WRITES));
  });
});
