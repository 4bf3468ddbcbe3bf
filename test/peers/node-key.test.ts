import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { toHex } from '../../src/lib/bytes.js';
import { systemRandom } from '../../src/lib/random.js';
import { loadOrCreateNodeKey } from '../../src/peers/node-key.js';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-key-'));
  path = join(folder, 'node-key');
});
afterEach(() => rm(folder, { recursive: true }));

it('makes a key once and reads it from then on', async () => {
  const made = await loadOrCreateNodeKey(path, systemRandom);
  expect(await loadOrCreateNodeKey(path, systemRandom)).toEqual(made);
  expect((await readFile(path, 'utf8')).trim()).toBe(toHex(made.seed));
});

it('keeps the file to its owner, also when it was opened to others', async () => {
  await loadOrCreateNodeKey(path, systemRandom);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await chmod(path, 0o644);
  await loadOrCreateNodeKey(path, systemRandom);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

it('does not replace a damaged key by a new one, and shows nothing of it', async () => {
  await writeFile(path, 'abcdef');
  const error: unknown = await loadOrCreateNodeKey(path, systemRandom).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'data_corrupt' });
  expect(String(error)).not.toContain('abcdef');
  expect(await readFile(path, 'utf8')).toBe('abcdef');
});
