/**
 * A damaged archive may be the only copy of a block: nothing of it is removed before all that was acknowledged is in the
 * new one, whatever is damaged, refused by the system, or interrupted (docs/adr/0015, rules P3 and P7).
 */

import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DataDir } from '../../src/db/data-dir.js';
import { endlessRoom, type Room } from '../../src/db/disk-room.js';
import { readLog } from '../../src/db/level-files/log.js';
import { damagedFolders, removeAside, removeLeftovers } from '../../src/db/put-aside.js';
import { type Clock, systemClock } from '../../src/lib/clock.js';
import { TesseraError } from '../../src/lib/errors.js';
import { silentLogger } from '../../src/lib/logger.js';
import { SignalSource } from '../../src/lib/signal.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { blockAtKey, heightKey } from '../../src/storage/archive/layout.js';
import { DamagedArchive } from '../../src/storage/heal/damaged-archive.js';
import { Healing } from '../../src/storage/heal/healing.js';
import { RunningStorageService } from '../../src/storage/storage-service.js';
import { ManualClock, settle } from '../support/manual-clock.js';
import { connect, createFakeNode } from '../support/storage/fake-network.js';
import { CATCH_UP } from '../support/storage/storage-node.js';
import { createTestChain, RULES } from '../support/storage/test-chain.js';

const BLOCKS = 16;
const VIEW = { keyEncoding: 'view', valueEncoding: 'view' } as const;
const chain = createTestChain().grow(BLOCKS);

/** A folder with an archive, all of it in the log; and the same with all of it in a table. */
let inLog: string;
let inTable: string;
/** An archive of another chain. */
let foreign: string;
let path: string;
const opened: DataDir[] = [];
const services: RunningStorageService[] = [];

const archiveFolder = (): string => join(path, 'db', 'archive');

async function openDirectory(folder = path): Promise<DataDir> {
  const directory = await DataDir.open(folder, { role: 'storage', networkName: 'test' });
  opened.push(directory);
  return directory;
}

async function closeAll(): Promise<void> {
  for (const service of services.splice(0)) await service.stop();
  for (const directory of opened.splice(0)) await directory.close();
}

async function temporary(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'tessera-only-copy-'));
}

beforeAll(async () => {
  [inLog, foreign] = [await temporary(), await temporary()];
  for (const [folder, { blocks }] of [
    [inLog, chain],
    [foreign, createTestChain(101).grow(BLOCKS)],
  ] as const) {
    const directory = await openDirectory(folder);
    const archive = await Archive.open({ rules: RULES }, { kv: await directory.open('archive') });
    for (const block of blocks) await archive.store(block);
  }
  await closeAll();
  inTable = await temporary();
  await cp(inLog, inTable, { recursive: true });
  await (await openDirectory(inTable)).open('archive');
  await closeAll();
});

afterAll(async () => {
  for (const folder of [inLog, inTable, foreign]) await rm(folder, { recursive: true });
});

beforeEach(async () => {
  path = await temporary();
});

afterEach(async () => {
  await closeAll();
  await rm(path, { recursive: true });
});

const use = (folder: string): Promise<void> => cp(folder, path, { recursive: true });

async function fileOf(ending: string, folder = archiveFolder()): Promise<string> {
  const [name] = (await readdir(folder)).filter((other) => other.endsWith(ending));
  if (name === undefined) throw new Error(`no ${ending} in ${folder}`);
  return join(folder, name);
}

/** Flips a byte in the middle of a record of the log; the first has number 0. */
async function flipRecord(number: number): Promise<void> {
  const file = await fileOf('.log');
  const bytes = await readFile(file);
  const { records } = readLog(bytes);
  const { start, end } = records[number] ?? { start: 0, end: 0 };
  const at = (start + end) >> 1;
  bytes[at] = (bytes[at] ?? 0) ^ 0x10;
  await writeFile(file, bytes);
}

/** Changes records as a fault of the memory would, before LevelDB takes its own checksum. */
async function spoil(...keys: readonly Uint8Array[]): Promise<void> {
  const level = new ClassicLevel<Uint8Array, Uint8Array>(archiveFolder(), VIEW);
  await level.open();
  for (const key of keys) {
    const record = Buffer.from((await level.get(key, VIEW)) ?? []);
    record[3] = (record[3] ?? 0) ^ 1;
    await level.put(key, record, VIEW);
  }
  await level.close();
}

/** A new archive that takes what can be read of the one in `folder`. */
async function prepare<C extends Clock = ManualClock>(modules: { readonly room?: Room; readonly clock?: C } = {}) {
  const { room = endlessRoom, clock = new ManualClock() as Clock as C } = modules;
  const directory = await openDirectory();
  if ((await damagedFolders(path, 'archive')).length === 0) await directory.putAside('archive');
  const kv = await directory.open('archive');
  const archive = await Archive.open({ rules: RULES }, { kv, room });
  const damaged = new DamagedArchive(await damagedFolders(path, 'archive'));
  const removed: string[] = [];
  const healing = new Healing({
    archive,
    damaged,
    clock,
    logger: silentLogger,
    metrics: noMetrics,
    onProgress: () => undefined,
    async onDone(folders) {
      removed.push(...(folders ?? [await damagedFolders(path, 'archive')]));
    },
  });
  const node = createFakeNode(basename(path), 'storage');
  const service = new RunningStorageService(
    { catchUp: CATCH_UP },
    { archive, healing, network: node.network, clock, logger: silentLogger },
  );
  services.push(service);
  return { archive, damaged, healing, service, clock, removed, node };
}

type Prepared = Awaited<ReturnType<typeof prepare<ManualClock>>>;

/** Runs what waits until there is nothing left to wait for. */
async function until(clock: ManualClock, isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    clock.advance(1_000);
    await settle();
  }
}

/** It lacks block `height` and those from other nodes alone; with that one, all are there. */
async function expectOneMissing({ archive, healing, removed, clock }: Prepared, height: number): Promise<void> {
  expect(archive.nextHeight).toBe(height);
  expect(removed).toEqual([]);
  expect(healing.problem).toMatch(new RegExp(`^block ${height} of ${BLOCKS} is damaged here`));
  await archive.store(chain.block(height));
  await until(clock, () => removed.length > 0);
  expect(archive.nextHeight).toBe(BLOCKS);
  expect(healing.problem).toBeNull();
}

describe('a flipped bit in the log', () => {
  it('costs that block alone: the sound ones behind it are taken', async () => {
    await use(inLog);
    await flipRecord(3);
    const prepared = await prepare();
    await prepared.healing.take();
    await expectOneMissing(prepared, 3);
  });

  it('in the last block is no reason to call the archive whole: its seal says how much was acknowledged', async () => {
    await use(inLog);
    await flipRecord(BLOCKS - 1);
    const prepared = await prepare();
    await prepared.healing.take();
    await expectOneMissing(prepared, BLOCKS - 1);
  });

  it('a log of another archive takes nothing away from what the own tables hold', async () => {
    await use(inTable);
    await cp(await fileOf('.log', join(foreign, 'db', 'archive')), await fileOf('.log'));
    const { archive, healing, removed } = await prepare();
    await healing.take();
    expect([archive.tip.hash, removed.length]).toEqual([chain.hash(BLOCKS - 1), 1]);
  });

  it('changes nothing of what is read after a restart', async () => {
    await use(inLog);
    await flipRecord(3);
    await (await prepare()).healing.take();
    await closeAll();
    const prepared = await prepare();
    await prepared.healing.take();
    await expectOneMissing(prepared, 3);
  });
});

describe('what was acknowledged', () => {
  it('is waited for when nothing of it is left but the seal', async () => {
    await use(inTable);
    await rm(archiveFolder(), { recursive: true });
    const { archive, damaged, healing, removed } = await prepare();
    await healing.take();
    expect([archive.nextHeight, damaged.blocks]).toEqual([0, BLOCKS]);
    expect(healing.problem).toMatch(/^block 0 of 16 is damaged here/);
    expect(removed).toEqual([]);
  });

  it('is not removed when nothing can be said of it: the folder is kept, and the node goes on without it', async () => {
    await use(inTable);
    const table = await fileOf('.ldb');
    await writeFile(table, Buffer.alloc((await readFile(table)).length, 7));
    await rm(`${archiveFolder()}.seal`);
    const { archive, healing, removed, clock } = await prepare();
    await healing.take();
    for (const block of chain.blocks) await archive.store(block);
    clock.advance(60_000);
    await settle();
    await healing.take();
    expect(removed).toEqual([]);
    expect(healing.kept).toEqual(await damagedFolders(path, 'archive'));
    expect(healing.problem).toBeNull();
  });

  it('an empty archive that is damaged leaves nothing behind', async () => {
    const directory = await openDirectory();
    await directory.open('archive');
    await closeAll();
    await rm(join(archiveFolder(), 'CURRENT'));
    const { healing, removed } = await prepare();
    await healing.take();
    expect(removed).toEqual(await damagedFolders(path, 'archive'));
  });
});

describe('a wrong byte in a record that LevelDB takes for right', () => {
  it.each([
    ['the hash of the last block', [BLOCKS - 1]],
    ['the hash of another block', [7]],
    ['both', [7, BLOCKS - 1]],
    ['those of neighbours', [7, 8]],
  ])('%s: all blocks are taken, since other records name it', async (_what, heights) => {
    await use(inTable);
    await spoil(...heights.map(heightKey));
    const { archive, healing, removed } = await prepare();
    await healing.take();
    expect(archive.nextHeight).toBe(BLOCKS);
    expect(removed).toHaveLength(1);
  });

  it('a block itself must come from elsewhere, and all the others are taken', async () => {
    await use(inTable);
    await spoil(blockAtKey(7));
    const prepared = await prepare();
    await prepared.healing.take();
    await expectOneMissing(prepared, 7);
  });
});

describe('what the system refuses while it heals', () => {
  it('a repair that fails is no damage: it is tried again, and the node starts meanwhile', async () => {
    await use(inTable);
    await rm(join(archiveFolder(), 'LOCK'));
    await mkdir(join(archiveFolder(), 'LOCK'));
    const { archive, healing, removed, clock } = await prepare();
    await expect(healing.take()).rejects.toMatchObject({ code: 'database_failed' });
    await healing.takeOrRetry();
    expect(healing.problem).toMatch(/cannot be healed now, which is tried again: .*LOCK/);
    expect(removed).toEqual([]);
    const [folder = ''] = await damagedFolders(path, 'archive');
    await rm(join(folder, 'LOCK'), { recursive: true });
    await until(clock, () => removed.length > 0);
    expect(archive.nextHeight).toBe(BLOCKS);
    expect(healing.problem).toBeNull();
  });

  it('a disk without room ends no start: it goes on when there is room (docs/adr/0014)', async () => {
    await use(inTable);
    const disk = { isLow: false };
    const room = {
      get isLow() {
        return disk.isLow;
      },
      problems: [],
      check() {
        if (disk.isLow) throw new TesseraError('write_failed', 'the disk is full');
      },
      ranLow: new SignalSource<void>(),
      isBack: new SignalSource<void>(),
    };
    const { archive, healing, removed, clock } = await prepare({ room });
    disk.isLow = true;
    await healing.takeOrRetry();
    expect(healing.problem).toBe('the archive cannot be healed now, which is tried again: the disk is full');
    await expect(services[0]?.blockAt(3)).rejects.toMatchObject({ code: 'archive_incomplete' });
    clock.advance(20_000);
    await settle();
    expect([archive.nextHeight, removed]).toEqual([0, []]);
    disk.isLow = false;
    await until(clock, () => removed.length > 0);
    expect(archive.nextHeight).toBe(BLOCKS);
  });
});

describe('a process that is killed', () => {
  it.each(['CURRENT', 'MANIFEST', '.ldb', '.log', 'repaired', 'facts.json', 'seal'])(
    'while the damaged folder was removed, of which %s is gone: the next start goes on',
    async (gone) => {
      await use(inTable);
      const first = await prepare();
      await first.damaged.open();
      await closeAll();
      const [folder = ''] = await damagedFolders(path, 'archive');
      for (const name of await readdir(folder)) if (name.includes(gone)) await rm(join(folder, name));
      const { archive, damaged, healing } = await prepare();
      await healing.take();
      expect([archive.nextHeight, damaged.blocks]).toEqual([gone === '.ldb' ? 0 : BLOCKS, BLOCKS]);
    },
  );

  it('leaves a folder under a name that says so, which the next start removes', async () => {
    await use(inTable);
    await (await prepare()).damaged.open();
    await closeAll();
    const [folder = ''] = await damagedFolders(path, 'archive');
    const left = join(path, 'removed-archive-1');
    await cp(folder, left, { recursive: true });
    await rm(join(left, 'CURRENT'));
    await removeAside(path, [folder]);
    expect([existsSync(folder), existsSync(left)]).toEqual([false, false]);
    await mkdir(left);
    expect(await damagedFolders(path, 'archive')).toEqual([]);
    // Somebody's own.
    const others = ['removed-archive', 'removed-archive-1.tar', 'removed-archive-old-1', 'removed-wallet-1'];
    for (const other of others) await mkdir(join(path, other));
    await removeLeftovers(path, 'archive');
    expect(existsSync(left)).toBe(false);
    for (const other of others) expect(existsSync(join(path, other))).toBe(true);
    expect(existsSync(archiveFolder())).toBe(true);
  });

  it('between the moves of the database and of its seal: the same call ends what was begun', async () => {
    await use(inTable);
    const directory = await openDirectory();
    await directory.putAside('archive');
    const [folder = ''] = await damagedFolders(path, 'archive');
    await rename(join(folder, 'seal'), `${archiveFolder()}.seal`);
    await directory.putAside('archive');
    expect(await damagedFolders(path, 'archive')).toEqual([folder]);
    expect(existsSync(join(folder, 'seal'))).toBe(true);
  });

  it('in the middle of a repair: logs and tables that it had moved are found', async () => {
    await use(inLog);
    await flipRecord(3);
    await (await openDirectory()).putAside('archive');
    await closeAll();
    const [folder = ''] = await damagedFolders(path, 'archive');
    const first = new DamagedArchive([folder]);
    await first.open();
    await first.close();
    // As far as LevelDB's own repair, which puts aside what it does not use.
    await rm(join(folder, 'repaired'));
    await rm(join(folder, 'CURRENT'));
    await mkdir(join(folder, 'lost'), { recursive: true });
    for (const name of await readdir(folder)) {
      if (/^\d+\.(ldb|log)$/.test(name)) await rename(join(folder, name), join(folder, 'lost', name));
    }
    const again = new DamagedArchive([folder]);
    await again.open();
    expect(again.blocks).toBe(BLOCKS);
    for (let height = 0; height < BLOCKS; height++) {
      expect((await again.block(height)) === undefined).toBe(height === 3);
    }
    await again.close();
  });
});

describe('two nodes that have lost different blocks', () => {
  it('heal from each other', async () => {
    await use(inTable);
    await spoil(blockAtKey(5));
    const one = await prepare({ clock: systemClock });
    const other = await temporary();
    const mine = path;
    try {
      path = other;
      await use(inTable);
      await spoil(blockAtKey(9));
      const two = await prepare({ clock: systemClock });
      for (const { healing, service } of [one, two]) {
        await healing.take();
        await service.start();
      }
      expect([one.archive.nextHeight, two.archive.nextHeight]).toEqual([5, 9]);
      connect(one.node, two.node, systemClock);
      while (one.removed.length === 0 || two.removed.length === 0) await settle();
      expect([one.archive.nextHeight, two.archive.nextHeight]).toEqual([BLOCKS, BLOCKS]);
      await closeAll();
    } finally {
      path = mine;
      await rm(other, { recursive: true });
    }
  });
});

describe('answers while the archive heals', () => {
  it('what is there is served; what was there before, and the newest, are "try again" and not "not found"', async () => {
    await use(inLog);
    await flipRecord(7);
    const { archive, healing, service, removed, clock } = await prepare();
    const incomplete = { code: 'archive_incomplete' };
    await expect(service.blockAt(3)).rejects.toMatchObject(incomplete);
    await healing.take();
    expect(await service.blockAt(3)).toMatchObject({ height: 3 });
    expect(await service.entry(chain.hash(3))).toMatchObject({ height: 3 });
    await expect(service.blockAt(7)).rejects.toMatchObject(incomplete);
    await expect(service.blockAt(15)).rejects.toMatchObject(incomplete);
    await expect(service.entry(chain.hash(12))).rejects.toMatchObject(incomplete);
    await expect(service.entry('nIndexedBlockHashKey_000000000000000c')).rejects.toMatchObject(incomplete);
    await expect(service.entry('nLastBlockHashKey')).rejects.toMatchObject(incomplete);
    await expect(service.latest()).rejects.toMatchObject(incomplete);
    await expect(service.item('of any hash')).rejects.toMatchObject(incomplete);
    // The archive never had these.
    expect(await service.blockAt(BLOCKS)).toBeUndefined();
    expect(await service.entry('nIndexedTxHashKey_0000000000000003_00000063')).toBeUndefined();

    await archive.store(chain.block(7));
    await until(clock, () => removed.length > 0);
    expect(await service.latest()).toMatchObject({ height: BLOCKS - 1 });
    expect(await service.entry('of no transaction')).toBeUndefined();
    expect(await service.item('of any hash')).toBeUndefined();
  });
});
