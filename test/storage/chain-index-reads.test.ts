/** What answers of the index read at once: a transaction has up to 512 KiB, and an answer may need hundreds. */

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { txOut } from '../../src/chain/builders.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import { parseGenesis } from '../../src/chain/genesis.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { OutPoint, Transaction } from '../../src/chain/types.js';
import type { Kv } from '../../src/db/kv.js';
import { systemClock } from '../../src/lib/clock.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { TimeSlices } from '../../src/lib/time-slices.js';
import { ArchiveLookups } from '../../src/storage/archive/lookups.js';
import type { TransactionRecord } from '../../src/storage/archive/records.js';
import { readBlockToIndex } from '../../src/storage/chain-index/block-to-index.js';
import type { BlockSummary } from '../../src/storage/chain-index/service.js';
import { Sources } from '../../src/storage/chain-index/sources.js';
import {
  AnswerReads,
  TransactionReads,
  type TransactionReadsModules,
} from '../../src/storage/chain-index/transaction-reads.js';
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

/** Reads of an archive that has every transaction, of the size that is said. */
function readsOf(modules: Partial<TransactionReadsModules>, sizeOf: (hash: string) => number = () => 100) {
  return new TransactionReads({
    archive: {
      transactions: async (hashes, turns) => {
        const records = hashes.map((hash) => recordOf(hash, sizeOf(hash)));
        for (const { bytes } of records) await turns?.turn(bytes.length);
        return records;
      },
    },
    slices: { turn: async () => undefined },
    ...modules,
  });
}

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
    const slices = new (class extends TimeSlices {
      override get isUsedUp(): boolean {
        return true;
      }
      override async turn(): Promise<void> {
        turns++;
      }
    })(systemClock);
    const block = await readBlockToIndex(1, indexed.archive.lookups, slices);
    expect(block.transactions.length).toBe(SOURCES + 1);
    expect(turns).toBeGreaterThan(SOURCES);
    turns = 0;
    await new Sources(indexed.archive.lookups, slices).find(new Set(hashes));
    expect(turns).toBe(SOURCES);
  });
});

describe('the reads of all answers', () => {
  it('take a turn for each transaction, in which no other is read, and go round between the answers', async () => {
    const happened: string[] = [];
    const all = readsOf({ slices: { turn: async () => void happened.push('turn') } });
    const answer = async (name: string) => {
      const reads = new AnswerReads(all, '');
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
    const one = (name: string) => ['turn', `pick ${name}`];
    expect(happened).toEqual(['a1', 'b1', 'a2', 'b2'].flatMap(one));
  });

  it('go on after one that is damaged', async () => {
    const transactions = async (hashes: readonly string[]) =>
      hashes.map((hash) => (hash === 'lost' ? undefined : recordOf(hash)));
    const reads = new AnswerReads(readsOf({ archive: { transactions } }), '');
    const lost = reads.pick('lost', ({ hash }) => hash);
    const next = reads.pick('there', ({ hash }) => hash);
    await expect(lost).rejects.toMatchObject({ code: 'data_corrupt' });
    expect(await next).toBe('there');
  });
});

describe('a page of the transactions of a block', () => {
  it('ends early when they are large, and the next goes on behind it', async () => {
    const read: string[] = [];
    const all = readsOf({}, (hash) => {
      read.push(hash);
      return MIB;
    });
    const namesAt = async (places: readonly { readonly txNum: number }[]) => places.map(({ txNum }) => `${txNum}`);
    const block = { height: 1, time: 1n, transactions: 10 } as BlockSummary;
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const reads = new AnswerReads(all, '');
      const view = new IndexView({
        kv: {} as Kv,
        archive: { namesAt } as unknown as ArchiveLookups,
        reads,
        tip: { height: 1, hash: 'b1' },
      });
      const page = await view.blockTransactions(block, { limit: 100, cursor });
      reads.end();
      pages.push(page.entries.map(({ hash }) => hash));
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
    expect(pages).toEqual([
      ['0', '1', '2', '3'],
      ['4', '5', '6', '7'],
      ['8', '9'],
    ]);
    // The first of each page once more, when its answer has the place of long ones.
    expect(read).toHaveLength(13);
  });
});

describe('an answer that needs large transactions', () => {
  const LARGE = 12;
  const OUTPUTS = 5_000;
  const funds = Array.from({ length: LARGE + 1 }, () => ({ address: ADDRESS, amount: OUTPUTS, locktime: 0 }));
  const genesis = parseGenesis({
    mempool_seed_utxo: { '000001': funds },
    mempool_genesis_tx_in: 'large ones',
    initial_issuances: [],
  });
  const paying = (amount: number) => txOut(tokenAsset(BigInt(amount)), ADDRESS);
  const large = Array.from({ length: LARGE }, (_, n) =>
    signed(
      [{ tHash: '000001', n }],
      Array.from({ length: OUTPUTS }, () => paying(1)),
    ),
  );
  const inputs = large.map((tx) => ({ tHash: transactionHash(tx), n: 7 }));
  const dear = signed(inputs, [paying(LARGE)]);
  const cheap = signed([{ tHash: '000001', n: LARGE }], [paying(OUTPUTS)]);
  const whole = { firstInput: 0, firstOutput: 0 };

  async function stored(): Promise<IndexedChain> {
    const chain = createTestChain(0, genesis);
    for (const transactions of [[], large, [dear, cheap]]) chain.add(transactions);
    const indexed = await IndexedChain.open({}, { genesis, activationHeight: 3 });
    await indexed.store(chain.blocks);
    await indexed.caughtUp();
    return indexed;
  }

  it('ends its list of inputs after 4 MiB of them, and the next goes on behind it', async () => {
    const { index } = await stored();
    const lists: (OutPoint | undefined)[][] = [];
    for (let firstInput = 0; firstInput < LARGE; firstInput += lists.at(-1)?.length ?? LARGE) {
      const shown = await index.at((view) => view.transaction(transactionHash(dear), { ...whole, firstInput }));
      lists.push(shown?.inputList.map(({ source }) => source?.outPoint) ?? []);
    }
    const each = encodeTransaction(large[0] as Transaction).length;
    expect(lists.flat()).toEqual(inputs);
    expect(lists[0]?.length).toBe(Math.ceil((4 * MIB - encodeTransaction(dear).length) / each));
  });

  it('keeps none waiting that needs little, whoever asks for them', async () => {
    const { index } = await stored();
    const read = ArchiveLookups.prototype.transactions;
    let decoded = 0;
    const spy = vi.spyOn(ArchiveLookups.prototype, 'transactions').mockImplementation(async function (
      this: ArchiveLookups,
      hashes,
      slices,
    ) {
      const records = await read.call(this, hashes, slices);
      for (const record of records) if (record !== undefined && record.bytes.length > MIB / 4) decoded++;
      return records;
    });
    onTestFinished(() => spy.mockRestore());
    const many = Array.from({ length: 8 }, () => index.at((view) => view.transaction(transactionHash(dear), whole)));
    const shown = await index.at((view) => view.transaction(transactionHash(cheap), whole));
    expect([shown?.inputList.length, decoded < many.length]).toEqual([1, true]);
    await Promise.all(many);
    expect(decoded).toBeGreaterThan(many.length);
  });

  it('waits for its turn among the senders; who has most waiting is refused more', async () => {
    const all = readsOf({}, () => MIB);
    const made: string[] = [];
    const answer = async (sender: string): Promise<void> => {
      const reads = new AnswerReads(all, sender);
      try {
        await reads.pick('a large one', () => undefined);
        made.push(sender);
      } catch (error) {
        made.push(isTesseraError(error, 'overloaded') ? `${sender} refused` : 'failed');
      } finally {
        reads.end();
      }
    };
    const asked = [...Array.from({ length: 34 }, () => 'flood'), 'one', 'flood', 'two'].map(answer);
    await Promise.all(asked);
    const refused = made.filter((name) => name.endsWith('refused'));
    expect(refused).toEqual(Array.from({ length: 4 }, () => 'flood refused'));
    expect(made.filter((name) => name !== 'flood refused').slice(0, 5)).toEqual([
      'flood',
      'flood',
      'one',
      'two',
      'flood',
    ]);
    expect(made).toHaveLength(asked.length);
  });
});
