import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeTransaction } from '../../src/chain/codec.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { Kv } from '../../src/db/kv.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { isTesseraError, type TesseraError } from '../../src/lib/errors.js';
import { Archive } from '../../src/storage/archive/archive.js';
import {
  blockAtKey,
  blockKey,
  heightKey,
  itemKey,
  LAST_KEY,
  namesKey,
  transactionKey,
} from '../../src/storage/archive/layout.js';
import { encodeLast, encodeNames, encodeTransactionRecord } from '../../src/storage/archive/records.js';
import { MemoryKv } from '../support/memory-kv.js';
import { createTestChain, payment, RULES, type TestChain } from '../support/storage/test-chain.js';

const utf8 = (text: string): Uint8Array => Buffer.from(text);

describe('a record that is not what its name says (rule P3)', () => {
  let kv: Kv;
  let chain: TestChain;
  let archive: Archive;
  let reported: TesseraError[];

  /** The archive as a process finds it that starts after `change`, with nothing in memory. */
  async function changed(change: (batch: ReturnType<Kv['batch']>) => void): Promise<void> {
    const batch = kv.batch();
    change(batch);
    await kv.write(batch, { sync: true });
    archive = await Archive.open({ rules: RULES }, { kv });
    reported = [];
    archive.failed.on((error) => reported.push(error));
  }
  const payments = (bNum: number): readonly string[] => chain.block(bNum).block.transactions;

  beforeEach(async () => {
    kv = new MemoryKv();
    chain = createTestChain().grow(4);
    const first = await Archive.open({ rules: RULES }, { kv });
    for (const block of chain.blocks) await first.store(block);
  });

  it('is reported to the reader and to the node', async () => {
    const [hash = ''] = payments(1);
    const forged = encodeTransactionRecord(1, 0, encodeTransaction(payment(200)));
    await changed((batch) => batch.put(transactionKey(hash), forged));
    await expect(archive.entry(hash)).rejects.toMatchObject({
      code: 'data_corrupt',
      message: expect.stringContaining(hash),
    });
    expect(reported).toMatchObject([{ code: 'data_corrupt' }]);
  });

  it('is found although its checksum is right: a transaction that says it is from block 0', async () => {
    const [hash = ''] = payments(1);
    const forged = encodeTransactionRecord(0, 0, encodeTransaction(payment(200)));
    await changed((batch) => batch.put(transactionKey(hash), forged));
    await expect(archive.entry(hash)).rejects.toMatchObject({ code: 'data_corrupt' });
  });

  it('is found: a block in the place of another', async () => {
    const other = await kv.get(blockAtKey(2));
    await changed((batch) => batch.put(blockAtKey(1), other ?? utf8('')));
    await expect(archive.blockAt(1)).rejects.toMatchObject({ code: 'data_corrupt' });
    await expect(archive.entry(chain.hash(1))).rejects.toMatchObject({ code: 'data_corrupt' });
  });

  it('is found: a hash that leads to another block, and a number that does', async () => {
    const two = await kv.get(blockKey(chain.hash(2)));
    await changed((batch) => batch.put(blockKey(chain.hash(1)), two ?? utf8('')));
    await expect(archive.entry(chain.hash(1))).rejects.toMatchObject({ code: 'data_corrupt' });
    await changed((batch) => batch.put(heightKey(1), utf8(chain.hash(2))));
    expect(await archive.hashAt(1)).toBe(chain.hash(2));
    await expect(archive.blockAt(1)).rejects.toMatchObject({ code: 'data_corrupt' });
    await expect(archive.verify()).rejects.toMatchObject({ code: 'data_corrupt' });
  });

  it.each([
    ['a block', () => blockAtKey(1)],
    ['a hash', () => blockKey(chain.hash(1))],
    ['a number', () => heightKey(1)],
    ['a transaction', () => transactionKey(payments(1)[1] ?? '')],
    ['the coinbase', () => transactionKey(chain.block(1).block.header.miningTxHash)],
    ['names of transactions', () => namesKey(1, 0)],
  ])('is found by verify when it is missing: %s', async (_, key) => {
    await changed((batch) => batch.del(key()));
    await expect(archive.verify()).rejects.toMatchObject({ code: 'data_corrupt' });
    expect(reported).toHaveLength(1);
  });

  it('is no answer "not found" for a number below the height', async () => {
    await changed((batch) => batch.del(heightKey(1)));
    await expect(archive.hashAt(1)).rejects.toMatchObject({ code: 'data_corrupt' });
    await changed((batch) => batch.put(heightKey(1), utf8(chain.hash(1))).del(blockAtKey(1)));
    await expect(archive.blockAt(1)).rejects.toMatchObject({ code: 'data_corrupt' });
    await expect(archive.entry('nIndexedBlockHashKey_0000000000000001')).rejects.toMatchObject({
      code: 'data_corrupt',
    });
  });

  it('keeps the archive from opening when it is the last block', async () => {
    const open = () => Archive.open({ rules: RULES }, { kv });
    const write = (change: (batch: ReturnType<Kv['batch']>) => void) => {
      const batch = kv.batch();
      change(batch);
      return kv.write(batch, { sync: true });
    };
    await write((batch) => batch.put(LAST_KEY, encodeLast(2, chain.hash(3))));
    await expect(open()).rejects.toMatchObject({ code: 'data_corrupt' });
    await write((batch) => batch.put(LAST_KEY, encodeLast(9, chain.hash(3))));
    await expect(open()).rejects.toMatchObject({ code: 'data_corrupt' });
    await write((batch) => batch.del(LAST_KEY));
    await expect(open()).rejects.toMatchObject({ code: 'data_corrupt' });
    await write((batch) => batch.put(LAST_KEY, encodeLast(3, chain.hash(3))).del(blockKey(chain.hash(3))));
    await expect(open()).rejects.toMatchObject({ code: 'data_corrupt' });
  });

  it('is found in items', async () => {
    await changed((batch) => batch.put(itemKey('x'), utf8('{}')));
    await expect(archive.item('x')).rejects.toMatchObject({ code: 'data_corrupt' });
  });

  it('is found by verify: an index that names another transaction', async () => {
    await changed((batch) => batch.put(namesKey(2, 0), encodeNames([...payments(2)].reverse())));
    await expect(archive.verify()).rejects.toMatchObject({ message: expect.stringContaining('index of block 2') });
    expect(await archive.verify({ from: 3 })).toEqual({ blocks: 1, transactions: 3 });
    expect(await archive.verify({ to: 1 })).toEqual({ blocks: 2, transactions: 6 });
  });
});

describe('verify', () => {
  it('reads everything, says how far it is, and can be cancelled', async () => {
    const chain = createTestChain().grow(5);
    const archive = await Archive.open({ rules: RULES }, { kv: new MemoryKv() });
    expect(await archive.verify()).toEqual({ blocks: 0, transactions: 0 });
    for (const block of chain.blocks) await archive.store(block);
    const progress: object[] = [];
    expect(await archive.verify({}, (step) => progress.push(step))).toEqual({ blocks: 5, transactions: 15 });
    expect(progress).toEqual([0, 1, 2, 3, 4].map((height) => ({ height, target: 4 })));
    const controller = new AbortController();
    const cancelled = archive.verify({}, () => controller.abort(), controller.signal);
    await expect(cancelled).rejects.toMatchObject({ code: 'aborted' });
  });
});

describe('flipped bits on disk (rule P3)', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tessera-flip-'));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  it('give data_corrupt, never wrong data', async () => {
    const path = join(folder, 'archive');
    const chain = createTestChain().grow(12);
    let kv = await LevelKv.open(path, { createIfMissing: true });
    const truth = new Map<string, string>();
    const writer = await Archive.open({ rules: RULES }, { kv });
    for (const block of chain.blocks) await writer.store(block);
    const keys = chain.blocks.flatMap(({ block, miningTransaction }, i) => [
      chain.hash(i),
      ...block.transactions,
      transactionHash(miningTransaction),
    ]);
    for (const key of keys) truth.set(key, Buffer.from((await writer.entry(key))?.json ?? []).toString());
    await kv.close();
    // Opening once more moves everything from the log into a table.
    await (await LevelKv.open(path, { createIfMissing: false })).close();

    const tables = (await readdir(path)).filter((name) => name.endsWith('.ldb'));
    const table = join(path, tables[0] ?? '');
    const sound = await readFile(table);
    let faults = 0;
    for (let offset = 5; offset < sound.length; offset += Math.floor(sound.length / 60)) {
      const flipped = Buffer.from(sound);
      flipped[offset] = (flipped[offset] ?? 0) ^ 16;
      await writeFile(table, flipped);
      let wrong = 0;
      try {
        kv = await LevelKv.open(path, { createIfMissing: false });
        try {
          const archive = await Archive.open({ rules: RULES }, { kv });
          for (const key of keys) {
            try {
              const entry = await archive.entry(key);
              if (entry && Buffer.from(entry.json).toString() !== truth.get(key)) wrong += 1;
            } catch (error) {
              expect(isTesseraError(error, 'data_corrupt'), String(error)).toBe(true);
            }
          }
          await archive.verify();
        } finally {
          await kv.close();
        }
      } catch (error) {
        expect(isTesseraError(error, 'data_corrupt'), String(error)).toBe(true);
        faults += 1;
      }
      expect(wrong, `bit of byte ${offset}`).toBe(0);
    }
    expect(faults).toBeGreaterThan(30);
  });
});
