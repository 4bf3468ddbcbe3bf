import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/run.js';
import { createContext } from '../support/cli-context.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tessera-rebuild-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function rebuild(role: string, ...more: readonly string[]) {
  const context = createContext();
  const status = await runCli(['rebuild', '--role', role, '--data', join(folder, 'data'), ...more], context);
  return { status, out: context.out(), err: context.err() };
}

describe('rebuild', () => {
  it('makes no archive where there is none, and takes none for a storage node', async () => {
    expect(await rebuild('storage')).toMatchObject({ status: 1, err: expect.stringContaining('data_dir_invalid') });
    expect(await rebuild('storage', '--archive', folder)).toMatchObject({ status: 2 });
  });

  it('makes no wallet where there is none', async () => {
    expect(await rebuild('user')).toMatchObject({ status: 1, err: expect.stringContaining('data_dir_invalid') });
  });

  it('names an archive that is not there, and begins with nothing otherwise', async () => {
    const { status, err } = await rebuild('mempool', '--archive', join(folder, 'none'));
    expect(status).toBe(1);
    expect(err).toContain('there is no archive');
    expect(await rebuild('mempool')).toMatchObject({ status: 0, out: expect.stringContaining('no blocks yet') });
  });
});
