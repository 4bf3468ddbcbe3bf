/**
 * An archive whose files were damaged: a new one takes what can be read of it, and fetches the rest (docs/adr/0015, rule
 * P3).
 */

import { cp, mkdir, mkdtemp, readdir, readFile, rm, rmdir, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { encodeFullBlock } from '../../src/chain/codec.js';
import { DataDir } from '../../src/db/data-dir.js';
import type { Kv } from '../../src/db/kv.js';
import { damagedFolders, hasDamageNote, noteDamage } from '../../src/db/put-aside.js';
import { Salvage } from '../../src/db/salvage.js';
import { systemClock } from '../../src/lib/clock.js';
import { silentLogger } from '../../src/lib/logger.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { blockAtKey, blockKey, heightKey, transactionKey } from '../../src/storage/archive/layout.js';
import { encodeBlockRecord } from '../../src/storage/archive/records.js';
import { DamagedArchive } from '../../src/storage/heal/damaged-archive.js';
import { Healing } from '../../src/storage/heal/healing.js';
import { RunningStorageService } from '../../src/storage/storage-service.js';
import { connect, createFakeNode } from '../support/storage/fake-network.js';
import { toFormat1 } from '../support/storage/format-1.js';
import { CATCH_UP, createStorageNode, type StorageNode } from '../support/storage/storage-node.js';
import { createTestChain, RULES, type TestChain } from '../support/storage/test-chain.js';

const BLOCKS = 16;

let path: string;
let chain: TestChain;
let directory: DataDir | undefined;

const openDirectory = async (): Promise<DataDir> => {
  directory = await DataDir.open(path, { role: 'storage', networkName: 'test' });
  return directory;
};
const archiveFolder = (): string => join(path, 'db', 'archive');
const files = async (ending: string): Promise<string[]> =>
  (await readdir(archiveFolder())).filter((name) => name.endsWith(ending)).map((name) => join(archiveFolder(), name));

const manifest = async (): Promise<string> => {
  const name = (await readdir(archiveFolder())).find((other) => other.startsWith('MANIFEST'));
  return join(archiveFolder(), name ?? '');
};

/** A folder with an archive of `BLOCKS` blocks, in tables but for the last two, and another node that has them all. */
let made: string;
let other: StorageNode;

beforeAll(async () => {
  made = await mkdtemp(join(tmpdir(), 'tessera-healing-'));
  path = made;
  chain = createTestChain().grow(BLOCKS);
  other = await createStorageNode('other');
  await other.fill(chain, BLOCKS);
  for (const [from, to] of [
    [0, BLOCKS - 2],
    [BLOCKS - 2, BLOCKS],
  ]) {
    const folder = await openDirectory();
    const archive = await Archive.open({ rules: RULES }, { kv: await folder.open('archive') });
    for (const block of chain.blocks.slice(from, to)) await archive.store(block);
    await folder.close();
  }
});

afterAll(() => rm(made, { recursive: true }));

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'tessera-healing-'));
  await cp(made, path, { recursive: true });
  other.received.length = 0;
});

afterEach(async () => {
  await directory?.close();
  await rm(path, { recursive: true });
});

/** Changes records of the archive as a fault below LevelDB would that its checksums do not see. */
async function change(put: (batch: ReturnType<Kv['batch']>) => void): Promise<void> {
  const folder = await openDirectory();
  const kv = await folder.open('archive');
  const batch = kv.batch();
  put(batch);
  await kv.write(batch, { sync: true });
  await folder.close();
}

async function flip(file: string, at: (size: number) => number): Promise<void> {
  const bytes = await readFile(file);
  const offset = at(bytes.length);
  bytes[offset] = (bytes[offset] ?? 0) ^ 0x10;
  await writeFile(file, bytes);
}

/** Puts the archive aside and makes it anew, with another storage node that has everything if `withOther` says so. */
async function heal(withOther: boolean) {
  const folder = await openDirectory();
  await folder.putAside('archive');
  return takeFromDamaged(folder, withOther);
}

/** The start after an interrupted one. */
async function goOn() {
  return takeFromDamaged(await openDirectory(), false);
}

async function takeFromDamaged(folder: DataDir, withOther: boolean) {
  const archive = await Archive.open({ rules: RULES }, { kv: await folder.open('archive') });
  const damaged = new DamagedArchive(await damagedFolders(path, 'archive'));
  let done = 0;
  const healing = new Healing({
    archive,
    damaged,
    clock: systemClock,
    logger: silentLogger,
    metrics: noMetrics,
    onProgress: () => undefined,
    onDone: async () => void done++,
  });
  const node = createFakeNode('healing', 'storage');
  const service = new RunningStorageService(
    { catchUp: CATCH_UP },
    { archive, healing, network: node.network, clock: systemClock, logger: silentLogger },
  );
  await healing.take();
  const alone = archive.nextHeight;
  const fetched: number[] = [];
  if (withOther) {
    await service.start();
    connect(node, other.node, systemClock);
    while (archive.nextHeight < BLOCKS || (damaged.blocks === BLOCKS && done === 0))
      await new Promise((resolve) => setImmediate(resolve));
    for (const { type, body } of other.received) {
      const { from, count } = body as { from: number; count: number };
      if (type === 'blocks.get') for (let i = 0; i < count; i++) fetched.push(from + i);
    }
  }
  return { archive, healing, service, alone, fetched, blocks: damaged.blocks, done: () => done };
}

async function expectWhole(archive: Archive): Promise<void> {
  expect(await archive.verify()).toMatchObject({ blocks: BLOCKS });
  for (const [height, block] of chain.blocks.entries()) {
    const bytes = await archive.fullBlockBytes(height);
    expect(Buffer.from(bytes ?? []).equals(encodeFullBlock(block))).toBe(true);
  }
}

describe('an archive that is put aside', () => {
  it('is taken over by itself when all of it can be read', async () => {
    const { archive, alone, done, service } = await heal(false);
    expect(alone).toBe(BLOCKS);
    expect(done()).toBe(1);
    await expectWhole(archive);
    await service.stop();
  });

  it('is taken over when it is of data format 1', async () => {
    const folder = await openDirectory();
    await toFormat1(await folder.open('archive'));
    await folder.close();
    const { archive, alone, service } = await heal(false);
    expect(alone).toBe(BLOCKS);
    await expectWhole(archive);
    await service.stop();
  });

  it('is taken over by the numbers of its blocks where their hashes lead nowhere', async () => {
    await change((batch) => {
      for (const height of [3, 4, BLOCKS - 1]) batch.put(blockKey(chain.hash(height)), Buffer.from('another'));
    });
    const { archive, alone, service } = await heal(false);
    expect(alone).toBe(BLOCKS);
    await expectWhole(archive);
    await service.stop();
  });

  it('gives all but the block whose record is another: that one alone is fetched', async () => {
    const forged = encodeBlockRecord(0n, encodeFullBlock(chain.block(8)).subarray(0, 300));
    await change((batch) => batch.put(blockAtKey(7), forged));
    const { archive, alone, fetched, service, done } = await heal(true);
    expect(alone).toBe(7);
    expect(fetched).toEqual([7]);
    expect(done()).toBe(1);
    await expectWhole(archive);
    await service.stop();
  });

  it('says which block is missing, and keeps what it has, while no other node gives it', async () => {
    const lost = chain.block(12).block.transactions[0] ?? '';
    await change((batch) => batch.put(transactionKey(lost), Buffer.from('another')));
    const { archive, healing, service, done, blocks } = await heal(false);
    expect([archive.nextHeight, blocks]).toEqual([12, BLOCKS]);
    expect(healing.problem).toMatch(/^block 12 of 16 is damaged here and must come from another storage node/);
    expect(done()).toBe(0);
    // The mempool delivers it.
    await archive.store(chain.block(12));
    while (done() === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(healing.problem).toBeNull();
    await expectWhole(archive);
    await service.stop();
  });

  it('goes on after a restart, also when the new one is damaged in its turn', async () => {
    await change((batch) => batch.put(blockAtKey(5), Buffer.from('another')));
    const first = await heal(false);
    expect(first.alone).toBe(5);
    await first.service.stop();
    await directory?.close();
    const [log = ''] = await files('.log');
    await truncate(log, Math.floor((await stat(log)).size / 2));
    const { archive, alone, fetched, service } = await heal(true);
    expect(alone).toBe(5);
    expect(fetched).toEqual([5]);
    expect(await damagedFolders(path, 'archive')).toHaveLength(2);
    await expectWhole(archive);
    await service.stop();
  });
});

/** What kill -9 leaves at each step: `test/reliability/failpoint-rounds.ts` ends real nodes there. */
describe('healing that was interrupted', () => {
  /** What was put aside, after it was repaired and taken over; its removal has only begun. */
  async function healedOnce(): Promise<string> {
    const first = await heal(false);
    expect(first.alone).toBe(BLOCKS);
    await first.service.stop();
    await directory?.close();
    const [aside = ''] = await damagedFolders(path, 'archive');
    return aside;
  }

  it.each(['CURRENT', 'MANIFEST', '.ldb', 'repaired', 'LOCK'])(
    'goes on when only %s had been removed',
    async (part) => {
      const aside = await healedOnce();
      for (const name of await readdir(aside)) if (name.includes(part)) await rm(join(aside, name));
      const { archive, service, done } = await goOn();
      expect(done()).toBe(1);
      await expectWhole(archive);
      await service.stop();
    },
  );

  it('goes on when nothing but the empty folder was left', async () => {
    const aside = await healedOnce();
    for (const name of await readdir(aside)) await rm(join(aside, name), { recursive: true });
    const { archive, service, done } = await goOn();
    expect(done()).toBe(1);
    await expectWhole(archive);
    await service.stop();
  });

  it('keeps what was put aside while the system does not let it be repaired, whatever other nodes give', async () => {
    const folder = await openDirectory();
    await folder.putAside('archive');
    const [aside = ''] = await damagedFolders(path, 'archive');
    // LevelDB cannot write its MANIFEST.
    await mkdir(join(aside, '000001.dbtmp'));
    await expect(takeFromDamaged(folder, false)).rejects.toMatchObject({ code: 'database_failed' });
    await folder.close();
    await rmdir(join(aside, '000001.dbtmp'));
    const { archive, service, alone } = await goOn();
    expect(alone).toBe(BLOCKS);
    await expectWhole(archive);
    await service.stop();
  });

  it('goes on when LevelDB had repaired nothing or a part of it', async () => {
    const folder = await openDirectory();
    await folder.putAside('archive');
    await folder.close();
    const [aside = ''] = await damagedFolders(path, 'archive');
    // A repair moves what it has read to a folder of its own, and writes CURRENT last.
    await rm(join(aside, 'CURRENT'));
    const { archive, service, done } = await goOn();
    expect(done()).toBe(1);
    await expectWhole(archive);
    await service.stop();
  });
});

describe('a file that is damaged', () => {
  it.each([
    ['a flipped byte in the middle of a table', async () => flip((await files('.ldb'))[0] ?? '', (size) => size >> 1)],
    ['a flipped byte at the end of a table', async () => flip((await files('.ldb'))[0] ?? '', (size) => size - 60)],
    ['an emptied table', async () => truncate((await files('.ldb'))[0] ?? '', 0)],
    ['a lost table', async () => rm((await files('.ldb'))[0] ?? '')],
    ['a flipped byte in the log', async () => flip((await files('.log'))[0] ?? '', (size) => size >> 1)],
    ['a lost log', async () => rm((await files('.log'))[0] ?? '')],
    ['a flipped byte in the MANIFEST', async () => flip(await manifest(), (size) => size >> 1)],
    ['a lost MANIFEST', async () => rm(await manifest())],
    ['a CURRENT that names nothing', async () => writeFile(join(archiveFolder(), 'CURRENT'), 'MANIFEST\n')],
    ['a lost CURRENT', async () => rm(join(archiveFolder(), 'CURRENT'))],
    ['a lost folder', async () => rm(archiveFolder(), { recursive: true })],
  ])('%s: is refused by name, and healed from what is left and another node', async (_what, damage) => {
    await damage();
    const folder = await openDirectory();
    await expect(folder.open('archive')).rejects.toMatchObject({
      code: expect.stringMatching(/^data_(corrupt|lost)$/),
      message: expect.stringMatching(/run tessera rebuild/),
    });
    await folder.close();
    const { archive, service } = await heal(true);
    await expectWhole(archive);
    await service.stop();
  });

  it('leaves the blocks readable that are not in the damaged part of it', async () => {
    const [table = ''] = await files('.ldb');
    await flip(table, (size) => size >> 1);
    const { fetched, service, archive } = await heal(true);
    expect(fetched.length).toBeGreaterThan(0);
    expect(fetched.length).toBeLessThan(BLOCKS - 2);
    await expectWhole(archive);
    await service.stop();
  });
});

describe('a table whose blocks are whole', () => {
  it.each([
    ['its index is damaged', async (table: string) => flip(table, (size) => size - 60)],
    ['its end is damaged', async (table: string) => flip(table, (size) => size - 5)],
    ['its end is cut off', async (table: string) => truncate(table, (await stat(table)).size - 70)],
  ])('gives all of them, although %s', async (_what, damage) => {
    await damage((await files('.ldb'))[0] ?? '');
    const { archive, alone, service, done } = await heal(false);
    expect(alone).toBe(BLOCKS);
    expect(done()).toBe(1);
    await expectWhole(archive);
    await service.stop();
  });

  it('gives those before the place where it was cut', async () => {
    const [table = ''] = await files('.ldb');
    await truncate(table, (await stat(table)).size >> 1);
    const folder = await openDirectory();
    await folder.putAside('archive');
    const [aside = ''] = await damagedFolders(path, 'archive');
    const salvage = await Salvage.open(aside);
    let found = 0;
    for (const block of chain.blocks.slice(0, -2)) {
      for (const hash of block.block.transactions) if (await salvage.get(transactionKey(hash))) found++;
    }
    await salvage.close();
    expect(found).toBeGreaterThan(0);
    const { archive, service } = await takeFromDamaged(folder, true);
    await expectWhole(archive);
    await service.stop();
  });
});

it('a row of damaged records that name blocks by their numbers is bridged from the blocks behind it', async () => {
  await change((batch) => {
    for (const height of [4, 5, 6, 13, 14, 15]) batch.put(heightKey(height), Buffer.from('another'));
  });
  const { archive, alone, service, done } = await heal(false);
  expect(alone).toBe(BLOCKS);
  expect(done()).toBe(1);
  await expectWhole(archive);
  await service.stop();
});

describe('damage that a running node has met', () => {
  it('is noted, and the next start reads every byte', async () => {
    const folder = await openDirectory();
    await noteDamage(path, 'archive');
    expect(hasDamageNote(path, 'archive')).toBe(true);
    await folder.open('archive');
    await folder.putAside('archive');
    expect(hasDamageNote(path, 'archive')).toBe(false);
  });
});
