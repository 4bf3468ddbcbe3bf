import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeFileDurable } from '../../src/db/write-file-durable.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-file-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

describe('writeFileDurable', () => {
  it('writes the bytes with exactly the permissions asked for', async () => {
    const path = join(folder, 'key');
    await writeFileDurable(path, Buffer.from('secret'), 0o600);
    expect(await readFile(path, 'utf8')).toBe('secret');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('replaces an older file and its permissions', async () => {
    const path = join(folder, 'key');
    await writeFileDurable(path, Buffer.from('old and longer'), 0o600);
    await chmod(path, 0o644);
    await writeFileDurable(path, Buffer.from('new'), 0o600);
    expect(await readFile(path, 'utf8')).toBe('new');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('leaves no temporary file behind, also when it fails', async () => {
    await mkdir(join(folder, 'taken'));
    await mkdir(join(folder, 'taken', 'inside'));
    await expect(writeFileDurable(join(folder, 'taken'), Buffer.from('x'), 0o600)).rejects.toThrow();
    await writeFileDurable(join(folder, 'fine'), Buffer.from('x'), 0o600);
    expect((await readdir(folder)).sort()).toEqual(['fine', 'taken']);
  });

  it('ends in one of two contents written at once', async () => {
    const path = join(folder, 'key');
    const contents = ['a'.repeat(100_000), 'b'.repeat(50_000)];
    await Promise.all(contents.map((text) => writeFileDurable(path, Buffer.from(text), 0o600)));
    expect(contents).toContain(await readFile(path, 'utf8'));
  });
});
