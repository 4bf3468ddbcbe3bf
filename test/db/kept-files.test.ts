/** What LevelDB found is kept until all of it has been seen in the database, and put back if that was interrupted. */

import { cp, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { folderOf, forgetFiles, inspectDatabase, keepFiles, putBackFiles } from '../../src/db/kept-files.js';
import { u64Key } from '../../src/db/keys.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { readSeal, sealPath } from '../../src/db/seal.js';

const BATCHES = 12;

let root: string;
let path: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tessera-kept-'));
  path = join(root, 'db', 'wallet');
  await make(path);
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

/** A database whose last batches are in the log, with tables that the next opening would join. */
async function make(at: string): Promise<void> {
  for (let opening = 0; opening < 4; opening++) {
    const kv = await LevelKv.open(at, { createIfMissing: opening === 0 });
    for (let n = 0; n < BATCHES / 4; n++) {
      const number = (opening * BATCHES) / 4 + n;
      await kv.write(kv.batch().put(u64Key('n', number), Buffer.alloc(500, number)), { sync: true });
    }
    await kv.close();
  }
}

async function expectWhole(): Promise<void> {
  const kv = await LevelKv.open(path, { createIfMissing: false });
  try {
    for (let n = 0; n < BATCHES; n++) expect(await kv.get(u64Key('n', n))).toEqual(Buffer.alloc(500, n));
  } finally {
    await kv.close();
  }
  expect((await readdir(path)).filter((name) => name.startsWith('before-open'))).toEqual([]);
}

/** Content of the files that hold data. */
async function contents(folder = path): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(folder)).filter((name) => /^(\d+\.(log|ldb)|MANIFEST-\d+|CURRENT)$/.test(name));
  const entries = names.sort().map(async (name) => [name, await readFile(join(folder, name), 'base64')] as const);
  return new Map(await Promise.all(entries));
}

/** What LevelDB does that could not read the last log: it is removed, and the database goes on without it. */
async function openWithoutLogs(): Promise<void> {
  for (const name of await readdir(path)) if (name.endsWith('.log')) await rm(join(path, name));
  const raw = new ClassicLevel(path);
  await raw.open();
  await raw.compactRange(String.fromCharCode(0), String.fromCharCode(127));
  await raw.close();
}

describe('the files of a database that is being opened', () => {
  it('are put back as they were, tables that were joined meanwhile too', async () => {
    const before = await contents();
    await keepFiles(path, 'wallet');
    await openWithoutLogs();
    expect(await contents()).not.toEqual(before);
    await putBackFiles(path, 'wallet', await readSeal(sealPath(path)));
    expect(await contents()).toEqual(before);
    await expectWhole();
  });

  it('are put back by the next opening', async () => {
    await keepFiles(path, 'wallet');
    await openWithoutLogs();
    await expectWhole();
  });

  it('are put back when an earlier attempt has only begun', async () => {
    await keepFiles(path, 'wallet');
    const aside = join(root, 'aside');
    await cp(path, aside, { recursive: true });
    await openWithoutLogs();
    // The logs are back, and CURRENT still names the new MANIFEST.
    for (const name of await readdir(aside)) if (name.endsWith('.log')) await cp(join(aside, name), join(path, name));
    await expectWhole();
  });

  it('are as they were when the process ended before LevelDB had them', async () => {
    await keepFiles(path, 'wallet');
    await expectWhole();
  });

  it.each(['tmp', 'old'])('do not care for what is left of making or removing them (.%s)', async (ending) => {
    await keepFiles(path, 'wallet');
    await rename(join(path, 'before-open'), join(path, `before-open.${ending}`));
    await rm(join(path, `before-open.${ending}`, 'CURRENT'));
    await expectWhole();
  });

  it('are copies, but for the tables, where there are no links', async () => {
    const before = await contents();
    await keepFiles(path, 'wallet');
    const kept = join(path, 'before-open');
    for (const name of before.keys()) {
      await rm(join(kept, name));
      if (!name.endsWith('.ldb')) await cp(join(path, name), join(kept, name));
    }
    for (const name of await readdir(path)) if (name.endsWith('.log')) await rm(join(path, name));
    await putBackFiles(path, 'wallet', await readSeal(sealPath(path)));
    expect(await contents()).toEqual(before);
    await expectWhole();
  });

  it('are what a look at the folder sees, while the node is away', async () => {
    await keepFiles(path, 'wallet');
    await openWithoutLogs();
    expect(await folderOf(path)).toBe(join(path, 'before-open'));
    expect(await inspectDatabase(root, 'wallet', 0)).toBe(BATCHES);
  });

  it('do not replace a database that is newer, which somebody has put there', async () => {
    await keepFiles(path, 'wallet');
    const kept = join(path, 'before-open');
    const aside = join(root, 'before-open');
    await cp(kept, aside, { recursive: true });
    await forgetFiles(path, 'wallet');
    const kv = await LevelKv.open(path, { createIfMissing: false });
    await kv.write(kv.batch().put(u64Key('n', BATCHES), Buffer.from('newer')), { sync: true });
    await kv.close();
    await rename(aside, kept);
    const again = await LevelKv.open(path, { createIfMissing: false });
    expect(await again.get(u64Key('n', BATCHES))).toEqual(Buffer.from('newer'));
    await again.close();
  });

  it('are compared by the last writes, also where batches are so large that only some of their keys are asked for', async () => {
    const kv = await LevelKv.open(path, { createIfMissing: false });
    for (const round of [1, 2]) {
      const batch = kv.batch();
      // Another order each time: what is asked for of the first batch is written again among what is not.
      for (let n = 0; n < 200; n++) batch.put(u64Key('m', (n + round) % 200), Buffer.alloc(20, round));
      await kv.write(batch, { sync: true });
    }
    await kv.close();
    const again = await LevelKv.open(path, { createIfMissing: false });
    for (let n = 0; n < 200; n++) expect(await again.get(u64Key('m', n))).toEqual(Buffer.alloc(20, 2));
    await again.close();
  });

  it('belong to their owner alone', async () => {
    await keepFiles(path, 'wallet');
    expect((await stat(join(path, 'before-open'))).mode & 0o777).toBe(0o700);
  });
});
