/** What is known of a database that was put aside, also when its disk fails while it is looked at (docs/adr/0015, rule P3). */

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { DataDir } from '../../src/db/data-dir.js';
import { damagedFolders } from '../../src/db/put-aside.js';
import { examine, readWhatCan } from '../../src/db/salvage-facts.js';
import { utf8 } from '../../src/lib/bytes.js';

const WRITES = 5;
const failing = (): Promise<Buffer> => Promise.reject(Object.assign(new Error('i/o error, read'), { code: 'EIO' }));

let path: string;
let folder: string;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'tessera-facts-'));
  const directory = await DataDir.open(path, { role: 'storage', networkName: 'test' });
  const kv = await directory.open('archive');
  for (let i = 0; i < WRITES; i++) await kv.write(kv.batch().put(utf8(`${i}`), utf8('value')), { sync: true });
  await directory.putAside('archive');
  await directory.close();
  [folder = ''] = await damagedFolders(path, 'archive');
});

afterEach(() => rm(path, { recursive: true }));

const logOf = async (): Promise<string> =>
  join(folder, (await readdir(folder)).find((name) => name.endsWith('.log')) ?? '');

it('a sound database has lost nothing of what was acknowledged', async () => {
  expect((await examine(folder)).facts).toMatchObject({ acknowledged: WRITES, lost: 0 });
});

it('one without the end of its log says how much', async () => {
  const bytes = await readFile(await logOf());
  await writeFile(await logOf(), bytes.subarray(0, bytes.length - 10));
  expect((await examine(folder)).facts).toMatchObject({ acknowledged: WRITES, lost: 1 });
});

it('what the disk does not give back for a moment is not counted as lost', async () => {
  const read = (file: string) => (file.endsWith('.log') ? readWhatCan(file, failing) : readWhatCan(file));
  const { facts } = await examine(folder, async (file) => {
    const { content, isWhole } = await read(file);
    return { content: isWhole ? content : Buffer.alloc(content.length), isWhole };
  });
  expect(facts).toMatchObject({ acknowledged: WRITES, lost: null });
});

it('a file that cannot be read whole is read in pieces', async () => {
  expect(await readWhatCan(await logOf(), failing)).toEqual({ content: await readFile(await logOf()), isWhole: false });
  const refused = (): Promise<Buffer> =>
    Promise.reject(Object.assign(new Error('too many open files'), { code: 'EMFILE' }));
  await expect(readWhatCan(await logOf(), refused)).rejects.toThrow('too many open files');
});
