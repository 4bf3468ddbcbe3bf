/**
 * What happens to the index of the chain: it catches up, waits for a disk, is built anew after damage and when the archive is of other
 * blocks, and never ends the node (docs/adr/0031-an-index-of-the-chain.md, rule P7).
 */

import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { transactionHash } from '../../src/chain/hash.js';
import type { Room } from '../../src/db/disk-room.js';
import type { Kv } from '../../src/db/kv.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { TesseraError } from '../../src/lib/errors.js';
import { SignalSource } from '../../src/lib/signal.js';
import { addressKey, TIP_KEY } from '../../src/storage/chain-index/layout.js';
import type { ChainView } from '../../src/storage/chain-index/service.js';
import { withWrite } from '../support/kv.js';
import { ManualClock, settle } from '../support/manual-clock.js';
import { IndexedChain } from '../support/storage/indexed-chain.js';
import { ADDRESS, createTestChain, itemCreation, payment, signed } from '../support/storage/test-chain.js';

const BLOCKS = 24;
const chain = createTestChain().grow(BLOCKS);
const other = createTestChain(1).grow(BLOCKS);

const tip = async ({ index }: IndexedChain) => index.at(async (view) => view.tip);

/** The records that an index has which nothing happened to. */
async function expectedRecords(blocks = chain.blocks): Promise<string[]> {
  const calm = await IndexedChain.open();
  await calm.store(blocks);
  await calm.caughtUp();
  const records = await calm.records();
  await calm.close();
  return records;
}

/** Writes end when the test says so. */
function gate() {
  const open = createDeferred<void>();
  const wrap = (kv: Kv): Kv =>
    withWrite(kv, async (batch, options) => {
      await open.promise;
      await kv.write(batch, options);
    });
  return { open: () => open.resolve(), wrap };
}

describe('an index that is behind', () => {
  it('says how far it is while many blocks are missing, and takes them in by itself', async () => {
    const { open, wrap } = gate();
    const indexed = await IndexedChain.open({ wrap });
    await indexed.store(chain.blocks);
    await expect(tip(indexed)).rejects.toMatchObject({
      code: 'index_incomplete',
      message: expect.stringContaining(`of ${BLOCKS} blocks`),
    });
    expect(indexed.index.status()).toMatchObject({ state: 'building', blocks: BLOCKS });
    open();
    await indexed.caughtUp();
    expect(await tip(indexed)).toEqual({ height: BLOCKS - 1, hash: chain.hash(BLOCKS - 1) });
    expect(indexed.index.status()).toEqual({ state: 'ready', height: BLOCKS - 1, blocks: BLOCKS, problem: null });
  });

  it('is waited for when a block is missing', async () => {
    const { open, wrap } = gate();
    const indexed = await IndexedChain.open({ wrap });
    await indexed.store(chain.blocks.slice(0, 1));
    const answer = tip(indexed);
    open();
    expect(await answer).toEqual({ height: 0, hash: chain.hash(0) });
  });

  it('is not waited for without end', async () => {
    const clock = new ManualClock();
    const { open, wrap } = gate();
    const indexed = await IndexedChain.open({ wrap, clock });
    await indexed.store(chain.blocks.slice(0, 1));
    const answer = tip(indexed).catch((error: unknown) => error);
    await settle();
    clock.advance(60_000);
    expect(await answer).toMatchObject({ code: 'index_incomplete' });
    open();
  });

  it('goes on where it was when it is switched on again', async () => {
    const indexed = await IndexedChain.open();
    await indexed.store(chain.blocks.slice(0, 5));
    await indexed.caughtUp();
    await indexed.stopIndex();
    await indexed.store(chain.blocks.slice(5));
    await indexed.startIndex({ stepChanges: 30 });
    await indexed.caughtUp();
    expect(indexed.removed).toBe(0);
    expect(await indexed.records()).toEqual(await expectedRecords());
  });
});

describe('a disk that refuses', () => {
  it('is tried again, and nothing is missing or twice afterwards (docs/adr/0014-a-full-disk-ends-no-node.md)', async () => {
    const disk = { isFull: false };
    const wrap = (kv: Kv): Kv =>
      withWrite(kv, async (batch, options) => {
        if (disk.isFull) throw new TesseraError('database_failed', 'no space left on device');
        await kv.write(batch, options);
      });
    const clock = new ManualClock();
    const indexed = await IndexedChain.open({ wrap, clock });
    await indexed.store(chain.blocks.slice(0, 3));
    await indexed.caughtUp();
    disk.isFull = true;
    await indexed.store(chain.blocks.slice(3));
    await indexed.until(() => indexed.index.status().state === 'waiting');
    expect(indexed.index.status().problem).toBe('no space left on device');
    await expect(tip(indexed)).rejects.toMatchObject({
      code: 'index_incomplete',
      message: expect.stringContaining('no space left on device'),
    });
    disk.isFull = false;
    await indexed.until(() => {
      clock.advance(1_000);
      return indexed.index.status().state === 'ready';
    });
    expect(await indexed.records()).toEqual(await expectedRecords());
  });

  it('has nothing written to it while there is too little room', async () => {
    const isBack = new SignalSource<void>();
    const low = { is: true };
    const room: Room = {
      get isLow() {
        return low.is;
      },
      problems: [],
      check: () => {
        if (low.is) throw new TesseraError('write_failed', 'too little room');
      },
      ranLow: new SignalSource(),
      isBack,
    };
    const indexed = await IndexedChain.open({ room });
    await indexed.store(chain.blocks.slice(0, 2));
    await indexed.until(() => indexed.index.status().problem === 'too little room');
    expect(indexed.index.status().height).toBeNull();
    low.is = false;
    isBack.emit();
    await indexed.caughtUp();
    expect(await tip(indexed)).toMatchObject({ height: 1 });
  });
});

describe('damage to the index', () => {
  async function damaged(key: Uint8Array): Promise<IndexedChain> {
    const indexed = await IndexedChain.open();
    await indexed.store(chain.blocks);
    await indexed.caughtUp();
    const kv = indexed.indexKv;
    await kv?.write(kv.batch().put(key, Uint8Array.of(0xff)), { sync: false });
    return indexed;
  }

  it('that an answer meets: the index is built anew, the archive is not blamed', async () => {
    const indexed = await damaged(addressKey(ADDRESS));
    const blamed: unknown[] = [];
    indexed.archive.failed.on((error) => blamed.push(error));
    const read = () => indexed.index.at((view) => view.address(ADDRESS));
    await expect(read()).rejects.toMatchObject({ code: 'index_incomplete' });
    await indexed.until(() => indexed.removed === 1);
    await indexed.caughtUp();
    expect(await read()).toMatchObject({ address: ADDRESS });
    expect(blamed).toEqual([]);
    expect(await indexed.records()).toEqual(await expectedRecords());
  });

  it('that a start meets, in a record or in its files', async () => {
    const indexed = await damaged(TIP_KEY);
    await indexed.stopIndex();
    await indexed.startIndex();
    await indexed.until(() => indexed.removed === 1);
    await indexed.caughtUp();
    await indexed.stopIndex();
    const folder = join(indexed.folder, 'index');
    for (const file of await readdir(folder))
      if (/\.(log|ldb)$/.test(file)) await writeFile(join(folder, file), 'nothing');
    await indexed.startIndex();
    await indexed.caughtUp();
    expect(await indexed.records()).toEqual(await expectedRecords());
  });
});

describe('another archive under the index', () => {
  it('an older copy of it: the index waits until the same blocks are back', async () => {
    const indexed = await IndexedChain.open();
    await indexed.store(chain.blocks);
    await indexed.caughtUp();
    const records = await indexed.records();
    await indexed.close();
    await indexed.openArchive('older');
    await indexed.store(chain.blocks.slice(0, 6));
    await indexed.startIndex();
    await expect(tip(indexed)).rejects.toMatchObject({ code: 'index_incomplete' });
    await indexed.store(chain.blocks.slice(6, BLOCKS));
    await indexed.caughtUp();
    expect(await tip(indexed)).toMatchObject({ hash: chain.hash(BLOCKS - 1) });
    expect([indexed.removed, await indexed.records()]).toEqual([0, records]);
  });

  it.each([
    ['that is as long', 6],
    ['that is shorter, and grows', 3],
  ])('one of another chain %s: the index is built anew', async (_what, begun) => {
    const indexed = await IndexedChain.open();
    await indexed.store(chain.blocks.slice(0, 6));
    await indexed.caughtUp();
    await indexed.close();
    await indexed.openArchive('other');
    await indexed.store(other.blocks.slice(0, begun));
    await indexed.startIndex();
    await indexed.store(other.blocks.slice(begun));
    await indexed.until(() => indexed.removed === 1);
    await indexed.caughtUp();
    expect(await indexed.records()).toEqual(await expectedRecords(other.blocks));
  });
});

describe('an answer', () => {
  it('is of one block, although others come in while it is read', async () => {
    const indexed = await IndexedChain.open();
    const growing = createTestChain();
    growing.grow(2);
    await indexed.store(growing.blocks);
    const first = payment(5, 300n);
    growing.add([first]);
    let readings = 0;
    const read = async (view: ChainView) => {
      const before = await view.address(ADDRESS);
      // The block comes in between the two, the first time.
      if (readings++ === 0) {
        await indexed.store(growing.blocks.slice(2));
        await indexed.until(() => indexed.index.status().height === 2);
      }
      const page = await view.addressTransactions(ADDRESS, { limit: 100 });
      return { count: before.transactions, listed: page.entries.length, height: view.tip?.height };
    };
    const { count, listed, height } = await indexed.index.at(read);
    expect(height).toBe(2);
    expect(listed).toBe(count);
    expect(readings).toBe(2);
  });

  it('to a page behind a cursor stays the same when blocks come in', async () => {
    const indexed = await IndexedChain.open();
    const growing = createTestChain().grow(8);
    await indexed.store(growing.blocks);
    const page = (cursor?: string) =>
      indexed.index.at((view) => view.addressTransactions(ADDRESS, { limit: 3, cursor }));
    const { next } = await page();
    const second = await page(next ?? '');
    expect(second.entries).toHaveLength(3);
    growing.grow(11);
    await indexed.store(growing.blocks.slice(8));
    expect(await page(next ?? '')).toEqual(second);
  });

  it('to a page of outputs goes on behind an output that is spent meanwhile', async () => {
    const indexed = await IndexedChain.open();
    const growing = createTestChain().grow(2);
    await indexed.store(growing.blocks);
    const page = (cursor?: string) => indexed.index.at((view) => view.addressOutputs(ADDRESS, { limit: 2, cursor }));
    const { entries, next } = await page();
    const last = entries.at(-1);
    if (last === undefined) throw new Error('there is no output');
    const expected = await page(next ?? '');
    growing.add([signed([last.outPoint], [{ value: last.asset, locktime: 0n, scriptPublicKey: ADDRESS }])]);
    await indexed.store(growing.blocks.slice(2));
    expect(await page(next ?? '')).toEqual(expected);
  });
});

describe('a search by words', () => {
  it('finds items by all words of their metadata or their beginnings, the newest first, and those made later do not change it', async () => {
    const words = ['{"name":"Ferry ticket"}', 'FERRY to the island', 'tick\u0065\u0301t', 'a ticket for nobody'];
    const creations = words.map((metadata, at) => itemCreation(at + 1, 3n, null, metadata));
    const names = creations.map((creation) => transactionHash(creation));
    const searched = createTestChain();
    for (const transactions of [[], creations]) searched.add(transactions);
    const indexed = await IndexedChain.open();
    await indexed.store(searched.blocks);
    await indexed.caughtUp();
    const found = (text: string) =>
      indexed.index.at(async (view) =>
        (await view.search(text)).map((one) => (one.kind === 'item' ? names.indexOf(one.genesisHash) : one.kind)),
      );
    expect(await found('Ferry ticket')).toEqual([0]);
    expect(await found('ferry')).toEqual([1, 0]);
    expect(await found('  Tick, ')).toEqual([3, 0, 2]);
    expect(await found('tick\u00e9t')).toEqual([2]);
    expect(await found('ferry nobody')).toEqual([]);
    expect(await found('!?')).toEqual([]);
    expect(await found('1')).toEqual(['block']);
  });
});
