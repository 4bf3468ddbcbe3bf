import { appendFile, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Level } from 'level';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { textKey, u64Key } from '../../src/db/keys.js';
import type { Kv } from '../../src/db/kv.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { recordOf } from './incompressible.js';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-level-'));
  path = join(folder, 'archive');
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A database of 200 records in two batches, closed again: everything is in its log. */
async function writeSome(): Promise<void> {
  const kv = await LevelKv.open(path, { createIfMissing: true });
  await writePart(kv, 0);
  await writePart(kv, 1);
  await kv.close();
}

async function writePart(kv: Kv, part: number): Promise<void> {
  const batch = kv.batch();
  for (let i = 0; i < 100; i++) batch.put(u64Key('n', part * 100 + i), Buffer.alloc(500, i));
  await kv.write(batch, { sync: true });
}

/** The same, ended by a crash that came before the second batch was acknowledged. */
async function crashInSecondPart(): Promise<void> {
  const kv = await LevelKv.open(path, { createIfMissing: true });
  await writePart(kv, 0);
  const seal = await readFile(`${path}.seal`);
  await writePart(kv, 1);
  await kv.close();
  await writeFile(`${path}.seal`, seal);
}

async function file(ending: string): Promise<string> {
  const names = (await readdir(path)).filter((name) => name.endsWith(ending)).sort();
  return join(path, names.at(-1) ?? '');
}

async function flipBit(name: string, offset: number): Promise<void> {
  const bytes = await readFile(name);
  bytes[offset] = (bytes[offset] ?? 0) ^ 4;
  await writeFile(name, bytes);
}

/** Opening moves what is in the log into a table. */
async function moveToTable(): Promise<void> {
  const raw = new Level(path);
  await raw.open();
  await raw.close();
}

const reopen = () => LevelKv.open(path, { createIfMissing: false });

describe('LevelDB, damaged (rule P3)', () => {
  it('names key and database when a record fails its checksum', async () => {
    await writeSome();
    const raw = new Level<Uint8Array, Uint8Array>(path, { keyEncoding: 'view', valueEncoding: 'view' });
    await raw.put(textKey('h', 'hash'), Buffer.from('a value without its checksum'));
    await raw.close();
    await moveToTable();
    const kv = await reopen();
    const read = kv.get(textKey('h', 'hash'));
    await expect(read).rejects.toMatchObject({ code: 'data_corrupt', message: expect.stringContaining('hhash') });
    await expect(kv.getMany([textKey('h', 'hash')])).rejects.toThrow('database archive');
    const iterate = async () => {
      for await (const _ of kv.entries({ gte: textKey('h', ''), lt: textKey('i', '') }));
    };
    await expect(iterate()).rejects.toMatchObject({ code: 'data_corrupt' });
    await kv.close();
  });

  it('refuses a record that was moved to another key', async () => {
    await writeSome();
    const raw = new Level<Uint8Array, Uint8Array>(path, { keyEncoding: 'view', valueEncoding: 'view' });
    const record = await raw.get(u64Key('n', 1));
    await raw.put(u64Key('n', 2), record ?? new Uint8Array());
    await raw.close();
    await moveToTable();
    const kv = await reopen();
    await expect(kv.get(u64Key('n', 2))).rejects.toMatchObject({ code: 'data_corrupt' });
    await kv.close();
  });

  it('refuses one flipped bit anywhere in the middle of the log', async () => {
    await writeSome();
    const log = await file('.log');
    const { length } = await readFile(log);
    for (const offset of [1, 4, 6, 40, 32 * 1024, 50_000, length - 60_000]) {
      await flipBit(log, offset);
      await expect(reopen(), `bit of byte ${offset}`).rejects.toMatchObject({ code: 'data_corrupt' });
      await flipBit(log, offset);
    }
    await (await reopen()).close();
  });

  it('refuses one flipped bit in the last record of the log', async () => {
    await writeSome();
    const log = await file('.log');
    await flipBit(log, (await readFile(log)).length - 10);
    await expect(reopen()).rejects.toMatchObject({ code: 'data_corrupt' });
  });

  it.each([
    ['a cut last record', async (log: string) => truncate(log, (await readFile(log)).length - 100)],
    ['a last header cut in two', async (log: string) => appendFile(log, Uint8Array.of(1, 2, 3))],
    ['space that was reserved but never written', async (log: string) => appendFile(log, new Uint8Array(9_000))],
    [
      'a last record whose end never reached the disk',
      async (log: string) => {
        const bytes = await readFile(log);
        bytes.fill(0, bytes.length - 2_000);
        await writeFile(log, bytes);
      },
    ],
  ])('opens after a crash that left %s, with all records before it (rule P7)', async (_, tear) => {
    await crashInSecondPart();
    await tear(await file('.log'));
    for (let round = 0; round < 2; round++) {
      const kv = await reopen();
      expect(await kv.get(u64Key('n', 99))).toEqual(Buffer.alloc(500, 99));
      await kv.close();
    }
  });

  it('refuses one flipped bit anywhere in a table, of data, filter or index', async () => {
    await writeSome();
    await (await reopen()).close();
    const table = await file('.ldb');
    const { length } = await readFile(table);
    // The last 48 bytes are the footer, which is mostly padding.
    for (let offset = 3; offset < length - 48; offset += 101) {
      await flipBit(table, offset);
      await expect(reopen(), `bit of byte ${offset}`).rejects.toMatchObject({ code: 'data_corrupt' });
      await flipBit(table, offset);
    }
    await (await reopen()).close();
  });

  it('accepts what it wrote itself: many tables, compressed and not, and one that a crash left unfinished', async () => {
    const kv = await LevelKv.open(path, { createIfMissing: true });
    for (let part = 0; part < 40; part++) {
      const batch = kv.batch();
      for (let i = 0; i < 100; i++) {
        // So much that does not compress that no compaction could put it into one table.
        const value = part % 2 === 0 ? Buffer.alloc(3_000, i) : recordOf(part * 100 + i);
        batch.put(textKey('k', `${(part * 7919 + i * 31) % 4_000} of ${part}`), value);
      }
      await kv.write(batch, { sync: false });
    }
    await kv.close();
    await writeFile(join(path, '999999.ldb'), 'unfinished');
    for (let round = 0; round < 3; round++) await (await reopen()).close();
    expect((await readdir(path)).filter((name) => name.endsWith('.ldb')).length).toBeGreaterThan(1);
  });

  it.each(['CURRENT', 'MANIFEST'])('refuses a database whose %s is gone', async (name) => {
    await writeSome();
    const names = (await readdir(path)).filter((candidate) => candidate.startsWith(name));
    for (const found of names) await rm(join(path, found));
    await expect(reopen()).rejects.toMatchObject({ code: 'data_lost', message: expect.stringContaining('archive') });
  });

  it('refuses a database that is gone altogether', async () => {
    await expect(reopen()).rejects.toMatchObject({ code: 'data_lost' });
  });

  it('refuses a database whose table is gone', async () => {
    await writeSome();
    await (await reopen()).close();
    await rm(await file('.ldb'));
    await expect(reopen()).rejects.toMatchObject({ code: 'data_lost' });
  });

  it('says data_dir_locked when it is open already', async () => {
    const kv = await LevelKv.open(path, { createIfMissing: true });
    await expect(reopen()).rejects.toMatchObject({ code: 'data_dir_locked' });
    await kv.close();
  });

  it('says database_failed when the system refuses', async () => {
    await writeFile(path, 'a file in its place');
    await expect(LevelKv.open(path, { createIfMissing: true })).rejects.toMatchObject({ code: 'database_failed' });
  });
});

describe('a database that is closed', () => {
  it('has a large buffer in a table, which the next start need not read from the log', async () => {
    const kv = await LevelKv.open(path, { createIfMissing: true, writeBufferMib: 64 });
    for (let part = 0; part < 8; part++) {
      const batch = kv.batch();
      for (let i = 0; i < 1_000; i++) batch.put(u64Key('n', part * 1_000 + i), recordOf(i));
      await kv.write(batch, { sync: part === 7 });
    }
    await kv.close();
    expect((await stat(await file('.log'))).size).toBeLessThan(1024 * 1024);
    const again = await reopen();
    expect(recordOf(999).equals((await again.get(u64Key('n', 7_999))) ?? Buffer.alloc(0))).toBe(true);
    await again.close();
  });

  it('leaves a small one in the log', async () => {
    await writeSome();
    expect((await stat(await file('.log'))).size).toBeGreaterThan(100_000);
  });
});

describe('a batch of very many writes', () => {
  it('is handed over in pieces, with other work between them, and written as one', async () => {
    const kv = await LevelKv.open(path, { createIfMissing: true });
    let rounds = 0;
    let isWriting = true;
    const count = (): void => {
      rounds++;
      if (isWriting) setImmediate(count);
    };
    const batch = kv.batch();
    for (let i = 0; i < 20_000; i++) batch.put(u64Key('n', i), Buffer.alloc(20, i));
    for (let i = 0; i < 20_000; i += 2) batch.del(u64Key('n', i));
    setImmediate(count);
    await kv.write(batch, { sync: true });
    isWriting = false;
    expect(rounds).toBeGreaterThan(50);
    await kv.close();
    // Its files are checked against its digest.
    const again = await reopen();
    expect(await again.get(u64Key('n', 0))).toBeUndefined();
    expect([...((await again.get(u64Key('n', 19_999))) ?? [])]).toEqual([...Buffer.alloc(20, 19_999)]);
    await again.close();
  });
});
