import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { transactionHash } from '../../src/chain/hash.js';
import type { Kv } from '../../src/db/kv.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { TesseraError } from '../../src/lib/errors.js';
import { SignalSource } from '../../src/lib/signal.js';
import { Archive, type ArchiveOptions } from '../../src/storage/archive/archive.js';
import { Segments } from '../../src/storage/segments/segments.js';
import { decodeFullBlock, encodeFullBlock } from '../support/full-block.js';
import { withWrite } from '../support/kv.js';
import {
  ADDRESS,
  createTestChain,
  GENESIS,
  genesisWith,
  itemCreation,
  MINER,
  RULES,
  type TestChain,
} from '../support/storage/test-chain.js';

let folder: string;
let kv: Kv;
let segments: Segments;
let archive: Archive;
let chain: TestChain;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-archive-'));
  kv = await LevelKv.open(join(folder, 'archive'), { createIfMissing: true });
  segments = await Segments.open(join(folder, 'segments'), { maxBytes: 2_000 });
  archive = await Archive.open({ rules: RULES }, { kv, segments });
  chain = createTestChain();
});
afterEach(async () => {
  await segments.close();
  await kv.close();
  await rm(folder, { recursive: true });
});

async function storeBlocks(count: number): Promise<void> {
  chain.grow(count);
  for (const block of chain.blocks.slice(archive.nextHeight)) await archive.store(block);
}

async function reopen(options: Partial<ArchiveOptions> = {}): Promise<void> {
  await segments.close();
  await kv.close();
  kv = await LevelKv.open(join(folder, 'archive'), { createIfMissing: false });
  segments = await Segments.open(join(folder, 'segments'), { maxBytes: 2_000 });
  archive = await Archive.open({ rules: RULES, ...options }, { kv, segments });
}

const json = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();
const entryJson = async (key: string): Promise<string> => json((await archive.entry(key))?.json);

describe('the archive, on a disk that fails', () => {
  it('has not stored the block, and stores it when the disk takes it again (rules P1, P7)', async () => {
    let isFull = true;
    const failing = withWrite(kv, async (batch, options) => {
      if (isFull) throw new TesseraError('database_failed', 'the disk is full');
      await kv.write(batch, options);
    });
    const full = await Archive.open({ rules: RULES }, { kv: failing, segments });
    const reported: TesseraError[] = [];
    full.failed.on((error) => reported.push(error));
    chain.grow(2);
    const [first, second] = chain.blocks;
    if (first === undefined || second === undefined) throw new Error('no blocks');
    await expect(full.store(first)).rejects.toMatchObject({ code: 'database_failed' });
    expect(full.nextHeight).toBe(0);
    isFull = false;
    await full.store(first);
    await full.store(second);
    expect(full.nextHeight).toBe(2);
    await full.verify();
    expect(reported).toEqual([]);
  });

  it('takes no block while there is too little room', async () => {
    const room = {
      isLow: true,
      problems: [],
      check: () => {
        throw new TesseraError('write_failed', 'too little room');
      },
      ranLow: new SignalSource<void>(),
      isBack: new SignalSource<void>(),
    };
    const low = await Archive.open({ rules: RULES }, { kv, segments, room });
    chain.grow(1);
    const [block] = chain.blocks;
    if (block === undefined) throw new Error('no block');
    await expect(low.store(block)).rejects.toMatchObject({ code: 'write_failed' });
    expect(low.nextHeight).toBe(0);
  });
});

describe('the archive, empty', () => {
  it('has nothing, not even a latest block', async () => {
    expect(archive.nextHeight).toBe(0);
    expect(await archive.latest()).toBeUndefined();
    expect(await archive.entry('nLastBlockHashKey')).toBeUndefined();
    expect(await archive.entry('nIndexedBlockHashKey_0000000000000000')).toBeUndefined();
    expect(await archive.blockAt(0)).toBeUndefined();
    expect(await archive.item('000000')).toBeUndefined();
  });
});

describe('keys of the archive (decision V9)', () => {
  it('finds a block by hash, by number and by the named keys, and answers with its hash', async () => {
    await storeBlocks(3);
    for (const key of [chain.hash(2), 'nLastBlockHashKey', 'nIndexedBlockHashKey_0000000000000002']) {
      expect(await archive.entry(key), key).toMatchObject({ kind: 'block', key: chain.hash(2), height: 2, txLen: 3 });
    }
    expect(await archive.blockAt(1)).toMatchObject({ key: chain.hash(1), height: 1 });
  });

  it('finds transactions by hash and by index, the coinbase last', async () => {
    await storeBlocks(2);
    const { block, miningTransaction } = chain.block(1);
    const names = [...block.transactions, transactionHash(miningTransaction)];
    for (const [i, name] of names.entries()) {
      const named = `nIndexedTxHashKey_0000000000000001_${i.toString(16).padStart(8, '0')}`;
      for (const key of [name, named]) {
        expect(await archive.entry(key), key).toMatchObject({ kind: 'tx', key: name, height: 1, txNum: i });
      }
    }
    expect(await archive.entry('nIndexedTxHashKey_0000000000000001_00000003')).toBeUndefined();
  });

  it('finds genesis transactions by the names that configuration gave them', async () => {
    await storeBlocks(2);
    expect(await archive.entry('000001')).toMatchObject({ kind: 'tx', key: '000001', height: 0, txNum: 1 });
    expect(await archive.entry('nIndexedTxHashKey_0000000000000000_00000000')).toMatchObject({ key: '000000' });
    await reopen();
    expect(await archive.entry('000001')).toMatchObject({ kind: 'tx', key: '000001' });
  });

  it.each([
    '',
    'n',
    `b${'0'.repeat(64)}`,
    `g${'0'.repeat(31)}`,
    'nIndexedBlockHashKey_0000000000000009',
    'nIndexedBlockHashKey_ffffffffffffffff',
    'nIndexedBlockHashKey_000000000000000A',
    'nIndexedBlockHashKey_1',
    'nIndexedTxHashKey_ffffffffffffffff_00000000',
    'nIndexedTxHashKey_0000000000000009_00000000',
    'h\0\0\0\0\0\0\0\0',
    'x'.repeat(10_000),
  ])('knows nothing under %j', async (key) => {
    await storeBlocks(1);
    expect(await archive.entry(key)).toBeUndefined();
  });

  it.each([-1, 1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60])('has no block number %d', async (num) => {
    await storeBlocks(1);
    expect(await archive.blockAt(num)).toBeUndefined();
  });
});

describe('shapes of the archive', () => {
  it('shows a block as the reference stores it, with item_meta (docs/chain.md#json, decision V8)', async () => {
    await storeBlocks(2);
    const { header, transactions } = chain.block(1).block;
    const expected = {
      key: chain.hash(1),
      data: {
        block: {
          header: {
            version: 6,
            bits: 0,
            nonce_and_mining_tx_hash: [[...header.nonce], header.miningTxHash],
            b_num: 1,
            timestamp: 1_700_000_000,
            difficulty: [],
            seed_value: [...Buffer.from('1-9')],
            previous_hash: chain.hash(0),
            txs_merkle_root_and_hash: [header.merkleRoot, header.txsHash],
          },
          transactions,
        },
      },
      item_meta: { type: 'block', block_num: 1, tx_len: 3 },
    };
    expect(await entryJson(chain.hash(1))).toBe(JSON.stringify(expected));
  });

  it('shows the latest block in its double wrapping (decision V10)', async () => {
    await storeBlocks(6);
    const { data } = JSON.parse(await entryJson(chain.hash(5)));
    expect(data.block.header.difficulty).toEqual([34, 0, 0, 1]);
    const latest = await archive.latest();
    expect(latest).toMatchObject({ hash: chain.hash(5), height: 5 });
    expect(json(latest?.json)).toBe(JSON.stringify({ block: data }));
    await reopen();
    expect(json((await archive.latest())?.json)).toBe(JSON.stringify({ block: data }));
  });

  it('shows a transaction with exact integers', async () => {
    await storeBlocks(1);
    await archive.store(chain.add([itemCreation(1, 2n ** 64n - 1n, null, 'é "x"')]));
    const text = await entryJson(chain.block(1).block.transactions[0] ?? '');
    expect(text).toContain(
      '"value":{"Item":{"amount":18446744073709551615,"genesis_hash":null,"metadata":"é \\"x\\""}}',
    );
    expect(text).toContain('"item_meta":{"type":"tx","block_num":1,"tx_num":0}}');
    expect(await entryJson('000000')).toContain('{"Token":90090000000000000}');
  });

  it('gives the same bytes from memory and from disk', async () => {
    await storeBlocks(3);
    const keys = [chain.hash(2), '000000', ...chain.block(2).block.transactions];
    const stored = await Promise.all(keys.map(entryJson));
    const again = await Promise.all(keys.map(entryJson));
    await reopen();
    expect(again).toEqual(stored);
    expect(await Promise.all(keys.map(entryJson))).toEqual(stored);
  });

  it('answers with the stored bytes again, not with new ones, while the cache has room', async () => {
    await storeBlocks(2);
    await reopen();
    const first = await archive.entry('000000');
    expect(await archive.entry('000000')).toBe(first);
    await reopen({ cacheBytes: 10 });
    expect(await archive.entry('000000')).not.toBe(await archive.entry('000000'));
  });

  it('decodes block and transaction on demand', async () => {
    await storeBlocks(2);
    await reopen();
    const block = await archive.blockAt(1);
    expect(block?.block().header.bNum).toBe(1n);
    const tx = await archive.entry(chain.block(1).block.transactions[1] ?? '');
    expect(tx?.kind === 'tx' && transactionHash(tx.transaction())).toBe(tx?.key);
  });

  it('gives a whole block back as it came', async () => {
    await storeBlocks(3);
    for (const [i, block] of chain.blocks.entries()) {
      const bytes = await archive.fullBlockBytes(i);
      expect(Buffer.from(bytes ?? [])).toEqual(Buffer.from(encodeFullBlock(block)));
      expect(decodeFullBlock(bytes ?? new Uint8Array()).transactions).toHaveLength(2);
    }
    expect(await archive.fullBlockBytes(3)).toBeUndefined();
  });
});

describe('items (decision V21)', () => {
  it('are known by their genesis hash: the creating transaction, or the shared default', async () => {
    await storeBlocks(1);
    const own = itemCreation(1, 10n, null, 'a picture');
    const shared = itemCreation(2, 2n ** 63n, 'default_genesis_hash', 'first');
    const more = itemCreation(3, 2n ** 63n, 'default_genesis_hash', 'second');
    await archive.store(chain.add([own, shared]));
    await archive.store(chain.add([more]));
    await reopen();
    expect(await archive.item(transactionHash(own))).toEqual({
      genesisHash: transactionHash(own),
      metadata: 'a picture',
      totalAmount: 10n,
      height: 1,
      txHash: transactionHash(own),
      creatorAddress: ADDRESS,
    });
    expect(await archive.item('default_genesis_hash')).toMatchObject({
      totalAmount: 2n ** 64n,
      metadata: 'first',
      height: 1,
      txHash: transactionHash(shared),
    });
    expect(await archive.item(transactionHash(shared))).toBeUndefined();
    expect(await archive.item(chain.block(1).block.header.miningTxHash)).toBeUndefined();
  });

  it('of one block add up', async () => {
    await storeBlocks(1);
    await archive.store(chain.add([1, 2, 3].map((n) => itemCreation(n, 5n, 'default_genesis_hash', 'x'))));
    expect(await archive.item('default_genesis_hash')).toMatchObject({ totalAmount: 15n });
  });
});

describe('storing', () => {
  it('tells of each block when it is on disk, and goes on after a restart', async () => {
    const told: number[] = [];
    archive.blockStored.on(({ height }) => told.push(height));
    await storeBlocks(3);
    expect(told).toEqual([0, 1, 2]);
    await reopen();
    expect(archive.tip).toMatchObject({ next: 3, hash: chain.hash(2), issued: chain.issued });
    await storeBlocks(5);
    expect(archive.nextHeight).toBe(5);
  });

  it('writes one synced batch for each block (rule P1)', async () => {
    const writes: boolean[] = [];
    const write: Kv['write'] = (batch, options) => {
      writes.push(options.sync);
      return kv.write(batch, options);
    };
    const counted = await Archive.open({ rules: RULES }, { kv: withWrite(kv, write), segments });
    await counted.store(chain.add());
    await counted.store(chain.add());
    expect(writes).toEqual([true, true]);
  });

  it('serves two calls at once one after the other', async () => {
    chain.grow(3);
    await Promise.all(chain.blocks.map((block) => archive.store(block)));
    expect(archive.nextHeight).toBe(3);
    const twice = await Promise.allSettled([chain.add(), chain.block(3)].map((block) => archive.store(block)));
    expect(twice.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });

  it('counts what is issued: genesis, coinbases and issuances', async () => {
    const genesis = genesisWith([
      { address: ADDRESS, amount: 500, block_height: 101 },
      { address: MINER, amount: 70, block_height: 101 },
    ]);
    const own = createTestChain(0, genesis);
    archive = await Archive.open({ rules: { ...RULES, genesis } }, { kv, segments });
    for (let i = 0; i < 103; i++) await archive.store(own.add([]));
    expect(archive.tip.issued).toBe(own.issued);
    const coinbases = own.blocks.reduce((sum, b) => sum + (b.miningTransaction.outputs[0]?.value.amount ?? 0n), 0n);
    expect(own.issued).toBe(genesis.initialIssuance + coinbases + 570n);
    expect(await archive.verify()).toEqual({ blocks: 103, transactions: 103 + 2 + 2 });
  });

  it('keeps the genesis amounts of the configuration as issued', async () => {
    await storeBlocks(1);
    const coinbase = chain.block(0).miningTransaction.outputs[0]?.value.amount ?? 0n;
    expect(archive.tip.issued).toBe(GENESIS.initialIssuance + coinbase);
  });
});
