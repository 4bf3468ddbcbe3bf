/** Folders with keys in them: who may read them, and what is left to whoever mounted it there. */

import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { makePrivate } from '../../src/db/write-file-durable.js';

const { readOnly } = vi.hoisted(() => ({ readOnly: new Set<string>() }));

// A mount takes rights that a test may not have: what such a mount answers is played.
vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>();
  return {
    ...real,
    chmod: async (path: string, mode: number) => {
      if (readOnly.has(path)) throw Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' });
      await real.chmod(path, mode);
    },
  };
});

let folder: string;
const modeOf = async (...names: string[]): Promise<number> => (await stat(join(folder, ...names))).mode & 0o777;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-private-'));
  await mkdir(join(folder, 'db'), { mode: 0o755 });
  for (const name of ['api-key', 'db/000001.log']) await writeFile(join(folder, name), 'x', { mode: 0o644 });
  await chmod(folder, 0o755);
});

afterEach(async () => {
  readOnly.clear();
  await rm(folder, { recursive: true });
});

describe('a folder that is made private', () => {
  it("is its owner's alone, with everything in it", async () => {
    await makePrivate(folder);
    expect([await modeOf(), await modeOf('db'), await modeOf('api-key'), await modeOf('db', '000001.log')]).toEqual([
      0o700, 0o700, 0o600, 0o600,
    ]);
  });

  it('may have a file in it that is mounted read-only, as a container has its secrets', async () => {
    readOnly.add(join(folder, 'api-key'));
    await makePrivate(folder);
    expect([await modeOf('api-key'), await modeOf('db', '000001.log')]).toEqual([0o644, 0o600]);
  });

  it('is refused when it is read-only itself', async () => {
    readOnly.add(folder);
    await expect(makePrivate(folder)).rejects.toMatchObject({ code: 'data_dir_invalid' });
  });
});
