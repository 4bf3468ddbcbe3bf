/**
 * Every file of a database, damaged in every way that disks and people know: the next start refuses by name, or answers
 * exactly what was acknowledged (rule P3). Nothing is ever missing or wrong without a word.
 */

import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { u64Key } from '../../src/db/keys.js';
import type { Kv } from '../../src/db/kv.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { fc, test } from '../support/property.js';

const REFUSALS = ['data_lost', 'data_corrupt'];
const RECORDS = 240;
const BATCHES = 8;
/** Tables of the fixture: at four, LevelDB would begin to join them. */
const TABLES = 3;

let root: string;
/** As kill -9 leaves it: most in tables, the last batches in the log. */
let killed: string;
/** The same database earlier, and another one with as many batches. */
let older: string;
let other: string;
let copies = 0;

const valueFor = (salt: string, n: number): Buffer => Buffer.from(`${salt} ${n} `.repeat(20));

async function writeBatch(kv: Kv, salt: string, batch: number): Promise<void> {
  const size = RECORDS / BATCHES;
  const writes = kv.batch();
  for (let n = batch * size; n < (batch + 1) * size; n++) writes.put(u64Key('n', n), valueFor(salt, n));
  await kv.write(writes, { sync: true });
}

/** Copies an open database with its seal: what another process would find after kill -9. */
async function copyOf(path: string, name: string): Promise<string> {
  const copy = join(root, name, 'db');
  await cp(path, copy, { recursive: true });
  await copyFile(`${path}.seal`, `${copy}.seal`);
  return copy;
}

async function build(salt: string): Promise<{ killed: string; older: string }> {
  const path = join(root, salt, 'db');
  await mkdir(join(root, salt));
  for (let batch = 0; batch < TABLES; batch++) {
    // Each opening moves the log into a table.
    const kv = await LevelKv.open(path, { createIfMissing: batch === 0 });
    await writeBatch(kv, salt, batch);
    await kv.close();
  }
  const kv = await LevelKv.open(path, { createIfMissing: false });
  let early = '';
  for (let batch = TABLES; batch < BATCHES; batch++) {
    if (batch === BATCHES - 1) early = await copyOf(path, `${salt}-older`);
    await writeBatch(kv, salt, batch);
  }
  const late = await copyOf(path, `${salt}-killed`);
  await kv.close();
  return { killed: late, older: early };
}

/** Damages a copy, opens it, and says what became of it; throws when an answer is wrong. */
async function outcome(damage: (path: string) => Promise<void>): Promise<string> {
  copies += 1;
  const path = await copyOf(killed, `copy-${copies}`);
  await damage(path);
  let kv: Kv;
  try {
    kv = await LevelKv.open(path, { createIfMissing: false });
  } catch (error) {
    if (isTesseraError(error) && REFUSALS.includes(error.code)) return error.code;
    throw error;
  }
  try {
    for (let n = 0; n < RECORDS; n++) expect(await kv.get(u64Key('n', n))).toEqual(valueFor('one', n));
    let count = 0;
    for await (const _ of kv.entries({ gte: u64Key('n', 0), lt: u64Key('o', 0) })) count += 1;
    expect(count).toBe(RECORDS);
    return 'healed';
  } finally {
    await kv.close();
    await rm(join(root, `copy-${copies}`), { recursive: true });
  }
}

async function change(file: string, edit: (bytes: Buffer) => Buffer): Promise<void> {
  await writeFile(file, edit(await readFile(file)));
}

const flip =
  (offset: number, bit: number) =>
  (file: string): Promise<void> =>
    change(file, (bytes) => {
      const at = offset % Math.max(bytes.length, 1);
      if (bytes.length > 0) bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
      return bytes;
    });
const cut =
  (count: number) =>
  async (file: string): Promise<void> => {
    await truncate(file, Math.max((await readFile(file)).length - count, 0));
  };

type Damage = (file: string) => Promise<void>;
const DAMAGES: readonly (readonly [string, Damage])[] = [
  ...[1, 2, 7, 8, 20, 33, 63, 64].map((count) => [`cut by ${count} bytes`, cut(count)] as const),
  ['cut in half', (file) => change(file, (bytes) => bytes.subarray(0, bytes.length >> 1))],
  ['emptied', (file) => truncate(file, 0)],
  ['zeroed', (file) => change(file, (bytes) => Buffer.alloc(bytes.length))],
  ['zeroed in its second half', (file) => change(file, (bytes) => Buffer.from(bytes).fill(0, bytes.length >> 1))],
  ['deleted', (file) => rm(file)],
  ['with a byte appended', (file) => change(file, (bytes) => Buffer.concat([bytes, Uint8Array.of(1)]))],
];

/** Files that hold data; LOCK and LOG hold none. */
const names = async (path: string, ending: RegExp): Promise<string[]> =>
  (await readdir(path)).filter((name) => ending.test(name)).sort();

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'tessera-damage-'));
  ({ killed, older } = await build('one'));
  ({ killed: other } = await build('two'));
});
afterAll(async () => {
  await rm(root, { recursive: true });
});

describe('a damaged database (rule P3)', () => {
  it('is what the others start from: sound, with tables and a log', async () => {
    expect(await outcome(async () => undefined)).toBe('healed');
    expect(await names(killed, /\.ldb$/)).toHaveLength(TABLES);
    expect(await names(killed, /\.log$/)).toHaveLength(1);
  });

  describe.each(DAMAGES)('%s', (_, damage) => {
    it('is refused: the log, the only place of acknowledged writes', async () => {
      const [log = ''] = await names(killed, /\.log$/);
      const result = await outcome((path) => damage(join(path, log)));
      if (_ === 'with a byte appended') expect(result).toBe('healed');
      else expect(result).toMatch(/^data_/);
    });

    it('is refused: each table', async () => {
      for (const table of await names(killed, /\.ldb$/)) {
        expect(await outcome((path) => damage(join(path, table)))).toMatch(/^data_/);
      }
    });

    it('is refused or harmless: MANIFEST and CURRENT', async () => {
      for (const name of await names(killed, /^(MANIFEST|CURRENT)/)) await outcome((path) => damage(join(path, name)));
    });

    it('is harmless: the seal, while the database is sound', async () => {
      expect(await outcome((path) => damage(`${path}.seal`))).toBe('healed');
    });
  });

  it('is refused when logs are swapped, with one of another database or an older one of its own', async () => {
    const [log = ''] = await names(killed, /\.log$/);
    const [foreign = ''] = await names(other, /\.log$/);
    const [early = ''] = await names(older, /\.log$/);
    expect(await outcome((path) => copyFile(join(other, foreign), join(path, log)))).toBe('data_corrupt');
    expect(await outcome((path) => copyFile(join(older, early), join(path, log)))).toBe('data_lost');
  });

  it('is refused when two tables are swapped', async () => {
    const [a = '', b = ''] = await names(killed, /\.ldb$/);
    const swap = async (path: string): Promise<void> => {
      await copyFile(join(killed, a), join(path, b));
      await copyFile(join(killed, b), join(path, a));
    };
    expect(await outcome(swap)).toBe('data_corrupt');
  });

  it('is refused when the whole of it is an older copy', async () => {
    const restore = async (path: string): Promise<void> => {
      await rm(path, { recursive: true });
      await cp(older, path, { recursive: true });
    };
    expect(await outcome(restore)).toBe('data_lost');
  });

  it('is refused when it is another database', async () => {
    const exchange = async (path: string): Promise<void> => {
      await rm(path, { recursive: true });
      await cp(other, path, { recursive: true });
    };
    expect(await outcome(exchange)).toBe('data_corrupt');
  });

  it('says how much is gone, and never to remove the folder', async () => {
    copies += 1;
    const path = await copyOf(killed, `copy-${copies}`);
    const [log = ''] = await names(path, /\.log$/);
    await cut(1)(join(path, log));
    const error = await LevelKv.open(path, { createIfMissing: false }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'data_lost', details: { lost: 1 } });
    expect(String(error)).toContain('has lost 1 of the 8 writes that were acknowledged');
    expect(String(error)).not.toMatch(/remove|delete/);
  });

  const damage = fc.oneof(
    fc.tuple(fc.nat(200_000), fc.nat(7)).map(([offset, bit]) => flip(offset, bit)),
    fc.integer({ min: 1, max: 64 }).map(cut),
    fc.nat(200_000).map((count) => cut(count)),
  );
  test.prop([fc.nat(50), damage], { numRuns: 150 })(
    'gives no wrong answer: any file, any bit, any cut',
    async (which, apply) => {
      const files = [...(await names(killed, /^(\d+\.(log|ldb)|MANIFEST-\d+|CURRENT)$/)), '../db.seal'];
      const file = files[which % files.length] ?? '';
      await outcome((path) => apply(join(path, file)));
    },
  );
});
