/** Backups of a data folder that is being written to, and restores of them: everything that can go wrong on the way. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BackupStore, type BackupStoreOptions } from '../../src/db/backup/backup-store.js';
import { restoreBackup } from '../../src/db/backup/restore-backup.js';
import { type TakeBackupOptions, takeBackup } from '../../src/db/backup/take-backup.js';
import { DataDir } from '../../src/db/data-dir.js';
import { keepFiles } from '../../src/db/kept-files.js';
import { prefixRange, readU64, u64Key } from '../../src/db/keys.js';
import { utf8 } from '../../src/lib/bytes.js';
import { systemRandom } from '../../src/lib/random.js';
import { builtScript } from '../support/built-script.js';
import { recordOf } from './incompressible.js';

const OWNER = { role: 'mempool', networkName: 'test' } as const;
const CHEAP = { n: 2, r: 1, p: 1 };
const NOW = Date.UTC(2026, 10, 22, 1, 37, 48, 123);
const SECRET = utf8('the words that open everything');

let root: string;
let data: string;
let backups: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tessera-backup-'));
  data = join(root, 'data');
  backups = join(root, 'backups');
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(root, { recursive: true });
});

function storeOptions(change: Partial<BackupStoreOptions> = {}): BackupStoreOptions {
  return { ...OWNER, isSealed: false, passphrase: async () => 'open', scryptCost: CHEAP, ...change };
}

async function withStore<T>(
  work: (store: BackupStore) => Promise<T>,
  change: Partial<BackupStoreOptions> = {},
): Promise<T> {
  const store = await BackupStore.openToWrite(backups, storeOptions(change), { random: systemRandom });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

function take(change: Partial<TakeBackupOptions> = {}, options: Partial<BackupStoreOptions> = {}) {
  const signal = new AbortController().signal;
  const defaults = { dataDir: data, ...OWNER, lastDatabase: 'ledger', program: '0', now: NOW, signal };
  return withStore((store) => takeBackup({ ...defaults, onProgress: () => undefined, ...change }, store), options);
}

async function restore(
  to: string,
  backup: string,
  change: Partial<Parameters<typeof restoreBackup>[0]> = {},
  options: Partial<BackupStoreOptions> = {},
) {
  const store = await BackupStore.openToRead(backups, storeOptions(options), { random: systemRandom });
  const signal = new AbortController().signal;
  return restoreBackup({ backup, dataDir: to, signal, onProgress: () => undefined, ...change }, store);
}

/** A folder with some tables, a log and small files. */
async function makeFolder(rounds = 3): Promise<void> {
  const directory = await DataDir.open(data, OWNER);
  for (const name of ['journal', 'ledger', 'state']) await directory.open(name);
  await directory.close();
  await addRecords(0, rounds);
  await writeFile(join(data, 'node-key'), SECRET, { mode: 0o600 });
}

const PER_ROUND = 400;

async function addRecords(from: number, rounds: number): Promise<void> {
  for (let round = from; round < from + rounds; round++) {
    // Opening moves the log into a table.
    const directory = await DataDir.open(data, OWNER);
    const ledger = await directory.open('ledger');
    for (let i = 0; i < PER_ROUND; i += 100) {
      const batch = ledger.batch();
      for (let n = round * PER_ROUND + i; n < round * PER_ROUND + i + 100; n++) batch.put(u64Key('n', n), recordOf(n));
      await ledger.write(batch, { sync: true });
    }
    await directory.close();
  }
}

async function recordsIn(folder: string): Promise<number> {
  const directory = await DataDir.open(folder, OWNER);
  try {
    const ledger = await directory.open('ledger');
    let n = 0;
    for await (const [key, value] of ledger.entries(prefixRange('n'))) {
      if (readU64(key, 1) !== n || !recordOf(n).equals(value)) expect.fail(`record ${n} is another one`);
      n += 1;
    }
    return n;
  } finally {
    await directory.close();
  }
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('lock'))
    .map((entry) => join(entry.parentPath, entry.name));

describe('a backup of a node that writes', () => {
  let acknowledged = -1;

  async function write(start: number): Promise<ChildProcess> {
    const child = fork(await builtScript(new URL('./write-while-backed-up.ts', import.meta.url)), [
      data,
      String(start),
    ]);
    children.push(child);
    child.on('message', (n: number) => {
      acknowledged = n;
    });
    await once(child, 'message');
    return child;
  }

  const reached = (n: number) => expect.poll(() => acknowledged, { timeout: 60_000, interval: 5 }).toBeGreaterThan(n);

  async function checkRestored(name: string, atLeast: number): Promise<void> {
    const folder = join(root, name);
    await restore(folder, name);
    const directory = await DataDir.open(folder, OWNER);
    const ledger = await directory.open('ledger');
    const head = readU64((await (await directory.open('state')).get(utf8('head'))) ?? new Uint8Array(8), 0);
    let last = 0;
    for await (const [key] of (await directory.open('journal')).entries(prefixRange('e'))) last = readU64(key, 1);
    expect(last).toBeGreaterThanOrEqual(atLeast);
    // The state is never ahead of what it follows from.
    expect(await ledger.get(u64Key('n', head))).toBeDefined();
    let n = 0;
    for await (const [key] of ledger.entries(prefixRange('n'))) {
      if (readU64(key, 1) !== n) expect.fail(`record ${n} of ${atLeast} is missing`);
      n += 1;
    }
    expect(n).toBeGreaterThan(atLeast);
    await directory.close();
    rmSync(folder, { recursive: true });
  }

  it('has all that was there before an opening that was interrupted, whatever LevelDB has removed', async () => {
    await makeFolder();
    const ledger = join(data, 'db', 'ledger');
    await keepFiles(ledger, 'ledger');
    for (const name of readdirSync(ledger)) if (/\.(log|ldb)$/.test(name)) rmSync(join(ledger, name));
    const { name } = await take();
    await restore(join(root, 'restored'), name);
    expect(await recordsIn(join(root, 'restored'))).toBe(3 * PER_ROUND);
  });

  it('has all that was acknowledged before it began, whatever the writer does meanwhile (rule P1)', async () => {
    await write(0);
    const taken: [name: string, atLeast: number][] = [];
    for (let i = 1; i <= 5; i++) {
      await reached(i * 1_000);
      const atLeast = acknowledged;
      taken.push([(await take({ now: NOW + i })).name, atLeast]);
    }
    // The writer went on, through logs and tables that came and went.
    await reached((taken.at(-1)?.[1] ?? 0) + 1);
    for (const [name, atLeast] of taken) await checkRestored(name, atLeast);
  });

  it('is the same of a node that was killed, and the next one is, too (rule P7)', async () => {
    const child = await write(0);
    await reached(2_000);
    const gone = once(child, 'exit');
    const first = take();
    child.kill('SIGKILL');
    await gone;
    const atLeast = acknowledged;
    const { name } = await first;
    // The kill came in the middle of this one, so all that is sure is that it can be restored.
    await checkRestored(name, 2_000);
    await checkRestored((await take({ now: NOW + 1 })).name, atLeast);
  });
});

describe('the next backup', () => {
  it('copies only what is new, and both can be restored', async () => {
    // Few enough that LevelDB merges none of them.
    await makeFolder(2);
    const first = await take();
    await addRecords(2, 1);
    const second = await take({ now: NOW + 1 });
    expect(first.newBytes).toBeGreaterThan(2 * PER_ROUND * 4_096);
    expect(second.newBytes).toBeLessThan(2.2 * PER_ROUND * 4_096);
    await restore(join(root, 'one'), first.name);
    await restore(join(root, 'two'), second.name);
    expect(await recordsIn(join(root, 'one'))).toBe(2 * PER_ROUND);
    expect(await recordsIn(join(root, 'two'))).toBe(3 * PER_ROUND);
  });

  it('copies nothing when nothing has changed', async () => {
    await makeFolder();
    const first = await take();
    const contents = filesIn(join(backups, 'files')).map((file) => [file, statSync(file).mtimeMs]);
    const second = await take({ now: NOW - 1 });
    expect({ files: second.newFiles, bytes: second.newBytes }).toEqual({ files: 0, bytes: 0 });
    // The clock has gone back; names have not.
    expect(second.name > first.name).toBe(true);
    const kept = new Map(filesIn(join(backups, 'files')).map((file) => [file, statSync(file).mtimeMs]));
    for (const [file, changed] of contents) expect(kept.get(String(file))).toBe(changed);
  });

  it('leaves out the copies of a keystore, which an earlier passphrase opens', async () => {
    await makeFolder();
    await writeFile(join(data, 'keystore.json'), 'new');
    await writeFile(join(data, 'keystore-format-1-0123abcd.json'), 'old');
    const { name } = await take();
    const restored = join(root, 'restored');
    await restore(restored, name);
    const names = readdirSync(restored).filter((file) => file.startsWith('keystore'));
    expect(names).toEqual(['keystore.json']);
  });

  it('removes old ones and what only they needed, when it is asked to', async () => {
    await makeFolder(1);
    const first = await take();
    rmSync(data, { recursive: true });
    await makeFolder(2);
    const second = await take({ now: NOW + 1 });
    await withStore(async (store) => {
      expect(await store.keepNewest(1)).toEqual([first.name]);
      await store.removeUnused();
      expect(await store.names()).toEqual([second.name]);
    });
    await restore(join(root, 'two'), second.name);
    expect(await recordsIn(join(root, 'two'))).toBe(2 * PER_ROUND);
    const bytes = filesIn(join(backups, 'files')).reduce((sum, file) => sum + statSync(file).size, 0);
    expect(bytes).toBeLessThan(1.1 * second.bytes);
  });
});

describe('an interrupted backup', () => {
  it('leaves the earlier ones as they are, and the next one goes on', async () => {
    await makeFolder(3);
    const first = await take();
    await addRecords(3, 3);
    const abort = new AbortController();
    const onProgress = (done: number, total: number) => done > total / 2 && abort.abort();
    await expect(take({ now: NOW + 1, signal: abort.signal, onProgress })).rejects.toMatchObject({ code: 'aborted' });
    writeFileSync(join(backups, 'files', `${'ab'.repeat(31)}.tmp`), 'half of something');
    expect(await withStore((store) => store.names())).toEqual([first.name]);
    const again = await take({ now: NOW + 2 });
    expect(filesIn(backups).filter((file) => file.endsWith('.tmp'))).toEqual([]);
    await restore(join(root, 'again'), again.name);
    expect(await recordsIn(join(root, 'again'))).toBe(6 * PER_ROUND);
  });
});

describe('a backup that is killed', () => {
  it('leaves the earlier ones, and the next one needs no help (rule P7)', async () => {
    await makeFolder(3);
    const first = await take();
    await addRecords(3, 3);
    for (const [i, share] of [0.2, 0.5, 0.8].entries()) {
      const script = await builtScript(new URL('./backup-until-killed.ts', import.meta.url));
      const child = fork(script, [data, backups, String(NOW + i)]);
      children.push(child);
      child.on('message', (done: number) => done >= share && child.kill('SIGKILL'));
      await once(child, 'exit');
    }
    const { name } = await take({ now: NOW + 9 });
    await restore(join(root, 'first'), first.name);
    expect(await recordsIn(join(root, 'first'))).toBe(3 * PER_ROUND);
    await restore(join(root, 'last'), name);
    expect(await recordsIn(join(root, 'last'))).toBe(6 * PER_ROUND);
  });
});

describe('a backup is refused', () => {
  it('of damaged data, and names the file (rule P3)', async () => {
    await makeFolder();
    const store = join(data, 'db', 'ledger');
    const table = readdirSync(store).find((name) => name.endsWith('.ldb')) ?? '';
    const bytes = readFileSync(join(store, table));
    bytes[1_000] = (bytes[1_000] ?? 0) ^ 1;
    writeFileSync(join(store, table), bytes);
    await expect(take()).rejects.toMatchObject({ code: 'data_corrupt', message: expect.stringContaining(table) });
    expect(await withStore((opened) => opened.names())).toEqual([]);
  });

  it.each([
    ['a table', /\.ldb$/, rmSync],
    ['the log', /\.log$/, rmSync],
    ['the end of the log', /\.log$/, (file: string) => truncateSync(file, 0)],
    ['CURRENT', /^CURRENT$/, rmSync],
  ])('when %s is gone', async (_, name, damage) => {
    await makeFolder();
    const store = join(data, 'db', 'ledger');
    damage(join(store, readdirSync(store).find((file) => name.test(file)) ?? ''));
    await expect(take()).rejects.toMatchObject({ code: 'data_lost' });
  });

  it('into a folder with other things, of another node, network or format', async () => {
    await makeFolder(1);
    await expect(take({ role: 'storage' })).rejects.toMatchObject({ code: 'data_dir_invalid' });
    await expect(take({}, { role: 'storage' })).rejects.toMatchObject({ code: 'backup_invalid' });
    await expect(take({}, { networkName: 'other' })).rejects.toMatchObject({ code: 'backup_invalid' });
    await take();
    const header = join(backups, 'backup.json');
    writeFileSync(header, readFileSync(header, 'utf8').replace('"format": 1', '"format": 2'));
    await expect(take()).rejects.toMatchObject({
      code: 'backup_invalid',
      message: expect.stringContaining('format 2'),
    });
    rmSync(header);
    await expect(take()).rejects.toMatchObject({
      code: 'backup_invalid',
      message: expect.stringContaining('other things'),
    });
  });

  it('while another one is written into the same folder', async () => {
    await makeFolder(1);
    await withStore(() => expect(take()).rejects.toMatchObject({ code: 'data_dir_locked' }));
  });
});

describe('a sealed backup', () => {
  it('shows nothing of what is in it, and opens with its passphrase alone', async () => {
    await makeFolder(1);
    const { name } = await take({}, { isSealed: true });
    const plain = [SECRET, recordOf(7).subarray(0, 32), 'node-key', 'db/ledger'].map((text) => Buffer.from(text));
    for (const file of filesIn(backups)) {
      for (const text of plain) expect(readFileSync(file).includes(text)).toBe(false);
    }
    const wrong = { passphrase: async () => 'shut' };
    await expect(restore(join(root, 'no'), name, {}, wrong)).rejects.toMatchObject({ code: 'wrong_passphrase' });
    await expect(take({ now: NOW + 1 }, wrong)).rejects.toMatchObject({ code: 'wrong_passphrase' });
    const { newFiles } = await take({ now: NOW + 1 });
    expect(newFiles).toBe(0);
    await restore(join(root, 'yes'), name);
    expect(await recordsIn(join(root, 'yes'))).toBe(PER_ROUND);
    expect(readFileSync(join(root, 'yes', 'node-key'))).toEqual(Buffer.from(SECRET));
  });
});

describe('a restore', () => {
  it('is private, and refuses a folder that is not empty', async () => {
    await makeFolder(1);
    const { name } = await take();
    await expect(restore(data, name)).rejects.toMatchObject({ code: 'data_dir_invalid' });
    expect(await recordsIn(data)).toBe(PER_ROUND);
    const folder = join(root, 'new');
    await restore(folder, name);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const file of filesIn(folder)) expect(statSync(file).mode & 0o077).toBe(0);
  });

  it('goes on after it was interrupted, and no node starts before it is done', async () => {
    await makeFolder(3);
    const { name } = await take();
    const folder = join(root, 'new');
    const abort = new AbortController();
    const onProgress = (done: number, total: number) => done > total / 2 && abort.abort();
    await expect(restore(folder, name, { signal: abort.signal, onProgress })).rejects.toMatchObject({
      code: 'aborted',
    });
    await expect(DataDir.open(folder, OWNER)).rejects.toMatchObject({
      code: 'data_dir_invalid',
      message: expect.stringContaining('run tessera restore again'),
    });
    await restore(folder, name);
    expect(await recordsIn(folder)).toBe(3 * PER_ROUND);
  });

  it('refuses every file that is damaged, cut or gone (rule P3)', async () => {
    await makeFolder(1);
    const { name } = await take();
    const damages: ((file: string) => void)[] = [
      (file) => rmSync(file),
      (file) => writeFileSync(file, readFileSync(file).subarray(0, -1)),
      (file) => {
        const bytes = readFileSync(file);
        bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
        writeFileSync(file, bytes);
      },
    ];
    for (const [i, file] of [...filesIn(join(backups, 'files')), ...filesIn(join(backups, 'backups'))].entries()) {
      const sound = readFileSync(file);
      chmodSync(file, 0o600);
      // A file without a byte can only be missing.
      damages[sound.length === 0 ? 0 : i % damages.length]?.(file);
      await expect(restore(join(root, `damaged ${i}`), name), file).rejects.toMatchObject({
        code: expect.stringMatching(/^(data_corrupt|data_lost|backup_invalid)$/),
      });
      writeFileSync(file, sound);
    }
    await restore(join(root, 'sound'), name);
  });
});
