/** Transactions that spend what waits in the pool (docs/adr/0018-chained-payments.md). */

import { describe, expect, it } from 'vitest';
import { itemAsset } from '../../src/chain/assets.js';
import { createItemTransaction, txOut } from '../../src/chain/builders.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { DruidInfo, Transaction } from '../../src/chain/types.js';
import { SPENT } from '../../src/mempool/state/coins.js';
import type { Round } from '../../src/mempool/state/round.js';
import { account, candidate, genesisOut, pay, payment, rulesFor } from '../support/mempool.js';
import { alice, bob, newFolder, setUp, stored } from './running.js';
import { createNode } from './state-node.js';

const carol = account('carol');
const FUNDS = 1_000_000n;
const rules = rulesFor([alice, bob, carol], { asertActivationHeight: 1 });

/** Alice pays `to` one unit out of output `n` of a transaction, and the rest to herself as its output 1. */
function next(parent: Transaction | null, left: bigint, to = bob, druidInfo?: DruidInfo): Transaction {
  return payment({
    from: alice,
    inputs: [parent === null ? genesisOut(0) : { tHash: transactionHash(parent), n: 1 }],
    outputs: [pay(to, 1n), pay(alice, left - 1n)],
    ...(druidInfo === undefined ? {} : { druidInfo }),
  });
}

/** A chain of payments of alice, each from the change of the one before. */
function chainOf(length: number, first: Transaction | null = null, left = FUNDS): Transaction[] {
  const chain: Transaction[] = [];
  for (let i = 0; i < length; i++) chain.push(next(chain.at(-1) ?? first, left - BigInt(i)));
  return chain;
}

const spendOf = (parent: Transaction, n: number, amount: bigint, from = alice, to = carol): Transaction =>
  payment({ from, inputs: [{ tHash: transactionHash(parent), n }], outputs: [pay(to, amount)] });

const hashesOf = (txs: readonly Transaction[]): string[] => txs.map(transactionHash);
const namesIn = (round: Round): string[] => round.transactions.map(({ hash }) => hash);
const trade = (participants = 2n): DruidInfo => ({ druid: 'trade', participants, expectations: [], genesisHash: null });

/** A node that stands at block 0. */
async function started() {
  const node = createNode(rules);
  await node.make();
  return node;
}

describe('a transaction that spends what waits', () => {
  it('is in the same block, behind what it spends', async () => {
    const node = await started();
    const chain = chainOf(5);
    for (const tx of chain) expect(await node.accept(tx)).toBeNull();
    expect(namesIn(await node.make())).toEqual(hashesOf(chain));
    expect(node.state.utxos.find({ tHash: hashesOf(chain)[3] ?? '', n: 1 })).toBe(0);
    expect(node.state.utxos.find({ tHash: hashesOf(chain)[4] ?? '', n: 1 })).not.toBe(0);
    for (const hash of hashesOf(chain)) expect((await node.status(hash))?.status).toBe('Confirmed');
  });

  it('is in the next block when it comes while that of what it spends is made', async () => {
    const node = await started();
    const [first, second, third] = chainOf(3) as [Transaction, Transaction, Transaction];
    await node.accept(first);
    await node.accept(second);
    const round = await node.cut();
    expect(await node.accept(third)).toBeNull();
    await node.stored(await node.close(round));
    expect(namesIn(await node.make())).toEqual(hashesOf([third]));
  });

  it('is refused when another one that waits spends the same (rule P4)', async () => {
    const node = await started();
    const [first, second] = chainOf(2) as [Transaction, Transaction];
    await node.accept(first);
    await node.accept(second);
    expect(await node.accept(spendOf(first, 1, FUNDS - 1n))).toMatchObject({ fault: SPENT });
    await node.reload();
    expect(await node.accept(spendOf(first, 1, FUNDS - 1n))).toMatchObject({ fault: SPENT });
    await node.cut();
    expect(await node.accept(spendOf(first, 1, FUNDS - 1n))).toMatchObject({ fault: { code: 'unknown_input' } });
    // The claim has moved with the output.
    expect(await node.accept(spendOf(first, 0, 1n, bob))).toBeNull();
    expect(await node.accept(spendOf(first, 0, 1n, bob, alice))).toMatchObject({ fault: SPENT });
  });

  it('may come in one list with its parent, the parent first, and nothing of a refused list stays', async () => {
    const node = await started();
    const [first, second, third] = chainOf(3) as [Transaction, Transaction, Transaction];
    expect(await node.accept(second, first)).toMatchObject({ fault: { code: 'unknown_input' } });
    expect(await node.accept(first, second, spendOf(first, 1, FUNDS - 1n))).toMatchObject({ fault: SPENT });
    const digest = node.state.digest();
    expect(node.state.waiting.count).toBe(0);
    expect(node.state.coins.find({ tHash: transactionHash(first), n: 1 })).toBeUndefined();
    expect(node.state.coins.isClaimed(genesisOut(0))).toBe(false);
    await node.reload();
    expect(node.state.digest()).toBe(digest);
    expect(await node.accept(first, second, third)).toBeNull();
    expect(namesIn(await node.make())).toEqual(hashesOf([first, second, third]));
  });

  it('may be a creation and what spends its items', async () => {
    const node = await started();
    const made = createItemTransaction({ bNum: 0n, amount: 5n, spec: 'Create', metadata: 'm' }, alice.key);
    const tHash = transactionHash(made);
    const sent = payment({
      from: alice,
      inputs: [{ tHash, n: 0 }],
      outputs: [txOut(itemAsset(5n, tHash), bob.address)],
    });
    expect(await node.accept(made, sent)).toBeNull();
    expect(namesIn(await node.make())).toEqual([tHash, transactionHash(sent)]);
  });

  it('cannot spend what nobody can spend, nor an output that is not there', async () => {
    const node = await started();
    const burnt = payment({
      from: alice,
      inputs: [genesisOut(0)],
      outputs: [{ ...pay(bob, FUNDS - 1n), scriptPublicKey: null }, pay(alice, 1n)],
    });
    await node.accept(burnt);
    for (const n of [0, 2, -1]) {
      expect(await node.accept(spendOf(burnt, n, 1n))).toMatchObject({ fault: { code: 'unknown_input' } });
    }
  });
});

describe('the order of service', () => {
  it('is one for sets and single transactions: a set has the place at which it became complete', async () => {
    const node = await started();
    const [parent, half] = [next(null, FUNDS), next(next(null, FUNDS), FUNDS - 1n, bob, trade())];
    const other = payment({ from: bob, inputs: [genesisOut(1)], outputs: [pay(bob, FUNDS)], druidInfo: trade() });
    const between = payment({ from: carol, inputs: [genesisOut(2)], outputs: [pay(carol, FUNDS)] });
    expect(await node.accept(parent)).toBeNull();
    expect(await node.accept(half)).toBeNull();
    expect(await node.accept(between)).toBeNull();
    expect(await node.accept(other)).toBeNull();
    const child = spendOf(half, 1, FUNDS - 2n);
    expect(await node.accept(child)).toBeNull();
    expect(namesIn(await node.make())).toEqual(hashesOf([parent, between, half, other, child]));
  });

  it('holds within a list too, and a waiting half offers nothing', async () => {
    const node = await started();
    const parent = next(null, FUNDS);
    const half = next(parent, FUNDS - 1n, bob, trade());
    const child = spendOf(half, 1, FUNDS - 2n);
    const other = payment({ from: bob, inputs: [genesisOut(1)], outputs: [pay(bob, FUNDS)], druidInfo: trade() });
    expect(await node.accept(parent, half, child)).toMatchObject({ fault: { code: 'unknown_input' } });
    expect(await node.accept(parent, half, child, other)).toMatchObject({ fault: { code: 'unknown_input' } });
    expect(node.state.waiting.count).toBe(0);
    expect(await node.accept(parent, half, other, child)).toBeNull();
    expect(namesIn(await node.make())).toEqual(hashesOf([parent, half, other, child]));
  });

  it.each([
    ['single transactions', () => undefined],
    ['sets of one', (i: number) => ({ ...trade(1n), druid: `set ${i}` })],
  ])('takes the oldest 2,000 %s of a longer chain, and the rest into the next block', async (_what, druidOf) => {
    const node = await started();
    const chain: Transaction[] = [];
    for (let i = 0; i < 2_010; i++) chain.push(next(chain.at(-1) ?? null, FUNDS - BigInt(i), bob, druidOf(i)));
    expect(await node.acceptAll(chain)).toBeNull();
    expect(namesIn(await node.make())).toEqual(hashesOf(chain.slice(0, 2_000)));
    expect(namesIn(await node.make())).toEqual(hashesOf(chain.slice(2_000)));
  });
});

describe('a chain of transactions in a block that is given up for one of storage (docs/adr/0011-two-ages-converge.md)', () => {
  for (const phase of ['waits', 'cut', 'closed', 'cut and loaded again'] as const) {
    it(`comes back whole: ${phase}`, async () => {
      const maker = await started();
      const node = createNode(rules);
      await node.adopt(await maker.kept(0));
      const chain = chainOf(4);
      const [late] = chainOf(1, chain[3], FUNDS - 4n) as [Transaction];
      for (const tx of chain) await node.accept(tx);
      if (phase !== 'waits') {
        const round = await node.cut();
        if (phase === 'closed') await node.close(round);
      }
      expect(await node.accept(late)).toBeNull();
      if (phase === 'cut and loaded again') await node.reload();
      // Storage has another block, with the first half of the chain.
      for (const tx of chain.slice(0, 2)) await maker.accept(tx);
      await maker.make();
      expect(await node.adopt(await maker.kept(1))).toBe(true);
      expect(node.state.ready).toBe(3);
      expect(await node.accept(spendOf(chain[2] as Transaction, 1, FUNDS - 3n))).toMatchObject({ fault: SPENT });
      const digest = node.state.digest();
      await node.reload();
      expect(node.state.digest()).toBe(digest);
      expect(namesIn(await node.make())).toEqual(hashesOf([...chain.slice(2), late]));
    });
  }

  it('is Rejected from where a block has spent elsewhere, with all that follows', async () => {
    const maker = await started();
    const node = createNode(rules);
    await node.adopt(await maker.kept(0));
    const chain = chainOf(4);
    for (const tx of chain) await node.accept(tx);
    const elsewhere = spendOf(chain[0] as Transaction, 1, FUNDS - 1n);
    for (const tx of [chain[0] as Transaction, elsewhere]) await maker.accept(tx);
    await maker.make();
    await node.adopt(await maker.kept(1));
    expect(node.state.ready).toBe(0);
    expect((await node.status(hashesOf(chain)[0] ?? ''))?.status).toBe('Confirmed');
    for (const hash of hashesOf(chain).slice(1)) expect((await node.status(hash))?.status).toBe('Rejected');
    expect(node.state.statuses.takeRejected().map(({ hash }) => hash)).toEqual(hashesOf(chain).slice(1));
    expect(node.state.utxos.digest).toEqual(maker.state.utxos.digest);
  });

  it('is adopted from a block of storage to the digest of the one that made it (rule P2)', async () => {
    const maker = await started();
    const node = createNode(rules);
    await node.adopt(await maker.kept(0));
    for (const tx of chainOf(6)) await maker.accept(tx);
    await maker.make();
    await node.adopt(await maker.kept(1));
    expect(node.state.digest()).toBe(maker.state.digest());
  });
});

describe('a child that is sent right behind its parent', () => {
  it('waits for the verdict on the parent, whichever is checked sooner', async () => {
    const { mempool } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    const chain = chainOf(4);
    await Promise.all(chain.map((tx) => mempool.submit([tx])));
    for (const hash of hashesOf(chain)) {
      expect((await mempool.statuses([hash])).get(hash)?.status).not.toBe('Rejected');
    }
  });

  it('is refused when the parent is, and without a parent at once', async () => {
    const { mempool } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    const forged = payment({ from: bob, inputs: [genesisOut(0)], outputs: [pay(bob, FUNDS)] });
    const child = spendOf(forged, 0, FUNDS, bob);
    const outcomes = await Promise.allSettled([mempool.submit([forged]), mempool.submit([child])]);
    expect(outcomes.map((one) => (one.status === 'rejected' ? one.reason.code : ''))).toEqual([
      'invalid_signature',
      'unknown_input',
    ]);
    await expect(mempool.submit([child])).rejects.toMatchObject({ code: 'unknown_input' });
  });

  it('does not wait for a list that waits for it', async () => {
    const { mempool } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    const [a, b] = [next(null, FUNDS), payment({ from: bob, inputs: [genesisOut(1)], outputs: [pay(bob, FUNDS)] })];
    const [childOfA, childOfB] = [spendOf(a, 1, FUNDS - 1n), spendOf(b, 0, FUNDS, bob)];
    const outcomes = await Promise.allSettled([mempool.submit([a, childOfB]), mempool.submit([b, childOfA])]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});

describe('the limits of what waits before a transaction', () => {
  const hold = { instant: false, blockInterval: 10_000, proofWindow: 500, minMiners: 1, partitionSize: 10 };
  const pool = { maxTransactions: 1_000, maxBytes: 10_000_000 };

  it('are 100 transactions: one more is refused, has no status, and is admitted after a block', async () => {
    const { mempool, bed } = await setUp({ folder: await newFolder(), mempool: { pool, blocks: hold } });
    await stored(mempool, 0);
    const chain = chainOf(102);
    for (let from = 0; from < 101; from += 20) await mempool.submit(chain.slice(from, Math.min(from + 20, 101)));
    const last = chain[101] as Transaction;
    await expect(mempool.submit([last])).rejects.toMatchObject({ code: 'too_many_ancestors' });
    const hash = transactionHash(last);
    expect((await mempool.statuses([hash])).size).toBe(0);
    const done = stored(mempool, 1);
    await bed.clock.advance(10_000);
    await done;
    await mempool.submit([last]);
    expect((await mempool.statuses([hash])).get(hash)?.status).toBe('Pending');
  });

  it('count what the same list brings, and the bytes', async () => {
    const bytes = encodeTransaction(next(null, FUNDS)).length;
    const limits = { ...pool, maxAncestors: 50, maxAncestorBytes: 3 * bytes + 100 };
    const { mempool } = await setUp({ folder: await newFolder(), mempool: { pool: limits, blocks: hold } });
    await stored(mempool, 0);
    const chain = chainOf(5);
    await expect(mempool.submit(chain)).rejects.toMatchObject({ code: 'invalid_request' });
    await mempool.submit(chain.slice(0, 4));
    await expect(mempool.submit(chain.slice(4))).rejects.toMatchObject({ code: 'too_many_ancestors' });
  });

  it('name a list that is beyond them by itself: no block will change that', async () => {
    const limits = { ...pool, maxAncestors: 3 };
    const { mempool } = await setUp({ folder: await newFolder(), mempool: { pool: limits, blocks: hold } });
    await stored(mempool, 0);
    const chain = chainOf(5);
    const refused = mempool.submit(chain);
    await expect(refused).rejects.toMatchObject({ code: 'invalid_request', message: expect.stringContaining('parts') });
    const hash = transactionHash(chain[4] as Transaction);
    expect((await mempool.statuses([hash])).size).toBe(0);
    await mempool.submit(chain.slice(0, 4));
    await expect(mempool.submit(chain)).rejects.toMatchObject({ code: 'too_many_ancestors' });
  });

  it('count the other members of a DRUID set', async () => {
    const limits = { ...pool, maxAncestors: 1 };
    const { mempool } = await setUp({ folder: await newFolder(), mempool: { pool: limits, blocks: hold } });
    await stored(mempool, 0);
    const half = next(null, FUNDS, bob, trade());
    const other = payment({ from: bob, inputs: [genesisOut(1)], outputs: [pay(bob, FUNDS)], druidInfo: trade() });
    await mempool.submit([half, other]);
    await expect(mempool.submit([spendOf(half, 1, FUNDS - 1n)])).rejects.toMatchObject({ code: 'too_many_ancestors' });
  });

  it('say nothing about a signature: that of a child is verified like any other', async () => {
    const { mempool } = await setUp({ folder: await newFolder(), mempool: { pool, blocks: hold } });
    await stored(mempool, 0);
    const parent = next(null, FUNDS);
    const forged = spendOf(parent, 1, FUNDS - 1n, bob);
    await expect(mempool.submit([parent, forged])).rejects.toMatchObject({ code: 'invalid_signature' });
    expect(candidate(forged).hash).toBe(transactionHash(forged));
    await mempool.submit([parent]);
    await expect(mempool.submit([forged])).rejects.toMatchObject({ code: 'invalid_signature' });
  });
});
