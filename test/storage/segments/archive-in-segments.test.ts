/** An archive whose blocks are in segments: its database is made from them, and each block has its place (rules P1, P2, P3, P7). */

import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeTransaction } from '../../../src/chain/codec.js';
import { transactionHash } from '../../../src/chain/hash.js';
import type { FullBlock } from '../../../src/chain/types.js';
import { DataDir } from '../../../src/db/data-dir.js';
import { prefixRange } from '../../../src/db/keys.js';
import type { Kv } from '../../../src/db/kv.js';
import { hasDamageNote, noteDamage } from '../../../src/db/put-aside.js';
import { openArchiveFiles, remakeArchiveFiles } from '../../../src/node/archive-files.js';
import { Archive } from '../../../src/storage/archive/archive.js';
import { pack } from '../../../src/storage/segments/pack.js';
import { Segments } from '../../../src/storage/segments/segments.js';
import { encodeFullBlock } from '../../support/full-block.js';
import { withWrite } from '../../support/kv.js';
import { toFormat1 } from '../../support/storage/format-1.js';
import { createTestChain, RULES, type TestChain } from '../../support/storage/test-chain.js';

const BLOCKS = 12;
const MAX_BYTES = 4_000;
/** Ranges of the records of data formats 1 and 2. */
const OLD_RECORDS = ['b', 'h', 'i', 'n', 't', 'x'].map(prefixRange);

let path: string;
let directory: DataDir;
let kv: Kv;
let segments: Segments | undefined;
let chain: TestChain;

/** Called after each look into the database of `afterLooks`, before its answer is given. */
let moves: () => Promise<void> = async () => undefined;

function afterLooks(kv: Kv): Kv {
  const moved = async <T>(looked: Promise<T>): Promise<T> => {
    const found = await looked;
    await moves();
    return found;
  };
  const looking = {
    get: (key: Uint8Array) => moved(kv.get(key)),
    getMany: (keys: readonly Uint8Array[]) => moved(kv.getMany(keys)),
  };
  return { ...withWrite(kv, (batch, options) => kv.write(batch, options)), ...looking };
}

/** Opens the folder as the process after a restart does. */
async function reopen(
  options: { readonly inSegments?: boolean; readonly wrap?: (kv: Kv) => Kv } = {},
): Promise<Archive> {
  await segments?.close();
  await directory?.close();
  directory = await DataDir.open(path, { role: 'storage', networkName: 'test' });
  segments =
    options.inSegments === false ? undefined : await Segments.open(join(path, 'segments'), { maxBytes: MAX_BYTES });
  kv = await directory.open('archive', { mayBeGone: segments?.isWhole === true });
  const { wrap = (same: Kv) => same } = options;
  return Archive.open({ rules: RULES, cacheBytes: 1 }, { kv: wrap(kv), ...(segments && { segments }) });
}

async function fill(archive: Archive, to = BLOCKS): Promise<void> {
  chain.grow(to);
  for (const block of chain.blocks.slice(archive.nextHeight, to)) await archive.store(block);
}

async function answers(archive: Archive): Promise<string[]> {
  const found: string[] = [];
  for (const [i, { block, miningTransaction }] of chain.blocks.entries()) {
    const keys = [chain.hash(i), ...block.transactions, transactionHash(miningTransaction)];
    const index = i.toString(16).padStart(16, '0');
    for (const key of [...keys, `nIndexedBlockHashKey_${index}`, `nIndexedTxHashKey_${index}_00000000`])
      found.push(Buffer.from((await archive.entry(key))?.json ?? `no ${key}`).toString());
    found.push(Buffer.from((await archive.fullBlockBytes(i)) ?? []).toString('hex'));
  }
  return found;
}

const files = async (ending: string): Promise<string[]> =>
  (await readdir(join(path, 'segments'))).filter((name) => name.endsWith(ending)).sort();

async function flip(name: string, at: (bytes: Buffer) => number): Promise<void> {
  const file = join(path, 'segments', name);
  const bytes = await readFile(file);
  const offset = at(bytes);
  bytes[offset] = (bytes[offset] ?? 0) ^ 1;
  await chmod(file, 0o600);
  await writeFile(file, bytes);
}

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'tessera-in-segments-'));
  chain = createTestChain().grow(BLOCKS);
});
afterEach(async () => {
  await segments?.close();
  await directory?.close();
  await rm(path, { recursive: true });
});

describe('an archive in segments', () => {
  it('answers as one in records does, and keeps no block in its database', async () => {
    const inRecords = await reopen({ inSegments: false });
    await fill(inRecords);
    const expected = await answers(inRecords);
    expect(expected.filter((text) => text.startsWith('no '))).toEqual([]);
    await directory.close();
    await rm(path, { recursive: true });
    const archive = await reopen();
    await fill(archive);
    expect(await answers(archive)).toEqual(expected);
    const again = await reopen();
    expect(await answers(again)).toEqual(expected);
    expect(await again.verify()).toEqual({ blocks: BLOCKS, transactions: BLOCKS * 3 });
    expect((await files('.blocks')).length).toBeGreaterThan(2);
    for (const range of OLD_RECORDS) for await (const [key] of kv.entries(range)) expect.fail(`${key}`);
    expect(await again.lookups.blocksFrom(chain.hash(3).slice(0, 9), 5)).toEqual([chain.hash(3)]);
    const [name = ''] = chain.block(4).block.transactions;
    expect(await again.lookups.transactionsFrom(name.slice(0, 10), 5)).toEqual([name]);
    expect(await again.lookups.transactionsFrom(`${name}0`, 5)).toEqual([]);
  });

  it('makes its database again when that is gone, and a kill in the middle undoes nothing (rules P2, P7)', async () => {
    await fill(await reopen());
    const expected = await answers(await reopen());
    await directory.close();
    await rm(join(path, 'db', 'archive'), { recursive: true });
    await rm(join(path, 'db', 'archive.seal'));
    const archive = await reopen();
    expect([archive.nextHeight, archive.ahead]).toEqual([0, BLOCKS]);
    const abort = new AbortController();
    const stopped = archive.load(({ height }) => height === 5 && abort.abort(), abort.signal);
    await expect(stopped).rejects.toMatchObject({ code: 'aborted' });
    const again = await reopen();
    expect([again.nextHeight, again.ahead]).toEqual([5, BLOCKS - 5]);
    const progress: number[] = [];
    await again.load(({ height, target }) => progress.push(height, target));
    expect(progress.slice(0, 4)).toEqual([6, BLOCKS, 7, BLOCKS]);
    expect(await answers(again)).toEqual(expected);
    expect(await again.verify()).toEqual({ blocks: BLOCKS, transactions: BLOCKS * 3 });
    await fill(again, BLOCKS + 2);
    expect((await reopen()).nextHeight).toBe(BLOCKS + 2);
  });

  it('takes a block back whose batch failed, and in after the next start', async () => {
    const archive = await reopen();
    await fill(archive, 5);
    const failing = withWrite(kv, () => Promise.reject(new Error('no room')));
    const full = await Archive.open({ rules: RULES }, { kv: failing, ...(segments && { segments }) });
    await expect(full.store(chain.block(5))).rejects.toThrow('no room');
    expect(segments?.next).toBe(5);
    const again = await reopen();
    expect([again.nextHeight, again.ahead]).toEqual([5, 1]);
    await again.load();
    expect(again.tip.hash).toBe(chain.hash(5));
  });

  it('is named data_lost when a segment has lost what its database names', async () => {
    await fill(await reopen());
    const [open = ''] = await files('.open');
    await truncate(join(path, 'segments', open), 10);
    await expect(reopen()).rejects.toMatchObject({ code: 'data_lost', message: expect.stringContaining(open) });
    await segments?.close();
    await directory.close();
    directory = await DataDir.open(path, { role: 'storage', networkName: 'test' });
    const { kv: made, segments: kept } = await remakeArchiveFiles(directory);
    const archive = await Archive.open({ rules: RULES }, { kv: made, segments: kept });
    await archive.load();
    expect(archive.nextHeight).toBe(Number(open.slice(0, 10)));
    await fill(archive);
    expect(archive.nextHeight).toBe(BLOCKS);
  });
});

describe('a damaged segment (rule P3)', () => {
  const incomplete = { code: 'data_corrupt' };

  it('is named, all else is read, and the block is taken again into its place', async () => {
    await fill(await reopen());
    const expected = await answers(await reopen());
    const names = await files('s');
    const [, second = ''] = names;
    const height = Number(second.slice(0, 10));
    const sound = await readFile(join(path, 'segments', second));
    const [name = ''] = chain.block(height).block.transactions;
    const coinbase = pack(encodeTransaction(chain.block(height).miningTransaction));
    await flip(second, (bytes) => bytes.indexOf(coinbase) + 4);
    const damaged = await reopen();
    await expect(damaged.fullBlockBytes(height)).rejects.toMatchObject({
      ...incomplete,
      details: { segment: second, height },
    });
    const damage = expect.objectContaining({ segment: second, height });
    const mining = transactionHash(chain.block(height).miningTransaction);
    await expect(damaged.entry(mining)).rejects.toMatchObject({ ...incomplete, details: damage });
    expect(await damaged.entry(name)).toMatchObject({ height });
    expect(await damaged.fullBlockBytes(height + 1)).toEqual(encodeFullBlock(chain.block(height + 1)));
    await segments?.close();
    await directory.close();
    await rm(join(path, 'db', 'archive'), { recursive: true });
    await rm(join(path, 'db', 'archive.seal'));
    const archive = await reopen();
    await archive.load();
    expect([archive.nextHeight, archive.missing, archive.problem]).toEqual([
      height,
      1,
      expect.stringContaining(second),
    ]);
    const other = createTestChain(101).grow(BLOCKS);
    await expect(archive.store(other.block(height))).rejects.toMatchObject({ code: 'block_refused' });
    await archive.store(chain.block(height));
    await archive.load();
    expect([archive.nextHeight, archive.ahead, archive.problem]).toEqual([BLOCKS, 0, null]);
    expect(await answers(archive)).toEqual(expected);
    expect([await files('s'), await readFile(join(path, 'segments', second))]).toEqual([names, sound]);
    await segments?.verify(new AbortController().signal);
  });
});

/** Ends as the disk may leave a closed segment, whose footer is then not where its name says. */
const ENDS: Readonly<Record<string, (sound: Buffer) => Buffer>> = {
  'is empty': () => Buffer.alloc(0),
  'was cut in its first block': (sound) => sound.subarray(0, 700),
  'was cut in its last block': (sound) => sound.subarray(0, sound.length - 300),
  'lost its footer': (sound) => sound.subarray(0, sound.length - 64),
  'has a damaged footer': (sound) => Buffer.concat([sound.subarray(0, -20), Buffer.alloc(20, 7)]),
  grew: (sound) => Buffer.concat([sound, Buffer.alloc(5_000, 7)]),
};

describe('a closed segment with another end (rules P2, P3)', () => {
  it.each(Object.keys(ENDS))('that %s is as it was in the end', async (end) => {
    await fill(await reopen());
    const expected = await answers(await reopen());
    const names = await files('s');
    const [, second = ''] = names;
    const file = join(path, 'segments', second);
    const sound = await readFile(file);
    await chmod(file, 0o600);
    await writeFile(file, ENDS[end]?.(sound) ?? sound);
    await segments?.close();
    await directory.close();
    await rm(join(path, 'db', 'archive'), { recursive: true });
    await rm(join(path, 'db', 'archive.seal'));
    const archive = await reopen();
    for (;;) {
      await archive.load();
      if (archive.nextHeight === BLOCKS) break;
      await archive.store(chain.block(archive.nextHeight));
    }
    expect(await answers(archive)).toEqual(expected);
    expect([await files('s'), (await readFile(file)).equals(sound)]).toEqual([names, true]);
    await segments?.verify(new AbortController().signal);
  });

  it('whose healing was interrupted before it had its footer again has it after the next start', async () => {
    await fill(await reopen());
    const [, second = ''] = await files('s');
    const file = join(path, 'segments', second);
    const sound = await readFile(file);
    const [height, last] = [Number(second.slice(0, 10)), Number(second.slice(11, 21))];
    const stopped = new AbortController();
    await segments?.close();
    await directory.close();
    await rm(join(path, 'db', 'archive'), { recursive: true });
    await rm(join(path, 'db', 'archive.seal'));
    const other = join(path, 'segments', second.replace(/[0-9a-f]{64}/, 'ab'.repeat(32)));
    await rename(file, other);
    const archive = await reopen();
    await archive.load(({ height: done }) => done === last && stopped.abort(), stopped.signal).catch(() => undefined);
    expect([archive.nextHeight, last > height]).toEqual([last, true]);
    const again = await reopen();
    await again.load();
    expect((await readFile(file)).equals(sound)).toBe(true);
    await segments?.verify(new AbortController().signal);
  });
});

describe('an archive of an older data format', () => {
  it.each([1, 2])('%i is brought over while it serves and stores, and goes on after a stop', async (format) => {
    const old = await reopen({ inSegments: false });
    await fill(old);
    if (format === 1) await toFormat1(kv);
    const archive = await reopen();
    const expected = await answers(archive);
    expect(archive.isOlder).toBe(true);
    const abort = new AbortController();
    const stopped = archive.bringOver(({ height }) => height === 7 && abort.abort(), abort.signal);
    await expect(stopped).rejects.toMatchObject({ code: 'aborted' });
    expect(await answers(archive)).toEqual(expected);
    const again = await reopen();
    expect([again.isOlder, segments?.next, segments?.isWhole]).toEqual([true, 7, false]);
    expect(await answers(again)).toEqual(expected);
    await again.store(chain.add());
    const going = again.bringOver(() => undefined, new AbortController().signal);
    const reading = answers(again);
    await again.store(chain.add());
    await going;
    expect((await reading).slice(0, expected.length)).toEqual(expected);
    expect([again.isOlder, segments?.next, segments?.isWhole]).toEqual([false, BLOCKS + 2, true]);
    for (const range of OLD_RECORDS) for await (const [key] of kv.entries(range)) expect.fail(`${Buffer.from(key)}`);
    await again.store(chain.add());
    const whole = await reopen();
    expect((await answers(whole)).slice(0, expected.length)).toEqual(expected);
    expect(await whole.verify()).toEqual({ blocks: BLOCKS + 3, transactions: (BLOCKS + 3) * 3 });
    const names = await files('s');
    await directory.close();
    const mine = path;
    path = await mkdtemp(join(tmpdir(), 'tessera-in-segments-'));
    await fill(await reopen(), BLOCKS + 3);
    expect(await files('s')).toEqual(names);
    await rm(mine, { recursive: true });
  });

  it.each([1, 2])(
    '%i has every block and transaction while it is brought over between any two looks',
    async (format) => {
      const last = BLOCKS - 1;
      const { block } = chain.blocks[last] as FullBlock;
      const index = last.toString(16).padStart(16, '0');
      const names = [chain.hash(last), `nIndexedBlockHashKey_${index}`, `nIndexedTxHashKey_${index}_00000000`];
      const entry = (key: string) => async (archive: Archive) => (await archive.entry(key))?.json;
      const reads = [...names, ...block.transactions].map(entry);
      reads.push((archive) => archive.fullBlockBytes(last));
      for (const read of reads) {
        for (let looks = 1; looks < 4; looks++) {
          await segments?.close();
          await directory?.close();
          await rm(path, { recursive: true });
          const old = await reopen({ inSegments: false });
          await fill(old);
          if (format === 1) await toFormat1(kv);
          const archive = await reopen({ wrap: afterLooks });
          const expected = await read(archive);
          let left = looks;
          moves = async () => {
            if (--left > 0) return;
            moves = async () => undefined;
            await archive.bringOver(() => undefined, new AbortController().signal);
          };
          expect(await read(archive)).toEqual(expected);
          expect(expected).toBeDefined();
          moves = async () => undefined;
        }
      }
    },
  );

  it('is damaged still at the next start when its database could not be removed', async () => {
    await fill(await reopen());
    await segments?.close();
    await noteDamage(path, 'archive');
    const seal = join(path, 'db', 'archive.seal');
    await rm(seal, { force: true });
    await mkdir(seal);
    await expect(remakeArchiveFiles(directory)).rejects.toThrow(seal);
    expect(hasDamageNote(path, 'archive')).toBe(true);
  });

  it('is put aside, and not removed, when its database is damaged before all of it was brought over', async () => {
    await fill(await reopen({ inSegments: false }));
    await directory.close();
    directory = await DataDir.open(path, { role: 'storage', networkName: 'test' });
    await openArchiveFiles(directory);
    const { kv: made, segments: kept } = await remakeArchiveFiles(directory);
    expect(existsSync(join(path, 'damaged-archive-1'))).toBe(true);
    expect((await Archive.open({ rules: RULES }, { kv: made, segments: kept })).nextHeight).toBe(0);
  });
});
