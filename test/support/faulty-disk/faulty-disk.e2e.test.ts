/** The faulty disk itself: what tests that use it rely on. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canMakeFaultyDisks, FaultyDisk } from './faulty-disk.js';

let folder: string;
let disk: FaultyDisk;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-on-faulty-disk-'));
  disk = await FaultyDisk.create();
});
afterEach(async () => {
  await disk.remove();
  await rm(folder, { recursive: true });
});

/** Runs a script on the disk, in the folder `data`, with `fs` at hand; resolves with what it printed. */
async function run(script: string): Promise<{ readonly printed: string; readonly signal: string | null }> {
  const data = join(folder, 'data');
  await mkdir(data, { recursive: true });
  const child = spawn(process.execPath, ['-e', `const fs = require('node:fs');\n${script}`], {
    cwd: data,
    env: { ...process.env, ...disk.environment(data) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const [, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { printed: printed.trim(), signal };
}

const CODE_OF = `const codeOf = (work) => { try { return work() ?? 'done'; } catch (error) { return error.code; } };`;

describe.runIf(canMakeFaultyDisks)('a faulty disk', () => {
  it('fails the calls that a rule names, and no others', async () => {
    await disk.set(
      'write /data/a EIO skip=1 times=1',
      'create /data/b EROFS',
      'sync * ENOSPC',
      'statfs * free=8192000',
    );
    const { printed } = await run(`${CODE_OF}
      const a = fs.openSync('a', 'w');
      const written = [1, 2, 3].map(() => codeOf(() => fs.writeSync(a, 'x')));
      const { bavail, bsize } = fs.statfsSync('.');
      console.log(...written, codeOf(() => fs.openSync('b', 'w')), codeOf(() => fs.fsyncSync(a)), bavail * bsize);`);
    expect(printed).toBe('1 EIO 1 EROFS ENOSPC 8192000');
    expect((await disk.hits()).map((hit) => hit.split(' ').slice(0, 2).join(' '))).toEqual([
      'EIO write',
      'free statfs',
      'EROFS create',
      'ENOSPC sync',
    ]);
  });

  it('has room for so many bytes, and cuts the write that meets the end', async () => {
    await disk.set('write full room=5');
    const { printed } = await run(`${CODE_OF}
      const full = fs.openSync('full', 'w');
      console.log(fs.writeSync(full, 'abc'), fs.writeSync(full, 'def'), codeOf(() => fs.writeSync(full, 'g')));`);
    expect(printed).toBe('3 2 ENOSPC');
    expect(await readFile(join(folder, 'data', 'full'), 'utf8')).toBe('abcde');
  });

  it('loses at a power cut what was not synced, and that only', async () => {
    await mkdir(join(folder, 'data'));
    await writeFile(join(folder, 'data', 'old'), 'old');
    await disk.set('open now cut');
    const { signal } = await run(`
      const log = fs.openSync('log', 'a');
      fs.writeSync(log, 'synced,');
      fs.fsyncSync(log);
      fs.writeSync(log, 'not synced');
      fs.writeFileSync('next', 'new');
      fs.renameSync('next', 'old');
      fs.writeFileSync('kept', 'kept', { flush: true });
      fs.renameSync('kept', 'kept-2');
      fs.fsyncSync(fs.openSync('.', 'r'));
      fs.unlinkSync('kept-2');
      fs.renameSync('old', 'older');
      fs.openSync('now', 'r');`);
    expect(signal).toBe('SIGKILL');
    const data = join(folder, 'data');
    expect((await readdir(data)).sort()).toEqual(['kept-2', 'log', 'old']);
    expect(await readFile(join(data, 'log'), 'utf8')).toBe('synced,');
    expect(await readFile(join(data, 'kept-2'), 'utf8')).toBe('kept');
    // Its new name was synced with the folder, its content was not: as on a real disk.
    expect(await readFile(join(data, 'old'), 'utf8')).toBe('');
  });

  it('may keep the first of the writes that were not synced, the last of them in part', async () => {
    await disk.set('open now torn');
    const { signal } = await run(`
      const log = fs.openSync('log', 'a');
      fs.writeSync(log, 'synced,');
      fs.fsyncSync(log);
      for (let n = 0; n < 100; n++) fs.writeSync(log, '0123456789');
      fs.openSync('now', 'r');`);
    expect(signal).toBe('SIGKILL');
    const left = await readFile(join(folder, 'data', 'log'), 'utf8');
    expect(`synced,${'0123456789'.repeat(100)}`.startsWith(left)).toBe(true);
    expect(left.startsWith('synced,')).toBe(true);
  });
});
