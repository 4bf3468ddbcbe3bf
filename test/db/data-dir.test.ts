import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Migration } from '../../src/db/data-dir.js';
import { DataDir, type DataDirOptions } from '../../src/db/data-dir.js';
import { folderSize } from '../../src/db/disk-room.js';
import type { Kv } from '../../src/db/kv.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { readMarker } from '../../src/db/marker.js';
import { builtScript } from '../support/built-script.js';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-dir-'));
  path = join(folder, 'deep', 'data');
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const STORAGE: DataDirOptions = { role: 'storage', networkName: 'test' };
const KEY = Buffer.from('key');
const MIB = 1024 * 1024;

async function readBack(): Promise<string | undefined> {
  const dir = await DataDir.open(path, STORAGE);
  try {
    const kv = await dir.open('archive');
    const value = await kv.get(KEY);
    return value && Buffer.from(value).toString();
  } finally {
    await dir.close();
  }
}

async function writeSome(options: Partial<DataDirOptions> = {}): Promise<void> {
  const dir = await DataDir.open(path, { ...STORAGE, ...options });
  const kv = await dir.open('archive');
  await kv.write(kv.batch().put(KEY, Buffer.from('value')), { sync: true });
  await dir.close();
}

/** Another process that opens the data directory, says so, and stays. */
async function otherProcess() {
  const child = fork(await builtScript(new URL('./hold-data-dir.ts', import.meta.url)), [path]);
  await once(child, 'message');
  return child;
}

describe('a data directory', () => {
  it('gives a large database, and one that is made again, more memory before what is written becomes a table', async () => {
    const dir = await DataDir.open(path, STORAGE);
    const opened = { small: await dir.open('small'), large: await dir.open('archive') };
    const kvs = { ...opened, derived: await dir.openDerived('index') };
    for (const kv of Object.values(kvs)) {
      for (let i = 0; i < 24; i++) {
        await kv.write(kv.batch().put(Buffer.from(`key ${i}`), Buffer.alloc(1024 * 1024, i)), { sync: false });
      }
    }
    const tables = async (name: string) =>
      (await readdir(join(path, 'db', name))).filter((file) => file.endsWith('.ldb')).length;
    await expect.poll(() => tables('small'), { timeout: 60_000 }).toBeGreaterThan(0);
    expect([await tables('archive'), await tables('index')]).toEqual([0, 0]);
    await dir.close();
  });

  it('makes the folder private and its databases durable', async () => {
    await writeSome();
    expect((await stat(path)).mode & 0o777).toBe(0o700);
    expect(await readBack()).toBe('value');
  });

  it('takes the rights of others away from a folder that had them', async () => {
    await writeSome();
    const open = [path, join(path, 'db'), join(path, 'db', 'archive')];
    for (const name of open) await chmod(name, 0o755);
    await chmod(join(path, 'db', 'archive', 'CURRENT'), 0o644);
    expect(await readBack()).toBe('value');
    for (const name of open) expect((await stat(name)).mode & 0o777, name).toBe(0o700);
    expect((await stat(join(path, 'db', 'archive.seal'))).mode & 0o777).toBe(0o600);
  });

  it('says whose the folder must be when it cannot be looked into', async () => {
    // An administrator may look into everything: a file in the place of the folder is refused the same way.
    await mkdir(join(folder, 'deep'));
    await writeFile(path, '');
    await expect(DataDir.open(path, STORAGE)).rejects.toMatchObject({ code: 'data_dir_invalid' });
  });

  it('leaves no database open and no lock held after close', async () => {
    const dir = await DataDir.open(path, STORAGE);
    const kv = await dir.open('archive');
    await dir.close();
    await dir.close();
    await expect(kv.get(KEY)).rejects.toMatchObject({ code: 'shutting_down' });
    await expect(dir.open('archive')).rejects.toMatchObject({ code: 'shutting_down' });
    expect(await readdir(path)).not.toContain('lock.pid');
  });

  it('refuses a second owner in the same process (rule P5)', async () => {
    const dir = await DataDir.open(path, STORAGE);
    await expect(DataDir.open(path, STORAGE)).rejects.toMatchObject({
      code: 'data_dir_locked',
      message: expect.stringContaining(`process ${process.pid} `),
    });
    await dir.close();
  });

  it('refuses while another process has it, naming that process (rule P5), and takes over after kill -9 (rule P7)', async () => {
    const child = await otherProcess();
    await expect(DataDir.open(path, STORAGE)).rejects.toMatchObject({
      code: 'data_dir_locked',
      message: expect.stringContaining(`process ${child.pid} `),
    });
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await readBack()).toBe('from the other process');
  });

  it('takes the lock although its files are damaged (rule P7)', async () => {
    await writeSome();
    await writeFile(join(path, 'lock', 'CURRENT'), 'nonsense');
    expect(await readBack()).toBe('value');
  });

  it.each([
    ['role', { ...STORAGE, role: 'mempool' }, 'belongs to a storage node'],
    ['network', { ...STORAGE, networkName: 'main' }, 'belongs to the network "test"'],
  ])('refuses the directory of another %s and leaves it usable', async (_, options, text) => {
    await writeSome();
    await expect(DataDir.open(path, options)).rejects.toMatchObject({
      code: 'data_dir_invalid',
      message: expect.stringContaining(text),
    });
    expect(await readBack()).toBe('value');
  });

  it('refuses a directory of a newer format', async () => {
    await (await DataDir.open(path, { ...STORAGE, format: 7 })).close();
    await expect(DataDir.open(path, STORAGE)).rejects.toMatchObject({
      code: 'data_dir_invalid',
      message: expect.stringContaining('format 7'),
    });
  });

  it('does not take a lost CURRENT or a lost database for an empty one (rule P3)', async () => {
    await writeSome();
    await rm(join(path, 'db', 'archive', 'CURRENT'));
    await expect(readBack()).rejects.toMatchObject({ code: 'data_lost' });
    await rm(join(path, 'db', 'archive'), { recursive: true });
    await expect(readBack()).rejects.toMatchObject({ code: 'data_lost' });
  });

  it('refuses databases without a marker', async () => {
    await writeSome();
    await rm(join(path, 'tessera.json'));
    await expect(readBack()).rejects.toMatchObject({ code: 'data_dir_invalid' });
  });

  it.each([
    ['cut', (text: string) => text.slice(0, 20)],
    ['changed', (text: string) => text.replace('"storage"', '"mempool"')],
    ['of another shape', () => '[]'],
  ])('refuses a marker that was %s', async (_, damage) => {
    await writeSome();
    const marker = join(path, 'tessera.json');
    await writeFile(marker, damage(await readFile(marker, 'utf8')));
    await expect(DataDir.open(path, STORAGE)).rejects.toMatchObject({ code: 'data_corrupt' });
  });

  it('accepts a folder that exists and holds other files', async () => {
    await mkdir(path, { recursive: true });
    await writeFile(join(path, 'api-key'), 'x');
    await writeSome();
    expect(await readBack()).toBe('value');
  });

  it('says data_dir_invalid when the folder cannot be made', async () => {
    await writeFile(join(folder, 'deep'), 'a file in its place');
    await expect(DataDir.open(path, STORAGE)).rejects.toMatchObject({ code: 'data_dir_invalid' });
  });

  it('refuses names that are no plain names', async () => {
    const dir = await DataDir.open(path, STORAGE);
    for (const name of ['', '../x', 'A', 'a/b']) {
      await expect(dir.open(name)).rejects.toMatchObject({ code: 'internal_error' });
    }
    await dir.close();
  });
});

describe('tables of a data directory', () => {
  const compressible = Buffer.alloc(MIB, 'compressible ');

  async function fill(kv: Kv, count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      await kv.write(kv.batch().put(Buffer.from(`${i}`), compressible), { sync: false });
    }
  }

  const holds = async (kv: Kv, key: string): Promise<boolean> =>
    compressible.equals((await kv.get(Buffer.from(key))) ?? Buffer.alloc(0));

  it('are compressed, but for the state of a mempool, which is merged often and gets no smaller', async () => {
    const dir = await DataDir.open(path, STORAGE);
    for (const name of ['archive', 'mempool']) await fill(await dir.open(name), 32);
    // A stop writes what fills most of a buffer to a table.
    await dir.close();
    expect(await folderSize(join(path, 'db', 'archive'))).toBeLessThan(8 * MIB);
    expect(await folderSize(join(path, 'db', 'mempool'))).toBeGreaterThan(32 * MIB);
  });

  it('are read as an earlier version has compressed them', async () => {
    const first = await DataDir.open(path, STORAGE);
    await first.close();
    const older = await LevelKv.open(join(path, 'db', 'mempool'), { createIfMissing: true });
    await fill(older, 16);
    await older.close();
    expect(await folderSize(join(path, 'db', 'mempool'))).toBeLessThan(8 * MIB);
    const dir = await DataDir.open(path, STORAGE);
    const kv = await dir.open('mempool');
    expect(await holds(kv, '0')).toBe(true);
    await fill(kv, 16);
    expect(await holds(kv, '15')).toBe(true);
    await dir.close();
  });
});

describe('migrations of a data directory', () => {
  const appending = (to: number): Migration => ({
    to,
    async run(dir) {
      const kv = await dir.open('archive');
      const value = await kv.get(KEY);
      await kv.write(kv.batch().put(KEY, Buffer.concat([value ?? Buffer.of(), Buffer.from(`>${to}`)])), { sync: true });
    },
  });
  const upTo = (format: number, migrations: Migration[]) => DataDir.open(path, { ...STORAGE, format, migrations });

  it('run once each, in order', async () => {
    await writeSome({ format: 1 });
    const migrations = [appending(3), appending(2)];
    await (await upTo(3, migrations)).close();
    const dir = await upTo(3, migrations);
    const value = await (await dir.open('archive')).get(KEY);
    expect(Buffer.from(value ?? []).toString()).toBe('value>2>3');
    await dir.close();
  });

  it('continue where a failure stopped them', async () => {
    await writeSome({ format: 1 });
    const failing: Migration = { to: 3, run: () => Promise.reject(new Error('disk full')) };
    await expect(upTo(3, [appending(2), failing])).rejects.toThrow('disk full');
    const dir = await upTo(3, [appending(2), appending(3)]);
    const value = await (await dir.open('archive')).get(KEY);
    expect(Buffer.from(value ?? []).toString()).toBe('value>2>3');
    await dir.close();
  });

  it('keep the folder as it was, for the program that wrote it', async () => {
    await writeSome({ format: 1 });
    await writeSome({ format: 1 });
    await (await upTo(3, [appending(2), appending(3)])).close();
    const read = async (folder: string, format: number) => {
      const dir = await DataDir.open(folder, { ...STORAGE, format });
      const value = await (await dir.open('archive')).get(KEY);
      await dir.close();
      return Buffer.from(value ?? []).toString();
    };
    expect(await read(join(path, 'before-format-2'), 1)).toBe('value');
    expect(await read(join(path, 'before-format-3'), 2)).toBe('value>2');
    expect(await read(path, 3)).toBe('value>2>3');
  });

  it('refuse a format that nothing leads to', async () => {
    await writeSome({ format: 1 });
    await expect(upTo(3, [appending(3)])).rejects.toMatchObject({ code: 'data_dir_invalid' });
  });

  it('from format 1 to that of today changes nothing but the format, which a program of format 1 refuses', async () => {
    await writeSome({ format: 1 });
    expect(await readBack()).toBe('value');
    expect(await readMarker(path)).toMatchObject({ format: 3 });
    expect(existsSync(join(path, 'before-format-3'))).toBe(false);
    expect(await readMarker(join(path, 'before-format-2'))).toMatchObject({ format: 1 });
    const older = DataDir.open(path, { ...STORAGE, format: 1 });
    await expect(older).rejects.toMatchObject({
      code: 'data_dir_invalid',
      message: expect.stringContaining('has format 3, and this program knows formats up to 1'),
    });
  });
});
