/** `tessera backup` and `tessera restore` as commands: passphrases, signals, what is printed. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/run.js';
import { BackupStore } from '../../src/db/backup/backup-store.js';
import { DataDir } from '../../src/db/data-dir.js';
import { utf8 } from '../../src/lib/bytes.js';
import { systemRandom } from '../../src/lib/random.js';
import { createContext, type TestContext } from '../support/cli-context.js';

const PASSPHRASE = 'the words of the wallet';
let root: string;
let config: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tessera-cli-backup-'));
  config = join(root, 'user.toml');
  writeFileSync(join(root, 'words'), PASSPHRASE);
  writeConfig('words');
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function writeConfig(words: string, data = 'data'): void {
  const lines = [
    '[node]',
    'role = "user"',
    `data_dir = "${join(root, data)}"`,
    '[wallet]',
    `passphrase_file = "${words}"`,
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
}

async function makeData(records: number): Promise<void> {
  const directory = await DataDir.open(join(root, 'data'), { role: 'user', networkName: 'tessera-local' });
  const kv = await directory.open('wallet');
  for (let i = 0; i < records; i++) await kv.write(kv.batch().put(utf8(`${i}`), utf8('value')), { sync: true });
  await directory.close();
}

async function run(args: readonly string[], env = {}, onStart: (context: TestContext) => unknown = () => undefined) {
  const context = createContext(env);
  const status = runCli([...args, '--config', config], context);
  await onStart(context);
  return { status: await status, out: context.out(), err: context.err() };
}

const backups = () => join(root, 'backups');

/** A folder for backups that is opened for less than half a second of processor time each time. */
async function cheapFolder(): Promise<void> {
  const owner = { role: 'user', networkName: 'tessera-local', isSealed: true };
  const options = { ...owner, passphrase: async () => PASSPHRASE, scryptCost: { n: 16, r: 1, p: 1 } };
  await (await BackupStore.openToWrite(backups(), options, { random: systemRandom })).close();
}

describe('backup and restore of a wallet', () => {
  it('take the passphrase of the wallet, and go on taking it when the wallet has another', async () => {
    await cheapFolder();
    await makeData(3);
    const first = await run(['backup', backups(), '--json']);
    expect({ status: first.status, err: first.err }).toEqual({ status: 0, err: '' });
    expect(JSON.parse(first.out)).toMatchObject({ folder: backups(), removed: [] });
    writeFileSync(join(root, 'words'), 'other words');
    expect(await run(['backup', backups()])).toMatchObject({
      status: 1,
      err: expect.stringContaining('wrong_passphrase'),
    });
    writeFileSync(join(root, 'old-words'), PASSPHRASE);
    expect((await run(['backup', backups(), '--passphrase-file', join(root, 'old-words')])).status).toBe(0);
    expect((await run(['backup', backups(), '--keep', '1'], { TESSERA_BACKUP_PASSPHRASE: PASSPHRASE })).status).toBe(0);
    const listed = await run(['restore', backups(), '--list', '--json'], { TESSERA_BACKUP_PASSPHRASE: PASSPHRASE });
    expect(JSON.parse(listed.out)).toHaveLength(1);
  });

  it('bring back what was there, and refuse to write over it', async () => {
    await cheapFolder();
    await makeData(3);
    await run(['backup', backups()]);
    expect(await run(['restore', backups()])).toMatchObject({
      status: 1,
      err: expect.stringContaining('is not empty'),
    });
    writeConfig('words', 'new');
    expect(await run(['restore', backups()])).toMatchObject({ status: 0, err: '' });
    expect((await run(['verify'])).out).toContain('wallet: 3 records');
    const marker = (folder: string) => readFileSync(join(root, folder, 'tessera.json'), 'utf8');
    expect(marker('new')).toBe(marker('data'));
  });

  it('end at a signal, with nothing to clean up', async () => {
    await makeData(3);
    // Opening moves the log into a table, before which the command looks for the signal.
    await makeData(1);
    const stopped = await run(['backup', backups()], {}, async (context) => {
      await expect.poll(() => context.listeners(), { interval: 1 }).toBe(2);
      context.raise('SIGINT');
    });
    expect(stopped).toMatchObject({ status: 1, err: expect.stringContaining('aborted') });
    expect((await run(['restore', backups(), '--list'])).out).toBe('');
    expect((await run(['backup', backups()])).status).toBe(0);
  });

  it.each([
    [['backup'], 2, 'DIR is missing'],
    [['restore', 'nowhere'], 1, 'backup_invalid'],
    [['backup', 'x', '--keep', '0'], 2, '--keep must be'],
  ])('refuse %j', async (args, status, message) => {
    expect(await run(args)).toMatchObject({ status, err: expect.stringContaining(message) });
  });
});
