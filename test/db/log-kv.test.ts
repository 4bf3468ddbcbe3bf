import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, cp, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prefixKey, prefixRange, u64Key } from '../../src/db/keys.js';
import type { Kv } from '../../src/db/kv.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { LogKv } from '../../src/db/log-kv.js';
import { builtScript } from '../support/built-script.js';
import { canMakeFaultyDisks, FaultyDisk } from '../support/faulty-disk/faulty-disk.js';
import { recordOf } from './incompressible.js';

const SCRIPT = new URL('write-log.ts', import.meta.url);
const NOTE = prefixKey('b');
/** Larger than a third of a file. */
const LARGE = 1_500_000;

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-log-'));
  path = join(folder, 'journal');
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const reopen = () => LogKv.open(path, { createIfMissing: false });

async function put(kv: Kv, n: number, value: Uint8Array = Buffer.from(`value ${n}`)): Promise<void> {
  await kv.write(kv.batch().put(u64Key('n', n), value), { sync: true });
}

async function numbers(kv: Kv): Promise<number[]> {
  const found: number[] = [];
  for await (const [key] of kv.entries(prefixRange('n'))) found.push(Buffer.from(key).readUInt32BE(5));
  return found;
}

/** The numbers after a start; the code of the error where there is none. */
async function afterStart(): Promise<number[] | string> {
  try {
    const kv = await reopen();
    return await numbers(kv).finally(() => kv.close());
  } catch (error) {
    return (error as { code: string }).code;
  }
}

async function logs(): Promise<string[]> {
  return (await readdir(path)).filter((name) => name.endsWith('.log')).sort();
}

/** Writes so many records, five of `LARGE` in two files and more, or small ones in one. */
async function written(count: number, size = 0): Promise<void> {
  const kv = await LogKv.open(path, { createIfMissing: true });
  await kv.write(kv.batch().put(NOTE, Buffer.from('note')), { sync: true });
  for (let n = 1; n <= count; n++) await put(kv, n, Buffer.alloc(size, n));
  await kv.close();
}

async function flipBit(name: string, at: number): Promise<void> {
  const bytes = await readFile(name);
  const place = at < 0 ? bytes.length + at : at;
  bytes[place] = (bytes[place] ?? 0) ^ 4;
  await writeFile(name, bytes);
}

describe('a log of records', () => {
  it('gives back what was written, in order, by key and in ranges, over restarts and files', async () => {
    await written(7, LARGE);
    expect((await logs()).length).toBeGreaterThan(2);
    const kv = await reopen();
    expect(await numbers(kv)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    await put(kv, 8);
    const [one, none, note] = await kv.getMany([u64Key('n', 8), u64Key('n', 9), NOTE]);
    expect([one, none, note].map((value) => value && Buffer.from(value).toString())).toEqual([
      'value 8',
      undefined,
      'note',
    ]);
    const reversed: number[] = [];
    for await (const [key] of kv.entries({ gte: u64Key('n', 2), lt: u64Key('n', 8), reverse: true, limit: 3 })) {
      reversed.push(Buffer.from(key).readUInt32BE(5));
    }
    expect(reversed).toEqual([7, 6, 5]);
    await kv.close();
    expect(await afterStart()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('deletes whole files from the front, and keeps its notes', async () => {
    await written(7, LARGE);
    const before = await logs();
    const kv = await reopen();
    const batch = kv.batch();
    for (let n = 1; n <= 5; n++) batch.del(u64Key('n', n));
    await kv.write(batch, { sync: true });
    expect(await numbers(kv)).toEqual([6, 7]);
    expect((await logs()).length).toBeLessThan(before.length - 1);
    await kv.close();
    const again = await reopen();
    expect(Buffer.from((await again.get(NOTE)) ?? []).toString()).toBe('note');
    // Of a file that has something else too, all is there again.
    expect((await numbers(again)).slice(-2)).toEqual([6, 7]);
    await put(again, 8);
    await again.close();
    expect(((await afterStart()) as number[]).at(-1)).toBe(8);
  });

  it('is read by LevelDB, as those expect who copy and repair databases, and brought back', async () => {
    await written(3);
    const level = await LevelKv.open(path, { createIfMissing: false });
    expect(await numbers(level)).toEqual([1, 2, 3]);
    await put(level, 4);
    await level.close();
    expect(await afterStart()).toEqual([1, 2, 3, 4]);
  });
});

describe('a log, damaged (rule P3)', () => {
  /** What a start says of it after a change of its files, which had all been acknowledged. */
  const cases: readonly [string, (names: readonly string[]) => Promise<unknown>, string][] = [
    ['a flipped bit at its end', (names) => flipBit(names.at(-1) ?? '', -20), 'data_corrupt'],
    ['a flipped bit in an old file', (names) => flipBit(names[0] ?? '', 5_000), 'data_corrupt'],
    [
      'a cut end',
      async (names) => truncate(names.at(-1) ?? '', (await stat(names.at(-1) ?? '')).size - 1),
      'data_lost',
    ],
    ['an empty last file', (names) => truncate(names.at(-1) ?? '', 0), 'data_lost'],
    ['no last file', (names) => rm(names.at(-1) ?? ''), 'data_lost'],
    ['no file in the middle', (names) => rm(names[1] ?? ''), 'data_lost'],
    ['no first file', (names) => rm(names[0] ?? ''), 'data_lost'],
    ['no CURRENT', () => rm(join(path, 'CURRENT')), 'data_lost'],
    ['no folder', () => rm(path, { recursive: true }), 'data_lost'],
  ];
  it.each(cases)('is found: %s', async (_, damage, code) => {
    await written(7, LARGE);
    await damage((await logs()).map((name) => join(path, name)));
    expect(await afterStart()).toBe(code);
  });

  it('is found: an older copy of its last file, and of all of them', async () => {
    await written(3);
    await cp(path, join(folder, 'older'), { recursive: true });
    const kv = await reopen();
    await put(kv, 4);
    await kv.close();
    const [name = ''] = await logs();
    await cp(join(folder, 'older', name), join(path, name));
    expect(await afterStart()).toBe('data_lost');
    await rm(path, { recursive: true });
    await cp(join(folder, 'older'), path, { recursive: true });
    expect(await afterStart()).toBe('data_lost');
  });

  it('is found: a file of another log', async () => {
    await written(3);
    const [name = ''] = await logs();
    const mine = await readFile(join(path, name));
    await rm(path, { recursive: true });
    await rm(`${path}.seal`);
    await written(3);
    await writeFile(join(path, name), mine);
    expect(await afterStart()).toBe('data_corrupt');
  });
});

describe('a log after a crash', () => {
  it.each([
    ['torn', (bytes: Buffer) => bytes.subarray(0, -7)],
    ['whole', (bytes: Buffer) => bytes],
    ['zeros', (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -30), Buffer.alloc(600)])],
  ])('cuts off or takes an end that nobody was told of, and goes on: %s', async (kind, left) => {
    await written(3);
    const [name = ''] = await logs();
    const before = (await stat(join(path, name))).size;
    const seal = await readFile(`${path}.seal`);
    const kv = await reopen();
    await put(kv, 4);
    await kv.close();
    const end = (await readFile(join(path, name))).subarray(before);
    await truncate(join(path, name), before);
    await appendFile(join(path, name), left(end));
    await writeFile(`${path}.seal`, seal);
    const found = kind === 'whole' ? [1, 2, 3, 4] : [1, 2, 3];
    expect(await afterStart()).toEqual(found);
    const again = await reopen();
    await put(again, 5);
    await again.close();
    expect(await afterStart()).toEqual([...found, 5]);
  });

  it('brings over what LevelDB has written, whenever that is interrupted', async () => {
    const old = await LevelKv.open(path, { createIfMissing: true });
    await old.write(old.batch().put(NOTE, Buffer.from('note')), { sync: true });
    for (let n = 1; n <= 5; n++) await put(old, n, recordOf(n));
    await old.close();
    const kept = await mkdtemp(join(tmpdir(), 'tessera-log-kept-'));
    await cp(folder, kept, { recursive: true });
    const kv = await reopen();
    expect(await numbers(kv)).toEqual([1, 2, 3, 4, 5]);
    await put(kv, 6);
    await kv.close();
    const [name = ''] = await logs();
    const whole = await readFile(join(path, name));
    expect((await readdir(path)).sort()).toEqual([name, 'CURRENT', expect.stringMatching(/^MANIFEST-/)]);
    // As a crash leaves it before CURRENT names the new files: all of them, a part, or none of their bytes.
    for (const bytes of [whole.length - 1, 700, 20, 0]) {
      await rm(path, { recursive: true });
      await cp(kept, folder, { recursive: true });
      await writeFile(join(path, name), whole.subarray(0, bytes));
      expect(await afterStart()).toEqual([1, 2, 3, 4, 5]);
      expect(await afterStart()).toEqual([1, 2, 3, 4, 5]);
    }
    await rm(kept, { recursive: true });
  });
});

describe('a log on a disk that fails', () => {
  let disk: FaultyDisk;
  beforeEach(async () => {
    if (canMakeFaultyDisks) disk = await FaultyDisk.create();
  });
  afterEach(() => disk?.remove());

  async function run(...args: readonly string[]): Promise<string[]> {
    const child = spawn(process.execPath, [await builtScript(SCRIPT), path, ...args], {
      env: { ...process.env, ...disk.environment(path) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    await once(child, 'close');
    return printed.trim().split('\n');
  }

  it.runIf(canMakeFaultyDisks).each([
    ['a sync', ['sync .log EIO skip=3 times=1']],
    ['a write', ['write .log EIO skip=3 times=1']],
    ['room in the middle of a write', ['write .log short skip=3 times=1', 'write .log ENOSPC skip=3 times=2']],
  ])('does not have what was refused, has what was acknowledged, and goes on in a new file: %s', async (_, rules) => {
    await disk.set(...rules);
    const told = await run('1', '12');
    const failed = told.filter((line) => line.includes(':'));
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.every((line) => line.endsWith(':database_failed'))).toBe(true);
    const acknowledged = told.filter((line) => !line.includes(':')).map(Number);
    expect(acknowledged.at(-1)).toBe(12);
    expect((await logs()).length).toBeGreaterThan(1);
    expect(await afterStart()).toEqual(acknowledged);
  });

  it.runIf(canMakeFaultyDisks)(
    'does not start on an end that cannot be synced: its seal would be ahead after a power loss',
    async () => {
      await run('1', '3');
      const seal = await readFile(`${path}.seal`);
      // As by a process that was killed before it could sync what it had written.
      const [name = ''] = await logs();
      const before = (await stat(join(path, name))).size;
      await run('4', '1');
      const end = (await readFile(join(path, name))).subarray(before);
      await truncate(join(path, name), before);
      await appendFile(join(path, name), end);
      await writeFile(`${path}.seal`, seal);
      await disk.set('sync .log EIO times=1');
      expect(await run('5', '1')).toEqual(['']);
      expect(await readFile(`${path}.seal`)).toEqual(seal);
      await disk.set();
      expect(await run('5', '1')).toEqual(['5']);
      expect(await afterStart()).toEqual([1, 2, 3, 4, 5]);
    },
  );

  it.runIf(canMakeFaultyDisks)('has what was acknowledged after a power loss at a sync', async () => {
    await run('1', '3');
    for (const [i, action] of ['cut', 'torn'].entries()) {
      await disk.set(`sync .log ${action} skip=4`);
      const before = 100 * (i + 1);
      const told = (await run(String(before), '50')).map(Number);
      expect(told.length).toBeGreaterThan(0);
      expect(told.length).toBeLessThan(50);
      await disk.set();
      const found = await afterStart();
      expect(found).toEqual(expect.arrayContaining(told));
    }
  });
});
