/**
 * The image of the unspent outputs: a start that reads it has the state that its records have, or reads these (docs/adr/0050),
 * whatever has happened to either of them.
 */

import { copyFile, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { OutPoint, TxOut } from '../../src/chain/types.js';
import type { Kv, KvBatch, KvRange } from '../../src/db/kv.js';
import { writesOf } from '../../src/db/record.js';
import { UtxoTable } from '../../src/ledger/utxo/utxo-table.js';
import { asBuffer } from '../../src/lib/bytes.js';
import { systemClock } from '../../src/lib/clock.js';
import { TesseraError } from '../../src/lib/errors.js';
import { atOnce } from '../../src/lib/pieces.js';
import { SignalSource } from '../../src/lib/signal.js';
import { ImageWriter, readImage } from '../../src/mempool/image/image-file.js';
import { OutputImage } from '../../src/mempool/image/output-image.js';
import { beginTaking, isCopied } from '../../src/mempool/replicas/snapshot-records.js';
import { keys, ranges } from '../../src/mempool/state/layout.js';
import { loadMempoolState } from '../../src/mempool/state/load.js';
import type { MempoolState } from '../../src/mempool/state/state.js';
import { StateStore } from '../../src/mempool/state/state-store.js';
import { withWrite } from '../support/kv.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, rulesFor } from '../support/mempool.js';
import { createSeededRandom } from '../support/peers.js';
import { fc, test } from '../support/property.js';
import { alice, bob, newFolder as mempoolFolder, send, setUp, stored } from './running.js';

const rules = rulesFor([account('alice')]);
const hashKey = new Uint8Array(8).fill(9);
const ID = '0123456789abcdef0123456789abcdef';

const cleanups: (() => Promise<unknown>)[] = [];
async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}
afterEach(cleanUp);

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-image-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const hex = (i: number, length: number): string => i.toString(16).padStart(length, '0');
const outPoint = (i: number): OutPoint => ({ tHash: `g${hex(i, 31)}`, n: i % 3 });

/** Of each kind that a row can have, and of those that no row has. */
function output(i: number): TxOut {
  const addresses = [hex(i, 64), `H${hex(i, 63)}`, hex(i, 32), 'a'.repeat(64), null, 'an odd address'];
  const item = { kind: 'item' as const, amount: BigInt(i), genesisHash: null, metadata: `number ${i}` };
  return {
    value: i % 50 === 7 ? item : { kind: 'token', amount: BigInt(i) << 30n },
    locktime: i % 40 === 3 ? 2n ** 40n : BigInt(i % 5),
    scriptPublicKey: addresses[i % addresses.length] ?? null,
  };
}

/** Nodes so far: each draws other ids for its images, and the same ones in every run. */
let nodes = 0;

/** A state whose commands change outputs, with its database and its image. */
async function createNode(
  folder: string,
  { kv = new MemoryKv() as Kv, dueChanges = 1, betweenCommands = <T>(work: () => Promise<T>) => work() } = {},
) {
  const warnings: string[] = [];
  const logger = { debug: () => undefined, info: () => undefined, error: () => undefined };
  const warn = (_: object, text: string): void => void warnings.push(text);
  const modules = {
    kv,
    random: createSeededRandom(`image ${nodes++}`),
    clock: systemClock,
    logger: { ...logger, warn },
  };
  const image = await OutputImage.open({ folder, minOutputs: 1, dueChanges }, modules);
  cleanups.push(() => image.stop());
  const state = await loadMempoolState(kv, rules, { hashKey, image });
  const store = new StateStore(kv, systemClock);
  const applier = { applied: new SignalSource<void>(), betweenCommands };
  const node = {
    kv,
    image,
    state,
    warnings,
    start: () => image.start({ state, store, applier }),
    /** One command that adds and removes outputs of these numbers; `meanwhile` goes on between two pieces of noting them. */
    async change(
      added: readonly number[],
      removed: readonly number[] = [],
      meanwhile = async (): Promise<void> => undefined,
    ): Promise<void> {
      const batch = kv.batch();
      for (const i of added) state.coins.insert(outPoint(i), output(i), batch);
      for (const i of removed) state.coins.spend(outPoint(i), batch);
      await node.seal(batch, meanwhile);
    },
    /** The end of a command whose changes are in the batch. */
    async seal(batch: KvBatch, meanwhile = async (): Promise<void> => undefined): Promise<void> {
      const seq = state.seq + 1;
      state.seal(seq, batch);
      const noting = image.note(batch, seq);
      if (noting.next().done !== true) {
        await meanwhile();
        atOnce(noting);
      }
      await store.write(batch, { sync: false });
      applier.applied.emit();
    },
  };
  return node;
}

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

/** A node that has an image of its outputs, and `later` changes since. */
async function imagedNode(folder: string, count = 300, kv?: Kv) {
  const node = await createNode(folder, { dueChanges: Number.POSITIVE_INFINITY, ...(kv && { kv }) });
  await node.change(numbers(0, count));
  node.start();
  await node.image.settled();
  return node;
}

async function copyOf(kv: Kv): Promise<MemoryKv> {
  const copy = new MemoryKv();
  const batch = copy.batch();
  for await (const [key, value] of kv.entries({ gte: Uint8Array.of(0), lt: Uint8Array.of(0xff) }))
    batch.put(key, value);
  await copy.write(batch, { sync: true });
  return copy;
}

/** The ranges that are read of a database. */
function counted(kv: Kv) {
  const read: KvRange[] = [];
  const entries = (range: KvRange) => {
    read.push(range);
    return kv.entries(range);
  };
  const wrapped: Kv = {
    get: (key) => kv.get(key),
    getMany: (many) => kv.getMany(many),
    batch: () => kv.batch(),
    write: (batch, options) => kv.write(batch, options),
    close: () => kv.close(),
    entries,
  };
  return { kv: wrapped, hasRead: (range: KvRange) => read.includes(range) };
}

/** Starts again, with the image and without. */
async function restart(folder: string, kv: Kv) {
  const database = counted(kv);
  const node = await createNode(folder, { kv: database.kv, dueChanges: Number.POSITIVE_INFINITY });
  const fromRecords = await loadMempoolState(kv, rules, { hashKey });
  expect(node.state.digest()).toBe(fromRecords.digest());
  expect(outputsOf(node.state)).toEqual(outputsOf(fromRecords));
  return { node, hasReadRecords: database.hasRead(ranges.utxos) };
}

function outputsOf({ utxos }: Pick<MempoolState, 'utxos'>): readonly [string, TxOut][] {
  const all = [...utxos.slots()].map((slot): [string, TxOut] => {
    const { tHash, n } = utxos.outPoint(slot);
    return [`${tHash}:${n}`, utxos.output(slot)];
  });
  return all.sort(([a], [b]) => (a < b ? -1 : 1));
}

const files = async (folder: string): Promise<string[]> => (await readdir(folder)).map((file) => join(folder, file));
async function fileOf(folder: string): Promise<string> {
  const [file, ...others] = await files(folder);
  expect(others).toEqual([]);
  return file ?? '';
}

describe('a start with an image', () => {
  it('reads no record of an output, and has the state', async () => {
    const folder = await newFolder();
    const { kv } = await imagedNode(folder);
    const { node, hasReadRecords } = await restart(folder, kv);
    expect(hasReadRecords).toBe(false);
    expect(node.warnings).toEqual([]);
    expect(node.state.utxos.size).toBe(300);
  });

  it('has what was added and removed since the image was made', async () => {
    const folder = await newFolder();
    const node = await imagedNode(folder);
    await node.change([500, 501, 502], [1, 2, 3]);
    await node.change([2], [500]);
    const { node: again, hasReadRecords } = await restart(folder, node.kv);
    expect(hasReadRecords).toBe(false);
    expect(again.state.utxos.size).toBe(300);
  });

  it('has changes of more outputs than are read at a time', async () => {
    const folder = await newFolder();
    const node = await imagedNode(folder, 2_000);
    await node.change(numbers(2_000, 3_700), numbers(0, 1_300));
    await node.change(numbers(500, 700), numbers(2_000, 2_100));
    const { hasReadRecords } = await restart(folder, node.kv);
    expect(hasReadRecords).toBe(false);
  });

  it('replaces the image when enough has changed, and forgets what that one has', async () => {
    const folder = await newFolder();
    const node = await createNode(folder);
    node.start();
    await node.change(numbers(0, 100));
    await node.image.settled();
    const first = await fileOf(folder);
    await node.change(numbers(100, 200), numbers(0, 50));
    await node.image.settled();
    expect(await fileOf(folder)).not.toBe(first);
    const noted: Uint8Array[] = [];
    for await (const [key] of node.kv.entries(ranges.changed)) noted.push(key);
    expect(noted).toEqual([]);
    expect((await restart(folder, node.kv)).hasReadRecords).toBe(false);
  });

  it('is not replaced before its time, where it was finished while changes were noted', async () => {
    const folder = await newFolder();
    const node = await createNode(folder, { dueChanges: 4_000 });
    node.start();
    await node.change(numbers(0, 100));
    await node.image.settled();
    const first = await fileOf(folder);
    // The second image is begun with these, and finished between two pieces of the next command.
    await node.change(numbers(100, 4_200));
    await node.change(numbers(5_000, 7_100), [], () => node.image.settled());
    const second = await fileOf(folder);
    expect(second).not.toBe(first);
    await node.change([8_000]);
    await node.image.settled();
    expect(await fileOf(folder)).toBe(second);
    expect((await restart(folder, node.kv)).hasReadRecords).toBe(false);
  });

  it('is right when outputs came and went while the image was written', async () => {
    const folder = await newFolder();
    const node = await createNode(folder, { dueChanges: Number.POSITIVE_INFINITY });
    await node.change(numbers(0, 12_000));
    node.start();
    let isWriting = true;
    const writing = node.image.settled().then(() => {
      isWriting = false;
    });
    for (let i = 0; i < 40 || isWriting; i++) {
      await node.change([30_000 + i, 40_000 + i], [i * 5, 11_999 - i * 5]);
      if (i % 2 === 0) await node.change([i * 5], [30_000 + i]);
      if (i > 1_000) break;
    }
    await writing;
    const { hasReadRecords } = await restart(folder, node.kv);
    expect(hasReadRecords).toBe(false);
  });
});

describe('an image that becomes whole in the middle of a command', () => {
  it('is in force once that is written: what it has of the command, the records have', async () => {
    const folder = await newFolder();
    let atName: MemoryKv | undefined;
    const whole = new MemoryKv();
    const kv = withWrite(whole, async (batch, options) => {
      const isName = writesOf(batch).some(({ key }) => asBuffer(key).equals(keys.image));
      await whole.write(batch, options);
      if (isName) atName ??= await copyOf(whole);
    });
    let finish = (): Promise<void> => Promise.resolve();
    const betweenCommands = async <T>(work: () => Promise<T>): Promise<T> => {
      await finish();
      return work();
    };
    const node = await createNode(folder, { kv, dueChanges: Number.POSITIVE_INFINITY, betweenCommands });
    await node.change(numbers(0, 300));
    const batch = kv.batch();
    for (const i of numbers(400, 450)) node.state.coins.insert(outPoint(i), output(i), batch);
    finish = async () => {
      finish = () => Promise.resolve();
      await node.seal(batch);
    };
    node.start();
    await node.image.settled();
    await finish();
    // The process ends there.
    const { node: again, hasReadRecords } = await restart(folder, atName ?? kv);
    expect(again.warnings).toEqual([]);
    expect(hasReadRecords).toBe(false);
    expect(again.state.utxos.size).toBe(350);
  });
});

describe('an image that cannot be believed', () => {
  const attacks: Record<string, (file: string, folder: string) => Promise<unknown>> = {
    'is gone': (file) => rm(file),
    'is empty': (file) => writeFile(file, ''),
    'is cut in its head': (file) => truncate(file, 20),
    'is cut in the middle': (file) => truncate(file, 9_000),
    'lacks its last byte': async (file) => truncate(file, (await readFile(file)).length - 1),
    'lacks its end': async (file) => truncate(file, (await readFile(file)).length - 20),
  };
  for (const [name, attack] of Object.entries(attacks)) {
    it(`${name}: the records are read, and the log says so`, async () => {
      const folder = await newFolder();
      const { kv } = await imagedNode(folder);
      await attack(await fileOf(folder), folder);
      const { node, hasReadRecords } = await restart(folder, kv);
      expect(hasReadRecords).toBe(true);
      expect(node.warnings).toEqual([expect.stringContaining('the image of the unspent outputs cannot be used')]);
      // The next start does not try it again, and a new one is made.
      expect((await restart(folder, kv)).node.warnings).toEqual([]);
      node.start();
      await node.image.settled();
      expect((await restart(folder, kv)).hasReadRecords).toBe(false);
    });
  }

  test.prop([fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), fc.nat(7)], { numRuns: 40 })(
    'has one bit flipped, anywhere: the records are read',
    async (place, bit) => {
      await cleanUp();
      const folder = await newFolder();
      const { kv } = await imagedNode(folder, 60);
      const file = await fileOf(folder);
      const bytes = await readFile(file);
      const at = Math.floor(place * bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
      await writeFile(file, bytes);
      expect((await restart(folder, kv)).hasReadRecords).toBe(true);
    },
  );

  it('is of an older moment, under the name of the one in force', async () => {
    const folder = await newFolder();
    const node = await createNode(folder);
    node.start();
    await node.change(numbers(0, 100));
    await node.image.settled();
    const older = join(await newFolder(), 'older');
    await copyFile(await fileOf(folder), older);
    await node.change(numbers(200, 220), [1]);
    await node.image.settled();
    await rename(older, await fileOf(folder));
    expect((await restart(folder, node.kv)).hasReadRecords).toBe(true);
  });

  it('is of another folder', async () => {
    const [folder, other] = [await newFolder(), await newFolder()];
    const { kv } = await imagedNode(folder);
    await imagedNode(other, 299);
    await copyFile(await fileOf(other), await fileOf(folder));
    expect((await restart(folder, kv)).hasReadRecords).toBe(true);
  });

  it('is right, and what was noted since then is not whole: the digest says so', async () => {
    const folder = await newFolder();
    const node = await imagedNode(folder);
    await node.change([500], [1]);
    await node.kv.write(node.kv.batch().del(keys.changed(node.state.seq)), { sync: true });
    const { node: again, hasReadRecords } = await restart(folder, node.kv);
    expect(hasReadRecords).toBe(true);
    expect(again.warnings).toEqual([expect.stringContaining('the state does not match the records')]);
  });

  it('is of a later moment than the database, which was put back', async () => {
    const folder = await newFolder();
    const node = await imagedNode(folder);
    const saved = await copyOf(node.kv);
    await node.change(numbers(1_000, 1_100), [5]);
    const again = await createNode(folder, { kv: node.kv });
    again.start();
    await again.change([2_000]);
    await again.image.settled();
    // The file that the old records name was removed with the new one.
    expect((await restart(folder, saved)).hasReadRecords).toBe(true);
  });

  it('is of an older format: it is none, and its file goes', async () => {
    const folder = await newFolder();
    const { kv } = await imagedNode(folder);
    const name = (await kv.get(keys.image)) ?? new Uint8Array();
    const { format, ...older } = JSON.parse(Buffer.from(name).toString()) as Record<string, unknown>;
    expect(format).toBe(2);
    await kv.write(kv.batch().put(keys.image, Buffer.from(JSON.stringify(older))), { sync: true });
    const { node, hasReadRecords } = await restart(folder, kv);
    expect(hasReadRecords).toBe(true);
    expect(node.warnings).toEqual([]);
    expect(await files(folder)).toEqual([]);
    node.start();
    await node.image.settled();
    expect((await restart(folder, kv)).hasReadRecords).toBe(false);
  });

  it('was written by a program that notes no changes any more', async () => {
    const folder = await newFolder();
    const { kv, state } = await imagedNode(folder);
    const batch = kv.batch();
    state.coins.spend(outPoint(7), batch);
    state.seal(state.seq + 1, batch);
    await kv.write(batch, { sync: true });
    expect((await restart(folder, kv)).hasReadRecords).toBe(true);
  });

  it('is wrong while the disk takes no write: the node starts all the same', async () => {
    const folder = await newFolder();
    const { kv } = await imagedNode(folder);
    await truncate(await fileOf(folder), 100);
    const full = withWrite(kv, async () => {
      throw new TesseraError('database_failed', 'no room');
    });
    const { node, hasReadRecords } = await restart(folder, full);
    expect([node.state.utxos.size, hasReadRecords]).toEqual([300, true]);
    expect(node.warnings).toContain('the image could not be given up now');
  });

  it('is not whole, because the process ended: it has no name, and its file goes', async () => {
    const folder = await newFolder();
    const { kv } = await imagedNode(folder);
    const unfinished = join(folder, `${ID}.utxos`);
    await writeFile(unfinished, 'half');
    const { hasReadRecords } = await restart(folder, kv);
    expect(hasReadRecords).toBe(false);
    expect(await files(folder)).not.toContain(unfinished);
  });
});

describe('while an image is in use', () => {
  it('damage of the records is found, named, and met by the next start too (rule P3)', async () => {
    const folder = await newFolder();
    const { kv } = await imagedNode(folder);
    await kv.write(kv.batch().del(keys.utxo(outPoint(11))), { sync: true });
    const node = await createNode(folder, { kv });
    expect(node.warnings).toEqual([]);
    const failed = node.image.failed.catch((error: unknown) => error);
    node.start();
    expect(await failed).toMatchObject({ code: 'data_corrupt' });
    await expect(createNode(folder, { kv })).rejects.toMatchObject({ code: 'data_corrupt' });
  });

  it('records that are right are found right', async () => {
    const folder = await newFolder();
    const { kv } = await imagedNode(folder, 1_200);
    const node = await createNode(folder, { kv });
    node.start();
    let problem: unknown;
    node.image.failed.catch((error: unknown) => {
      problem = error;
    });
    await node.image.checked();
    expect(problem).toBeUndefined();
  });

  it('one that cannot be replaced stays in force, until too much was noted since', async () => {
    const folder = join(await newFolder(), 'image');
    const node = await createNode(folder, { dueChanges: 10 });
    node.start();
    await node.change(numbers(0, 100));
    await node.image.settled();
    const moved = join(await newFolder(), 'moved');
    await rename(folder, moved);
    await writeFile(folder, 'in the way');
    await node.change(numbers(100, 110));
    await node.image.settled();
    expect(node.warnings).toEqual([expect.stringContaining('no image of the unspent outputs could be made')]);
    expect((await restart(moved, node.kv)).hasReadRecords).toBe(false);
    for (let i = 110; i < 500; i += 10) {
      if ((await node.kv.get(keys.image)) === undefined) break;
      await node.change(numbers(i, i + 10));
      await node.image.settled();
    }
    expect(await node.kv.get(keys.image)).toBeUndefined();
    for await (const _ of node.kv.entries(ranges.changed)) throw new Error('something is noted still');
    expect((await restart(moved, node.kv)).hasReadRecords).toBe(true);
  });

  it('on a disk that takes nothing for a while, nothing is deleted twice, and no room is asked for again and again', async () => {
    const inner = new MemoryKv();
    const disk = { isFull: false, refused: 0, looks: 0 };
    const full = withWrite(inner, async (batch, options) => {
      if (disk.isFull && disk.refused++ < 2) throw new TesseraError('database_failed', 'no room');
      await inner.write(batch, options);
      // From the moment on at which the new image is in force.
      if (writesOf(batch).some(({ key }) => key[0] === keys.image[0])) disk.isFull = true;
    });
    const entries = (range: KvRange) => {
      if (range.gte[0] === ranges.changed.gte[0] && ++disk.looks > 20) throw new Error('it looks again and again');
      return inner.entries(range);
    };
    const node = await createNode(await newFolder(), { kv: { ...full, entries } });
    node.start();
    await node.change(numbers(0, 100));
    await node.image.settled();
    disk.isFull = false;
    await node.change(numbers(100, 200));
    await node.image.settled();
    expect(disk.refused).toBeGreaterThan(1);
    expect(node.warnings).toEqual([]);
    for await (const _ of inner.entries(ranges.changed)) throw new Error('something is noted still');
  });

  it('nothing of it is given to another node, and a node that takes a state keeps nothing of its own', async () => {
    const folder = await newFolder();
    const node = await imagedNode(folder);
    await node.change([400]);
    const ofImage = [keys.image, keys.changed(node.state.seq)];
    expect(await node.kv.getMany(ofImage)).not.toContain(undefined);
    expect(ofImage.map(isCopied)).toEqual([false, false]);
    await beginTaking(node.kv);
    expect(await node.kv.getMany(ofImage)).toEqual([undefined, undefined]);
  });
});

describe('a mempool', () => {
  it('makes an image, and starts with it', async () => {
    // Both are removed after the nodes have been closed.
    const [folder, images] = [await mempoolFolder(), await mempoolFolder()];
    const image = { folder: images, minOutputs: 1, dueChanges: 1 };
    const first = await setUp({ folder, image });
    await stored(first.mempool, 0);
    await first.mempool.submit([send(alice, 0, bob)]);
    await stored(first.mempool, 1);
    await expect.poll(() => files(images), { timeout: 60_000 }).toHaveLength(1);
    const digest = first.mempool.digest();
    await first.close();
    expect(await files(images)).toHaveLength(1);
    const lines: string[] = [];
    const again = await setUp({ folder, image, logged: (text) => lines.push(text), miners: [] });
    expect(again.mempool.digest()).toBe(digest);
    expect(lines).toContain('the unspent outputs were read from their image');
  });
});

describe('the file of an image', () => {
  test.prop([fc.uniqueArray(fc.nat(5_000), { maxLength: 400 }), fc.array(fc.nat(5_000), { maxLength: 100 })], {
    numRuns: 30,
  })('gives the table that was written, whatever came and went before', async (added, removed) => {
    await cleanUp();
    const table = new UtxoTable(hashKey);
    for (const i of added) table.insert(outPoint(i), output(i));
    for (const i of removed) if (table.find(outPoint(i)) !== 0) table.remove(table.find(outPoint(i)));
    const file = join(await newFolder(), 'file');
    const begun = { id: ID, seq: 3 };
    const writer = await ImageWriter.create(file, begun, table);
    while (await writer.next());
    const facts = await writer.finish();
    await writer.close();
    const read = new UtxoTable(new Uint8Array(8).fill(1));
    await readImage(file, { ...begun, ...facts }, read, () => undefined);
    expect(read.digest).toEqual(table.digest);
    expect(outputsOf({ utxos: read })).toEqual(outputsOf({ utxos: table }));
  });
});
