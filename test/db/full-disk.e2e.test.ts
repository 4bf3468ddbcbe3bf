/**
 * A disk that takes no more bytes, and then takes them again. The system refuses here by a limit on the size of files,
 * which cuts a write in the middle exactly as a full disk does, and needs no rights of an administrator.
 */

import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { u64Key } from '../../src/db/keys.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { builtScript } from '../support/built-script.js';
import { recordOf } from './incompressible.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-full-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

interface Told {
  readonly ready?: true;
  readonly written?: number;
  readonly failed?: number;
  readonly code?: string;
  readonly isReadable?: boolean;
}

/** Failures that are waited for before there is room again, and writes after that before the process is killed. */
const FAILURES = 5;
const WRITES_AFTER = 20;

/** Writes until the disk is full, goes on when there is room again, and is killed. */
async function fillUntilKilled(
  path: string,
  start: number,
  limit: number,
  written: Set<number>,
  failed: Set<number>,
): Promise<void> {
  const child = fork(await builtScript(new URL('./write-until-killed.ts', import.meta.url)), [path, String(start)]);
  let failures = 0;
  let writesAfter = 0;
  let wrong: Told | undefined;
  child.on('message', (told: Told) => {
    if (told.ready) limitFiles(child, limit);
    if (told.written !== undefined) {
      written.add(told.written);
      if (failures >= FAILURES) writesAfter += 1;
      if (writesAfter === WRITES_AFTER) child.kill('SIGKILL');
    }
    if (told.failed !== undefined) {
      failed.add(told.failed);
      failures += 1;
      if (told.code !== 'database_failed' || told.isReadable !== true) wrong = told;
      if (failures === FAILURES) limitFiles(child);
    }
  });
  await once(child, 'exit');
  expect(wrong).toBeUndefined();
  expect(writesAfter).toBeGreaterThanOrEqual(WRITES_AFTER);
}

/** Bytes that a file of the process may have; undefined for no limit. */
function limitFiles(child: ChildProcess, bytes?: number): void {
  execFileSync('prlimit', ['--pid', String(child.pid), `--fsize=${bytes ?? 'unlimited'}:`]);
}

describe('a full disk', () => {
  it('refuses writes, is read on, takes writes again when there is room, and survives kill -9 (rules P1, P7)', async () => {
    const path = join(folder, 'wallet');
    const written = new Set<number>();
    const failed = new Set<number>();
    for (const [start, limit] of [
      [1, 60_000],
      [10_001, 63_000],
    ] as const) {
      await fillUntilKilled(path, start, limit, written, failed);
      const kv = await LevelKv.open(path, { createIfMissing: false });
      for (const n of written) expect(await kv.get(u64Key('n', n))).toEqual(recordOf(n));
      for (const n of failed) expect(await kv.get(u64Key('n', n))).toBeUndefined();
      await kv.close();
    }
    expect(failed.size).toBeGreaterThanOrEqual(2 * FAILURES);
  });
});
