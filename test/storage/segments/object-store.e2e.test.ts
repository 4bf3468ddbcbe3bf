/** Closed segments in a real object store: they go there, are read and begun from there, and nothing is lost when it breaks its word. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BackupStore } from '../../../src/db/backup/backup-store.js';
import { restoreBackup } from '../../../src/db/backup/restore-backup.js';
import { takeBackup } from '../../../src/db/backup/take-backup.js';
import { DataDir } from '../../../src/db/data-dir.js';
import { type Clock, systemClock } from '../../../src/lib/clock.js';
import { systemRandom } from '../../../src/lib/random.js';
import { openArchiveFiles } from '../../../src/node/archive-files.js';
import { Archive } from '../../../src/storage/archive/archive.js';
import { takeFromStore } from '../../../src/storage/blocks/from-store.js';
import { FarSegments } from '../../../src/storage/segments/far-segments.js';
import type { Segments } from '../../../src/storage/segments/segments.js';
import { Uploads } from '../../../src/storage/segments/uploads.js';
import { builtScript } from '../../support/built-script.js';
import { canMakeFaultyDisks, FaultyDisk } from '../../support/faulty-disk/faulty-disk.js';
import { hasObjectStore, type RunningStore, SECRET_KEY, startObjectStore } from '../../support/object-store.js';
import { silentLogger } from '../../support/silent-logger.js';
import { createTestChain, RULES, type TestChain } from '../../support/storage/test-chain.js';

const BLOCKS = 16;
const MAX_BYTES = 4_000;
const never = new AbortController().signal;
/** Repeats what failed after a moment. */
const hasty: Clock = { ...systemClock, after: (ms, run) => systemClock.after(Math.min(ms, 50), run) };

let store: RunningStore;
let folder: string;
let chain: TestChain;
const opened: { close(): Promise<void> }[] = [];

interface Opened {
  readonly archive: Archive;
  readonly segments: Segments;
  readonly far: FarSegments;
  readonly uploads: Uploads;
  readonly path: string;
  close(): Promise<void>;
}

async function open(
  name = 'data',
  { localBytes = 0, cacheBytes = 1_000_000, timeoutMs = 60_000 } = {},
): Promise<Opened> {
  const path = join(folder, name);
  const directory = await DataDir.open(path, { role: 'storage', networkName: 'test' });
  const far = new FarSegments({ path: join(path, 'fetched'), cacheBytes }, store.open(timeoutMs));
  const files = await openArchiveFiles(directory, { maxBytes: MAX_BYTES, far });
  const archive = await Archive.open({ rules: RULES, cacheBytes: 1 }, files);
  await archive.load();
  const modules = { segments: files.segments, far, clock: hasty, logger: silentLogger };
  const uploads = new Uploads({ localBytes }, modules);
  const one = {
    archive,
    segments: files.segments,
    far,
    uploads,
    path,
    async close() {
      await uploads.stop();
      await directory.close();
    },
  };
  opened.push(one);
  return one;
}

async function fill(archive: Archive): Promise<void> {
  for (const block of chain.blocks.slice(archive.nextHeight)) await archive.store(block);
}

/** Waits for what the store and the files of the node come to. */
const until = (check: () => unknown): Promise<void> =>
  expect
    .poll(async () => check(), { timeout: 60_000, interval: 20 })
    .toBe(true)
    .then(() => undefined);
const allStored = ({ segments }: Opened): boolean => segments.closed.every(({ isStored }) => isStored);
const onlyFar = ({ segments }: Opened): string[] =>
  segments.closed.flatMap(({ isHere, name }) => (isHere ? [] : [name]));
const settled = (one: Opened): Promise<void> =>
  until(() => allStored(one) && onlyFar(one).length === one.segments.closed.length - 2);

async function blocksOf(archive: Archive): Promise<string[]> {
  const found: string[] = [];
  for (let i = 0; i < BLOCKS; i++) found.push(Buffer.from((await archive.fullBlockBytes(i)) ?? []).toString('hex'));
  return found;
}

describe.runIf(hasObjectStore)('segments in an object store', () => {
  beforeAll(() => {
    chain = createTestChain().grow(BLOCKS);
  });
  beforeEach(async () => {
    store = await startObjectStore();
    folder = await mkdtemp(join(tmpdir(), 'tessera-far-'));
  });
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
    await store.dispose();
    await rm(folder, { recursive: true });
  });
  it('go there when they are closed, leave the disk but for the newest and the first, and are read in ranges', async () => {
    const one = await open();
    await fill(one.archive);
    const before = await blocksOf(one.archive);
    await one.uploads.start();
    await settled(one);
    // A store that has just been started may answer its first request late.
    await until(() => one.uploads.problem === null);
    expect(await store.names()).toEqual(one.segments.closed.map(({ name }) => name));
    expect(await blocksOf(one.archive)).toEqual(before);
    const asked = store.requests.length;
    expect(await blocksOf(one.archive)).toEqual(before);
    // The node looks now and then whether the store is there.
    const read = store.requests.slice(asked).filter((request) => !request.includes('list-type'));
    expect(read, 'what was read is in the cache').toEqual([]);
    expect(await one.archive.verify()).toEqual({ blocks: BLOCKS, transactions: BLOCKS * 3 });
    await one.close();
    const again = await open();
    expect(onlyFar(again).length).toBe(again.segments.closed.length - 2);
    expect(await blocksOf(again.archive)).toEqual(before);
  });

  it('end the warning and leave the disk one by one after a failure, however many still wait', async () => {
    const one = await open();
    await fill(one.archive);
    store.breaking = '500';
    await one.uploads.start();
    await until(() => one.uploads.problem !== null);
    let go = (): void => undefined;
    const held = new Promise<void>((resolve) => (go = resolve));
    const puts = (): number => store.requests.filter((request) => request.startsWith('PUT')).length;
    const most = puts() + 2;
    Object.defineProperty(store, 'uploadsWait', { get: () => (puts() > most ? held : undefined) });
    store.breaking = 'nothing';
    await until(() => one.uploads.problem === null && onlyFar(one).length === 1);
    expect(one.segments.closed.filter(({ isStored }) => isStored).length).toBe(2);
    go();
    await settled(one);
  });

  it('keep the newest up to local_bytes', async () => {
    const one = await open('data', { localBytes: MAX_BYTES * 3 });
    await fill(one.archive);
    await one.uploads.start();
    await until(() => allStored(one) && onlyFar(one).length > 0);
    const here = one.segments.closed.filter(({ isHere, first }) => isHere && first > 0);
    expect(here.length).toBeGreaterThan(2);
    expect(here).toEqual(one.segments.closed.slice(-here.length));
  });

  it.each(['500', 'half', 'silence', 'wrong-bytes', 'lost-upload'] as const)(
    'stay here while the store is at fault (%s), with a reason, and go there afterwards',
    async (breaking) => {
      store.breaking = breaking;
      const one = await open('data', { timeoutMs: 500 });
      await fill(one.archive);
      await one.uploads.start();
      await until(() => one.uploads.problem !== null);
      expect(one.uploads.problem).toContain('closed segments stay here');
      expect(one.uploads.problem).not.toContain(SECRET_KEY);
      expect(onlyFar(one)).toEqual([]);
      expect(allStored(one)).toBe(false);
      expect((await blocksOf(one.archive)).length).toBe(BLOCKS);
      store.breaking = 'nothing';
      await settled(one);
      await until(() => one.uploads.problem === null);
    },
  );

  it.each(['500', 'half', 'silence', 'wrong-bytes'] as const)(
    'give no wrong answer when the store is at fault (%s): old reads fail with a reason, new blocks and recent reads do not',
    async (breaking) => {
      const one = await open('data', { timeoutMs: 500, cacheBytes: 0 });
      chain.grow(BLOCKS);
      for (const block of chain.blocks.slice(0, BLOCKS - 1)) await one.archive.store(block);
      await one.uploads.start();
      await settled(one);
      let failed = false;
      one.archive.failed.on(() => (failed = true));
      store.breaking = breaking;
      const [name = ''] = chain.block(3).block.transactions;
      const refusal = { code: 'archive_incomplete', message: expect.stringMatching(/object store/) };
      await expect(one.archive.blockAt(3)).rejects.toMatchObject(refusal);
      await expect(one.archive.entry(name)).rejects.toMatchObject(refusal);
      await fill(one.archive);
      expect(await one.archive.blockAt(BLOCKS - 1)).toBeDefined();
      expect(await one.archive.blockAt(0)).toBeDefined();
      store.breaking = 'nothing';
      expect(await one.archive.blockAt(3)).toBeDefined();
      expect(failed, 'the node goes on').toBe(false);
    },
  );

  it('are read although nothing can be written into the cache', async () => {
    const one = await open();
    await fill(one.archive);
    await one.uploads.start();
    await settled(one);
    await rm(join(one.path, 'fetched'), { recursive: true, force: true });
    expect((await blocksOf(one.archive)).every((bytes) => bytes.length > 0)).toBe(true);
  });

  it('are shared by two nodes, and the second uploads nothing', async () => {
    const one = await open('one');
    const other = await open('other');
    await Promise.all([fill(one.archive), fill(other.archive)]);
    await Promise.all([one.uploads.start(), other.uploads.start()]);
    await Promise.all([settled(one), settled(other)]);
    expect(await blocksOf(other.archive)).toEqual(await blocksOf(one.archive));
    const third = await open('third');
    await fill(third.archive);
    store.requests.splice(0);
    await third.uploads.start();
    await settled(third);
    expect(store.requests.filter((request) => request.startsWith('PUT'))).toEqual([]);
  });

  it('are in a backup by their names alone, and a node that is restored from it reads them there', async () => {
    const one = await open();
    await fill(one.archive);
    await one.uploads.start();
    await settled(one);
    const before = await blocksOf(one.archive);
    const owner = { role: 'storage', networkName: 'test' };
    const options = { ...owner, isSealed: false, passphrase: async () => 'none' };
    const what = { lastDatabase: undefined, program: '0', now: 1_000_000, signal: never, onProgress: () => undefined };
    const modules = { random: systemRandom };
    const backups = await BackupStore.openToWrite(join(folder, 'backups'), options, modules);
    const { name } = await takeBackup({ ...owner, ...what, dataDir: one.path }, backups);
    const { files } = await backups.listing(name);
    await backups.close();
    const copied = files.map(({ path }) => path).filter((path) => /\.blocks$|fetched/.test(path));
    expect(copied).toEqual(
      one.segments.closed.flatMap(({ isHere, name: segment }) => (isHere ? `segments/${segment}` : [])),
    );
    const copies = await BackupStore.openToRead(join(folder, 'backups'), options, modules);
    await restoreBackup({ ...what, backup: name, dataDir: join(folder, 'restored') }, copies);
    const restored = await open('restored');
    expect(onlyFar(restored)).toEqual(onlyFar(one));
    expect(await blocksOf(restored.archive)).toEqual(before);
    expect(await restored.archive.verify()).toMatchObject({ blocks: BLOCKS });
  });

  it.runIf(canMakeFaultyDisks).each([
    ['unlink .blocks EIO', 'its file cannot be removed'],
    ['create .stored ENOSPC', 'what it has stored cannot be noted'],
    ['open .blocks EIO', 'its file cannot be read'],
  ])(
    'stay here while the own disk is at fault (%s: %s), which is said of it, and go without a restart',
    async (rule) => {
      const disk = await FaultyDisk.create();
      await disk.set(rule);
      const child = fork(
        await builtScript(new URL('../upload-until-killed.ts', import.meta.url)),
        [join(folder, 'data'), `${BLOCKS}`],
        {
          env: { ...process.env, ...disk.environment(), NODE_ENV: 'test', TESSERA_TEST_STORE: store.endpoint },
          stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        },
      );
      const ask = async (): Promise<{ problem: string | null; closed: Segments['closed'] }> => {
        child.send('state');
        return (await once(child, 'message'))[0];
      };
      const files = async (): Promise<string[]> =>
        (await readdir(join(folder, 'data', 'segments'))).filter((name) => name.endsWith('.blocks'));
      try {
        await until(async () => (await ask()).problem !== null);
        const { problem, closed } = await ask();
        expect(problem).toMatch(/own disk/);
        expect(problem).not.toMatch(/until the object store takes/);
        expect(closed.filter(({ isHere }) => !isHere)).toEqual([]);
        await disk.set();
        await until(async () => {
          const now = await ask();
          return now.problem === null && now.closed.filter(({ isHere }) => !isHere).length === now.closed.length - 2;
        });
        await until(async () => (await files()).length === 2);
      } finally {
        child.kill('SIGKILL');
        await once(child, 'exit');
        await disk.remove();
      }
    },
  );

  it('are uploaded by two nodes at the same time without harm', async () => {
    let go = (): void => undefined;
    store.uploadsWait = new Promise((resolve) => (go = resolve));
    const both = [await open('one'), await open('other')] as const;
    for (const { archive } of both) await fill(archive);
    await Promise.all(both.map(({ uploads }) => uploads.start()));
    const put = (): string[] => store.requests.filter((request) => request.startsWith('PUT'));
    await until(() => put().length === 2);
    expect(put()[1]).toBe(put()[0]);
    go();
    await Promise.all(both.map(settled));
    for (const one of both) expect(await one.archive.verify()).toMatchObject({ blocks: BLOCKS });
    expect(await store.names()).toEqual(both[0].segments.closed.map(({ name }) => name));
  });

  it('give a new node nothing without certificates, where the network names producers', async () => {
    const one = await open('one');
    await fill(one.archive);
    await one.uploads.start();
    await settled(one);
    const fresh = await open('fresh');
    const options = {
      producers: { chain: 'test', keys: ['ab'.repeat(32)] },
      signal: never,
      onProgress: () => undefined,
    };
    await expect(takeFromStore(fresh.archive, fresh.far, options)).rejects.toMatchObject({
      code: 'archive_incomplete',
      message: expect.stringMatching(/no block 0 that a producer's certificate proves/),
    });
    expect(fresh.archive.nextHeight).toBe(0);
  });

  it('begin a new node, which checks them; foreign objects and false ones are passed over', async () => {
    const one = await open('one');
    await fill(one.archive);
    await one.uploads.start();
    await settled(one);
    await store.write('notes.txt', Buffer.from('foreign'));
    const names = await store.names();
    const takes = (archive: Archive, far: FarSegments) =>
      takeFromStore(archive, far, { producers: undefined, signal: never, onProgress: () => undefined });
    const fresh = await open('fresh');
    await takes(fresh.archive, fresh.far);
    const { last = 0 } = one.segments.closed.at(-1) ?? {};
    expect(fresh.archive.nextHeight).toBe(last + 1);
    expect(await fresh.archive.verify()).toMatchObject({ blocks: last + 1 });
    const [, , third = ''] = names;
    const bytes = await store.bytes(third);
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    await store.write(third, bytes);
    const wary = await open('wary');
    await expect(takes(wary.archive, wary.far)).rejects.toMatchObject({ code: 'archive_incomplete' });
    expect(wary.archive.nextHeight).toBe(Number(third.slice(0, 10)));
    await fill(wary.archive);
    await wary.uploads.start();
    await settled(wary);
    expect(await store.bytes(third), 'a node that has the segment mends the bucket').not.toEqual(bytes);
  });

  it.each([
    'segment.upload.before:blocks@2',
    'segment.upload.after:blocks@2',
    'segment.stored.before:blocks@2',
    'segment.stored.after:blocks@2',
    'segment.removed.before:blocks@2',
    'segment.removed.after:blocks@2',
  ])('an end at %s loses nothing, and the next start goes on (rules P1, P7)', async (name) => {
    const path = join(folder, 'data');
    const env = { ...process.env, NODE_ENV: 'test', TESSERA_FAILPOINT: name, TESSERA_TEST_STORE: store.endpoint };
    const child = fork(
      await builtScript(new URL('../upload-until-killed.ts', import.meta.url)),
      [path, String(BLOCKS)],
      {
        env,
      },
    );
    const [, signal] = await once(child, 'exit');
    expect(signal).toBe('SIGKILL');
    const one = await open();
    expect(one.archive.nextHeight).toBe(BLOCKS);
    await one.uploads.start();
    await settled(one);
    expect(await store.names()).toEqual(one.segments.closed.map(({ name: segment }) => segment));
    expect(await one.archive.verify()).toMatchObject({ blocks: BLOCKS });
    expect((await readdir(join(path, 'segments'))).filter((file) => file.endsWith('.tmp'))).toEqual([]);
  });
});
