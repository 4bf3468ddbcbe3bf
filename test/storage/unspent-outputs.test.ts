import { beforeEach, describe, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { txOut } from '../../src/chain/builders.js';
import { encodeTxOut } from '../../src/chain/codec.js';
import { transactionHash } from '../../src/chain/hash.js';
import { createdOutPoints, isUnspendable, outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import type { Kv, KvBatch } from '../../src/db/kv.js';
import { systemClock } from '../../src/lib/clock.js';
import { TimeSlices } from '../../src/lib/time-slices.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { outPointOfKey, UNSPENT, UNSPENT_TIP_KEY, unspentKey } from '../../src/storage/archive/layout.js';
import { ArchiveReader } from '../../src/storage/archive/reader.js';
import { encodeLast } from '../../src/storage/archive/records.js';
import { UnspentOutputs, unspentIn } from '../../src/storage/archive/unspent-outputs.js';
import { MemoryKv } from '../support/memory-kv.js';
import { ADDRESS, createTestChain, payment, RULES, signed, type TestChain } from '../support/storage/test-chain.js';

const BLOCKS = 8;

let kv: MemoryKv;
let chain: TestChain;

beforeEach(async () => {
  kv = new MemoryKv();
  chain = createTestChain().grow(BLOCKS);
  await fill(kv);
});

async function fill(into: Kv): Promise<Archive> {
  const archive = await open(into);
  for (const block of chain.blocks.slice(archive.nextHeight)) await archive.store(block);
  return archive;
}

const open = (from: Kv): Promise<Archive> => Archive.open({ rules: RULES }, { kv: from });

async function change(make: (batch: KvBatch) => void): Promise<void> {
  const batch = kv.batch();
  make(batch);
  await kv.write(batch, { sync: true });
}

async function account(of: Kv): Promise<Map<string, string>> {
  const entries = new Map<string, string>();
  for await (const [outPoint, txOut] of unspentIn(of)) {
    entries.set(outPointKey(outPoint), Buffer.from(encodeTxOut(txOut)).toString('hex'));
  }
  return entries;
}

/** As earlier versions kept it, of every other output or of all: by the name as text, and not packed. */
async function lengthen(step: number): Promise<void> {
  const batch = kv.batch();
  let at = 0;
  for await (const [{ tHash, n }, txOut] of unspentIn(kv)) {
    if (at++ % step > 0) continue;
    const key = Buffer.from(`u${tHash}....`);
    key.writeUInt32BE(n >>> 0, key.length - 4);
    batch.del(unspentKey({ tHash, n })).put(key, encodeTxOut(txOut));
  }
  await kv.write(batch, { sync: true });
}

const longKeys = async (): Promise<string[]> => {
  const keys: string[] = [];
  for await (const [key] of kv.entries({ gte: Buffer.from('ug'), lt: Buffer.from('uh') })) keys.push(`${key}`);
  return keys;
};

/** As a version left the archive that kept no account. */
async function forget(): Promise<void> {
  const batch = kv.batch().del(UNSPENT_TIP_KEY);
  for await (const [key] of kv.entries(UNSPENT)) batch.del(key);
  await kv.write(batch, { sync: true });
}

describe("storage's account of unspent outputs", () => {
  it('holds what the blocks have created and not spent', async () => {
    const expected = new Map<string, string>();
    for (const { block, transactions, miningTransaction } of chain.blocks) {
      const named = [...block.transactions.entries()].map(([i, hash]) => [hash, transactions[i]] as const);
      for (const tx of transactions) for (const outPoint of spentOutPoints(tx)) expected.delete(outPointKey(outPoint));
      for (const [hash, tx] of [...named, [block.header.miningTxHash, miningTransaction] as const]) {
        for (const { outPoint, txOut } of tx === undefined ? [] : createdOutPoints(tx, hash)) {
          if (!isUnspendable(txOut))
            expected.set(outPointKey(outPoint), Buffer.from(encodeTxOut(txOut)).toString('hex'));
        }
      }
    }
    expect(await account(kv)).toEqual(expected);
  });

  it('does not keep what nobody can ever spend (decision B16)', async () => {
    const archive = await open(kv);
    const before = (await account(kv)).size;
    const lost = { value: tokenAsset(400n), locktime: 0n, scriptPublicKey: null };
    await archive.store(chain.add([signed([{ tHash: '000001', n: 1 }], [txOut(tokenAsset(600n), ADDRESS), lost])]));
    // One output is spent; that of the payment and the reward of the miner come.
    expect((await account(kv)).size).toBe(before + 1);
  });

  it('does not hold what a block creates and spends again, whenever it is counted', async () => {
    const archive = await open(kv);
    const before = (await account(kv)).size;
    const parent = payment(1);
    const child = signed(
      [{ tHash: transactionHash(parent), n: 1 }],
      [txOut(tokenAsset(990n), ADDRESS), txOut(tokenAsset(5n), ADDRESS)],
    );
    const grandchild = signed([{ tHash: transactionHash(child), n: 0 }], [txOut(tokenAsset(990n), ADDRESS)]);
    await archive.store(chain.add([parent, child, payment(2), grandchild]));
    const after = await account(kv);
    // Two outputs are spent; those of three payments and the reward of the miner come, and two of them are spent again.
    expect(after.size).toBe(before - 2 + (2 + 2 + 2 + 1 + 1) - 2);
    expect(await archive.verify()).toMatchObject({ blocks: BLOCKS + 1 });
    expect(await archive.verify({ from: BLOCKS })).toMatchObject({ blocks: 1 });
    await forget();
    await (await open(kv)).load();
    expect(await account(kv)).toEqual(after);
  });

  it('is written in the batch of the block, so that neither is there without the other (rule P2)', async () => {
    const copy = new MemoryKv();
    let writes = 0;
    const failing: Kv = {
      get: (key) => copy.get(key),
      getMany: (keys) => copy.getMany(keys),
      entries: (range) => copy.entries(range),
      batch: () => copy.batch(),
      close: () => copy.close(),
      async write(batch, options) {
        writes++;
        if (writes === 4) throw new Error('the disk is gone');
        await copy.write(batch, options);
      },
    };
    await expect(fill(failing)).rejects.toThrow('the disk is gone');
    const archive = await open(copy);
    expect(archive.nextHeight).toBe(3);
    expect(await archive.verify()).toMatchObject({ blocks: 3 });
    await fill(copy);
    expect(await account(copy)).toEqual(await account(kv));
  });
});

describe('an archive whose account is of other blocks (rule P3)', () => {
  it.each([
    ['a block that is not stored', () => encodeLast(BLOCKS, chain.hash(1))],
    ['another block of that height', () => encodeLast(2, chain.hash(1))],
  ])('does not open: %s', async (_, record) => {
    await change((batch) => batch.put(UNSPENT_TIP_KEY, record()));
    await expect(open(kv)).rejects.toMatchObject({
      code: 'data_corrupt',
      message: expect.stringContaining('unspent outputs'),
    });
  });

  const first = { tHash: '000000', n: 0 };
  it.each([
    ['has an output too many', (batch: KvBatch) => batch.put(unspentKey({ tHash: 'x', n: 0 }), encodeTxOut(rich))],
    ['lacks an output', (batch: KvBatch) => batch.del(unspentKey(first))],
    ['has another amount', (batch: KvBatch) => batch.put(unspentKey(first), encodeTxOut(rich))],
  ])('is found by verify when it %s', async (_, damage) => {
    await change(damage);
    await expect((await open(kv)).verify()).rejects.toMatchObject({ code: 'data_corrupt' });
  });
  const rich = { value: { kind: 'token', amount: 1n }, locktime: 0n, scriptPublicKey: ADDRESS } as const;
});

describe('an archive of a version that kept names as text', () => {
  it.each([
    ['all of them', 1],
    ['those that a kill has left', 2],
  ])('is verified as it is, brought over, and takes the next block: %s', async (_, step) => {
    await (await open(kv)).store(chain.add([payment(1), payment(2)]));
    const before = await account(kv);
    await lengthen(step);
    expect((await longKeys()).length).toBeGreaterThan(0);
    expect(await account(kv)).toEqual(before);
    expect(await (await open(kv)).verify()).toMatchObject({ blocks: BLOCKS + 1 });
    await (await open(kv)).load();
    expect(await longKeys()).toEqual([]);
    expect(await account(kv)).toEqual(before);
    await lengthen(step);
    const spent = signed([{ tHash: transactionHash(payment(1)), n: 1 }], [txOut(tokenAsset(995n), ADDRESS)]);
    await (await open(kv)).store(chain.add([spent]));
    expect(await longKeys()).toEqual([]);
    expect(await (await open(kv)).verify()).toMatchObject({ blocks: BLOCKS + 2 });
  });

  it('stops bringing them over when it is told to, and goes on at the next start', async () => {
    const before = await account(kv);
    await lengthen(1);
    const count = (await longKeys()).length;
    await expect((await open(kv)).load(undefined, AbortSignal.abort())).rejects.toMatchObject({ code: 'aborted' });
    expect(await longKeys()).toHaveLength(count);
    await (await open(kv)).load();
    expect(await longKeys()).toEqual([]);
    expect(await account(kv)).toEqual(before);
  });

  it('gives back the same outpoint from every key', () => {
    for (const tHash of ['000000', 'gänzlich anders', `g${'a'.repeat(30)}G`, `g0${'12345f'.repeat(5)}`]) {
      for (const n of [0, 1, 255, 256, 70_000, 2 ** 31 - 1, -1, -(2 ** 31)]) {
        expect(outPointOfKey(unspentKey({ tHash, n }))).toEqual({ tHash, n });
      }
    }
  });
});

describe('an archive of a version that kept no account', () => {
  it('gets one from its blocks, tells how far it is, and takes the next block', async () => {
    const before = await account(kv);
    await forget();
    const archive = await open(kv);
    const told: unknown[] = [];
    await archive.load((progress) => told.push(progress));
    expect(told.at(-1)).toEqual({ height: BLOCKS, target: BLOCKS });
    expect(await account(kv)).toEqual(before);
    expect(await archive.verify()).toMatchObject({ blocks: BLOCKS });
    expect(await archive.store(chain.add())).toMatchObject({ height: BLOCKS });
  });

  it('is verified without one, and left as it is', async () => {
    await forget();
    expect(await (await open(kv)).verify()).toMatchObject({ blocks: BLOCKS });
    expect((await account(kv)).size).toBe(0);
  });

  it('gets it before its next block, though nobody asked for it', async () => {
    await forget();
    await (await open(kv)).store(chain.add([payment(1)]));
    expect(await (await open(kv)).verify()).toMatchObject({ blocks: BLOCKS + 1 });
  });

  it('goes on where it was interrupted, at whatever step (rule P7)', async () => {
    const before = await account(kv);
    await forget();
    const steps: number[] = [];
    for (let next = 0; next < BLOCKS; ) {
      const stop = new AbortController();
      const outputs = await UnspentOutputs.open(kv, new ArchiveReader(kv), BLOCKS);
      expect(outputs.next).toBe(next);
      await outputs
        .catchUp(BLOCKS, new TimeSlices(systemClock), () => stop.abort(), stop.signal)
        .catch((error: unknown) => expect(error).toMatchObject({ code: 'aborted' }));
      next = outputs.next;
      steps.push(next);
    }
    expect(steps.length).toBeGreaterThan(3);
    expect(await account(kv)).toEqual(before);
    expect(await (await open(kv)).verify()).toMatchObject({ blocks: BLOCKS });
  });

  it('is found to be damaged when a block spends what is not there', async () => {
    await forget();
    await change((batch) => {
      batch.put(UNSPENT_TIP_KEY, encodeLast(BLOCKS - 2, chain.hash(BLOCKS - 2)));
    });
    await expect((await open(kv)).load()).rejects.toMatchObject({
      code: 'data_corrupt',
      message: expect.stringContaining('which is not unspent'),
    });
  });
});

it('are read as they were made, in whatever form they are kept', async () => {
  const plain = 'ab'.repeat(32);
  const tokens = [0n, 1n, 0xffn, 0x100n, 2n ** 64n - 1n].map((amount) => txOut(tokenAsset(amount), plain));
  const item = { kind: 'item', amount: 3n, genesisHash: null, metadata: 'text' } as const;
  const others = [
    ...[null, '', 'ab'.repeat(16), `H${plain.slice(1)}`, plain.toUpperCase()].map((scriptPublicKey) => ({
      ...txOut(tokenAsset(5n), plain),
      scriptPublicKey,
    })),
    txOut(item, plain),
    { ...txOut(tokenAsset(7n), plain), locktime: 9n },
  ];
  const made = [...tokens, ...others].map((one, n) => ({ outPoint: { tHash: `g${'1'.repeat(31)}`, n }, txOut: one }));
  const memory = new MemoryKv();
  const outputs = await UnspentOutputs.open(memory, new ArchiveReader(memory), 0);
  const batch = memory.batch();
  const block = { hash: `b${'0'.repeat(64)}`, height: 0, spent: [], created: made };
  await outputs.change(block, batch, new TimeSlices(systemClock));
  await memory.write(batch, { sync: true });
  expect(await outputs.get(made.map(({ outPoint }) => outPoint))).toEqual(made.map((one) => one.txOut));
  const sizes: number[] = [];
  for await (const [, record] of memory.entries(UNSPENT)) sizes.push(record.length);
  expect(sizes.slice(0, tokens.length)).toEqual([34, 34, 34, 35, 41]);
});
