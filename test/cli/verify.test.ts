import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Level } from 'level';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startProgress } from '../../src/cli/output.js';
import { runCli } from '../../src/cli/run.js';
import { DataDir } from '../../src/db/data-dir.js';
import { utf8 } from '../../src/lib/bytes.js';
import { createContext } from '../support/cli-context.js';
import { ManualClock } from '../support/manual-clock.js';

const RECORDS = 3;
let folder: string;

beforeEach(async () => {
  folder = join(mkdtempSync(join(tmpdir(), 'tessera-verify-')), 'data');
  const directory = await DataDir.open(folder, { role: 'user', networkName: 'tessera-local' });
  const kv = await directory.open('wallet');
  const batch = kv.batch();
  for (let i = 0; i < RECORDS; i++) batch.put(utf8(`key ${i}`), utf8('value'));
  await kv.write(batch, { sync: true });
  await directory.close();
});

afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

async function verify(data = folder) {
  const context = createContext();
  const status = await runCli(['verify', '--role', 'user', '--data', data], context);
  return { status, out: context.out(), err: context.err() };
}

describe('verify', () => {
  it('counts the records whose checksum is right', async () => {
    expect(await verify()).toMatchObject({ status: 0, out: `wallet: ${RECORDS} records, all checksums right\n` });
  });

  it('finds a record that was changed on disk (rule P3)', async () => {
    const raw = new Level<Uint8Array, Uint8Array>(join(folder, 'db', 'wallet'), {
      keyEncoding: 'view',
      valueEncoding: 'view',
    });
    const value = (await raw.get(utf8('key 1'))) ?? new Uint8Array();
    await raw.put(
      utf8('key 1'),
      value.map((byte, index) => (index === 0 ? byte ^ 1 : byte)),
    );
    await raw.close();
    const { status, err } = await verify();
    expect(status).toBe(1);
    expect(err).toMatch(/^tessera: data_corrupt: /);
  });

  it.each<[string, (file: string, bytes: Buffer) => void]>([
    ['deleted', (file) => rmSync(file)],
    ['emptied', (file) => writeFileSync(file, '')],
    ['zeroed', (file, bytes) => writeFileSync(file, bytes.fill(0))],
    ['cut in half', (file, bytes) => writeFileSync(file, bytes.subarray(0, bytes.length >> 1))],
  ])('finds a log that was %s, and does not advise to remove a wallet', async (_, damage) => {
    const store = join(folder, 'db', 'wallet');
    const log = join(store, readdirSync(store).find((name) => name.endsWith('.log')) ?? '');
    damage(log, readFileSync(log));
    const { status, err } = await verify();
    expect(status).toBe(1);
    expect(err).toMatch(/^tessera: (data_lost|data_corrupt): /);
    expect(err).not.toMatch(/remove the folder|delete the folder/i);
  });

  it('refuses a folder that a node uses (rule P5)', async () => {
    const directory = await DataDir.open(folder, { role: 'user', networkName: 'tessera-local' });
    expect(await verify()).toMatchObject({ status: 1, err: expect.stringContaining('data_dir_locked') });
    await directory.close();
  });

  it('makes nothing where there is nothing', async () => {
    const missing = join(folder, 'missing');
    expect(await verify(missing)).toMatchObject({ status: 1, err: expect.stringContaining('does not exist') });
    expect(await verify(missing)).toMatchObject({ status: 1, err: expect.stringContaining('does not exist') });
  });
});

describe('progress', () => {
  it('is a line every five seconds where there is no terminal', () => {
    const clock = new ManualClock();
    const context = createContext();
    const progress = startProgress('blocks', 'blocks', context, clock);
    progress.update(1, 100);
    clock.advance(5_000);
    progress.update(50, 100);
    progress.update(51, 100);
    progress.end();
    expect(context.err()).toBe('blocks: 50 %, 50 of 100 blocks, 10 blocks/s, 5 s left\n');
  });
});
