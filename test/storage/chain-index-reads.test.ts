/** What answers of the index read at once: a transaction has up to 512 KiB, and an answer may need hundreds. */

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { Kv } from '../../src/db/kv.js';
import { ArchiveLookups } from '../../src/storage/archive/lookups.js';
import type { TransactionRecord } from '../../src/storage/archive/records.js';
import { readBlockToIndex } from '../../src/storage/chain-index/block-to-index.js';
import type { BlockSummary } from '../../src/storage/chain-index/service.js';
import { Sources } from '../../src/storage/chain-index/sources.js';
import { TransactionReads } from '../../src/storage/chain-index/transaction-reads.js';
import { IndexView } from '../../src/storage/chain-index/view.js';
import { IndexedChain } from '../support/storage/indexed-chain.js';
import { ADDRESS, createTestChain, payment, signed } from '../support/storage/test-chain.js';

const SOURCES = 40;
const MIB = 1024 * 1024;

const recordOf = (hash: string, size = 100): TransactionRecord => ({
  hash,
  height: 1,
  txNum: 0,
  bytes: new Uint8Array(size),
  transaction: payment(1),
});

/** Counts the transactions that are read at once, by all answers. */
function countReads() {
  const read = ArchiveLookups.prototype.transactions;
  const counts = { now: 0, most: 0 };
  const spy = vi.spyOn(ArchiveLookups.prototype, 'transactions').mockImplementation(async function (
    this: ArchiveLookups,
    hashes,
    slices,
  ) {
    counts.now += hashes.length;
    counts.most = Math.max(counts.most, counts.now);
    const records = await read.call(this, hashes, slices);
    counts.now -= hashes.length;
    return records;
  });
  onTestFinished(() => spy.mockRestore());
  return counts;
}

describe('an answer that needs many transactions', () => {
  const payments = Array.from({ length: SOURCES }, (_, i) => payment(i + 1));
  const hashes = payments.map(transactionHash);
  const inputs = [...hashes.map((tHash) => ({ tHash, n: 0 })), { tHash: hashes[0] ?? '', n: 1 }];
  const worth = inputs.reduce((sum, { n }) => sum + (payments[0]?.outputs[n]?.value.amount ?? 0n), 0n);
  const spending = signed(inputs, [{ value: tokenAsset(worth), locktime: 0n, scriptPublicKey: ADDRESS }]);

  it('reads them one at a time, also beside other answers, and shows the right outputs', async () => {
    const indexed = await IndexedChain.open();
    const chain = createTestChain();
    for (const transactions of [[], payments, [spending]]) chain.add(transactions);
    await indexed.store(chain.blocks);
    await indexed.caughtUp();
    const counts = countReads();
    const part = { firstInput: 0, firstOutput: 0 };
    const pageOf = () =>
      indexed.index.at(async (view) => {
        const block = await view.block(1);
        return block && (await view.blockTransactions(block, { limit: 100 }));
      });
    for (const page of await Promise.all([pageOf(), pageOf(), pageOf()])) {
      expect(page?.entries.slice(0, SOURCES).map(({ hash }) => hash)).toEqual(hashes);
      expect(page?.next).toBeNull();
    }
    expect(counts.most).toBe(1);

    const shown = await indexed.index.at((view) => view.transaction(transactionHash(spending), part));
    const sources = shown?.inputList.map(({ source }) => source);
    expect(sources?.map((source) => source?.outPoint)).toEqual(inputs);
    expect(sources?.map((source) => source?.asset)).toEqual(inputs.map(({ n }) => payments[0]?.outputs[n]?.value));
    expect(counts.most).toBe(1);

    const found = await indexed.index.at((view) => view.search((hashes[0] ?? '').slice(0, 8)));
    expect(found).toContainEqual({ kind: 'transaction', hash: hashes[0], height: 1 });
    expect(counts.most).toBe(1);
  });

  it('is built with a turn for each of them', async () => {
    const chain = createTestChain();
    for (const transactions of [[], payments, [spending]]) chain.add(transactions);
    const indexed = await IndexedChain.open();
    await indexed.store(chain.blocks);
    let turns = 0;
    const slices = { turn: async () => void turns++ };
    const block = await readBlockToIndex(1, indexed.archive.lookups, slices);
    expect([block.transactions.length, turns]).toEqual([SOURCES + 1, SOURCES + 1]);
    await new Sources(indexed.archive.lookups, slices).find(new Set(hashes));
    expect(turns).toBe(2 * SOURCES + 1);
  });
});

describe('the reads of all answers', () => {
  it('take a turn for each transaction, in which no other is read, and go round between the answers', async () => {
    const happened: string[] = [];
    const reads = new TransactionReads({
      archive: {
        transactions: async (hashes) => {
          happened.push(`read ${hashes.join()}`);
          return hashes.map((hash) => recordOf(hash));
        },
      },
      slices: { turn: async () => void happened.push('turn') },
    });
    const answer = async (name: string) => {
      const sizes: number[] = [];
      for (const n of [1, 2]) {
        sizes.push(
          await reads.pick(`${name}${n}`, ({ hash, bytes }) => {
            happened.push(`pick ${hash}`);
            return bytes.length;
          }),
        );
      }
      return sizes;
    };
    expect(await Promise.all([answer('a'), answer('b')])).toEqual([
      [100, 100],
      [100, 100],
    ]);
    const one = (name: string) => ['turn', `read ${name}`, `pick ${name}`];
    expect(happened).toEqual(['a1', 'b1', 'a2', 'b2'].flatMap(one));
  });

  it('go on after one that is damaged', async () => {
    const reads = new TransactionReads({
      archive: { transactions: async (hashes) => hashes.map((hash) => (hash === 'lost' ? undefined : recordOf(hash))) },
      slices: { turn: async () => undefined },
    });
    const lost = reads.pick('lost', ({ hash }) => hash);
    const next = reads.pick('there', ({ hash }) => hash);
    await expect(lost).rejects.toMatchObject({ code: 'data_corrupt' });
    expect(await next).toBe('there');
  });
});

describe('a page of the transactions of a block', () => {
  it('ends early when they are large, and the next goes on behind it', async () => {
    const read: string[] = [];
    const transactions = async (hashes: readonly string[]) => {
      read.push(...hashes);
      return hashes.map((hash) => recordOf(hash, MIB));
    };
    const namesAt = async (places: readonly { readonly txNum: number }[]) => places.map(({ txNum }) => `${txNum}`);
    const view = new IndexView({
      kv: {} as Kv,
      archive: { namesAt } as unknown as ArchiveLookups,
      reads: new TransactionReads({ archive: { transactions }, slices: { turn: async () => undefined } }),
      tip: { height: 1, hash: 'b1' },
    });
    const block = { height: 1, time: 1n, transactions: 10 } as BlockSummary;
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const page = await view.blockTransactions(block, { limit: 100, cursor });
      pages.push(page.entries.map(({ hash }) => hash));
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
    expect(pages).toEqual([
      ['0', '1', '2', '3'],
      ['4', '5', '6', '7'],
      ['8', '9'],
    ]);
    expect(read).toHaveLength(10);
  });
});
