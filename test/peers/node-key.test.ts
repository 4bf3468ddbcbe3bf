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
  expect(await readFile(path, 'utf8')).toBe(`${toHex(made.seed)}\n${toHex(made.publicKey)}\n`);
});

it('refuses a key with a digit that has changed: its peers would not know the node (rule P3)', async () => {
  await loadOrCreateNodeKey(path, systemRandom);
  const whole = await readFile(path, 'utf8');
  for (const at of [0, 63, 65, 128]) {
    const digit = whole[at] === '0' ? '1' : '0';
    await writeFile(path, `${whole.slice(0, at)}${digit}${whole.slice(at + 1)}`);
    await expect(loadOrCreateNodeKey(path, systemRandom)).rejects.toMatchObject({ code: 'data_corrupt' });
  }
});

it('reads a key that was written without its public key, and completes it', async () => {
  const made = await loadOrCreateNodeKey(path, systemRandom);
  const whole = await readFile(path, 'utf8');
  await writeFile(path, `${toHex(made.seed)}\n`);
  expect(await loadOrCreateNodeKey(path, systemRandom)).toEqual(made);
  expect(await readFile(path, 'utf8')).toBe(whole);
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
