/**
 * Blocks that storage has and this node lacks: what they leave is what making them left
 * (docs/adr/0011-two-ages-converge.md).
 */

import { describe, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { createItemTransaction, txOut } from '../../src/chain/builders.js';
import type { Transaction } from '../../src/chain/types.js';
import { encodeU64, readU64 } from '../../src/db/keys.js';
import { keys as journalKeys } from '../../src/journal/local-journal.js';
import { Applier } from '../../src/mempool/state/applier.js';
import { SPENT } from '../../src/mempool/state/coins.js';
import { keys } from '../../src/mempool/state/layout.js';
import type { KeptRecord } from '../../src/mempool/state/records.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { StateStore } from '../../src/mempool/state/state-store.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { openJournal } from '../support/journal.js';
import { ManualClock } from '../support/manual-clock.js';
import { MemoryKv } from '../support/memory-kv.js';
import { type Account, account, candidate, genesisOut, pay, payment, rulesFor, unicornOf } from '../support/mempool.js';
import { createNode as createNodeWith } from './state-node.js';

const alice = account('alice');
const bob = account('bob');
const rules = rulesFor([alice, bob], { asertActivationHeight: 1 });
const TIME = 1_700_000_000;
const createNode = () => createNodeWith(rules);

const send = (n: number, amount = 1n): Transaction =>
  payment({
    from: n === 0 ? alice : bob,
    inputs: [genesisOut(n)],
    outputs: [pay(bob, amount), pay(alice, 1_000_000n - amount)],
  });

describe('a state that adopts the blocks of another', () => {
  it('has the same digest as the one that made them (rule P2)', async () => {
    const maker = createNode();
    const item = createItemTransaction({ bNum: 0n, amount: 5n, spec: 'Create', metadata: null }, alice.key);
    const blocks = [await maker.make(), await maker.make(send(0)), await maker.make(item), await maker.make(send(1))];
    const other = createNode();
    for (const { height } of blocks) expect(await other.adopt(await maker.kept(height))).toBe(true);
    expect(other.state.digest()).toBe(maker.state.digest());
    await other.reload();
    expect(other.state.digest()).toBe(maker.state.digest());
    expect(await other.kv.get(keys.known(candidate(item).hash))).toBeDefined();
    expect((await other.status(candidate(send(1)).hash))?.status).toBe('Confirmed');
  });

  it('goes on from any block, and without the facts of rounds differs in nothing that is in the chain', async () => {
    const maker = createNode();
    await maker.make();
    await maker.make(send(0));
    const other = createNode();
    for (const height of [0, 1]) await other.adopt(await maker.kept(height), false);
    expect(other.state.utxos.digest).toEqual(maker.state.utxos.digest);
    expect(other.state.head).toMatchObject({ height: 1, hash: maker.state.head.hash, issued: maker.state.head.issued });
    await other.make(send(1));
    expect(other.state.head.height).toBe(2);
  });

  it('differs in the number of the last arrival alone when the other has refused what it had admitted', async () => {
    const maker = createNode();
    await maker.make();
    const blocks = [await maker.make(send(0))];
    const other = createNode();
    await other.adopt(await maker.kept(0));
    await other.accept(send(0, 9n));
    for (const { height } of blocks) await other.adopt(await maker.kept(height));
    expect((await other.status(candidate(send(0, 9n)).hash))?.status).toBe('Rejected');
    expect(other.state.digest()).not.toBe(maker.state.digest());
    expect(other.state.utxos.digest).toEqual(maker.state.utxos.digest);
    expect(other.state.head).toEqual(maker.state.head);
    expect([other.state.ready, other.state.round]).toEqual([maker.state.ready, maker.state.round]);
    // As many arrivals there, and nothing is left that tells the two apart.
    await maker.accept(send(1));
    await maker.make();
    const more = await maker.kept(2);
    await other.adopt(more);
    const third = createNode();
    for (const height of [0, 1, 2]) await third.adopt(await maker.kept(height));
    expect(third.state.digest()).toBe(maker.state.digest());
  });

  it('takes none but the next block', async () => {
    const maker = createNode();
    await maker.make();
    await maker.make(send(0));
    const other = createNode();
    expect(await other.adopt(await maker.kept(1))).toBe(false);
    await other.adopt(await maker.kept(0));
    expect(await other.adopt(await maker.kept(0))).toBe(false);
    expect(other.state.head.height).toBe(0);
  });

  for (const phase of ['cut', 'closed', 'cut and loaded again'] as const) {
    it(`gives up the block that it was making: ${phase}`, async () => {
      const maker = createNode();
      const other = createNode();
      await maker.make();
      await other.adopt(await maker.kept(0));
      // The other has another transaction in the same block, and one that both know.
      await other.accept(send(0));
      await other.accept(send(1, 7n));
      const round = await other.cut(TIME + 5);
      if (phase === 'closed') await other.close(round, ['m9']);
      if (phase === 'cut and loaded again') await other.reload();
      await maker.make(send(0));
      await other.adopt(await maker.kept(1));
      expect(other.state.round).toBeNull();
      expect(other.state.head).toEqual(maker.state.head);
      expect(other.state.ready).toBe(1);
      expect(other.state.pending(candidate(send(1, 7n)).hash)).toBeDefined();
      expect((await other.status(candidate(send(0)).hash))?.status).toBe('Confirmed');
      const next = await other.make();
      expect(next.transactions.map(({ hash }) => hash)).toEqual([candidate(send(1, 7n)).hash]);
      await maker.make(send(1, 7n));
      expect(other.state.utxos.digest.count).toBe(maker.state.utxos.digest.count);
      await other.reload();
      expect(other.state.ready).toBe(0);
    });
  }

  it('rejects what waits and spends what the block spends, by name', async () => {
    const maker = createNode();
    const other = createNode();
    await maker.make();
    await other.adopt(await maker.kept(0));
    await other.accept(send(0, 9n));
    await other.accept(send(1));
    await maker.make(send(0));
    await other.adopt(await maker.kept(1));
    expect(await other.status(candidate(send(0, 9n)).hash)).toMatchObject({ status: 'Rejected' });
    expect(other.state.statuses.takeRejected()).toEqual([
      { hash: candidate(send(0, 9n)).hash, rule: expect.any(String) },
    ]);
    expect(other.state.pending(candidate(send(1)).hash)).toBeDefined();
    // What is left still claims its inputs.
    expect(await other.accept(send(1, 3n))).toMatchObject({ fault: SPENT });
    await other.reload();
    expect(other.state.ready).toBe(1);
  });

  it('keeps a transaction that spends an output of the given up block when the adopted one creates it too', async () => {
    const maker = createNode();
    const other = createNode();
    await maker.make();
    await other.adopt(await maker.kept(0));
    await other.accept(send(0));
    await other.cut(TIME + 5);
    const child = payment({
      from: bob,
      inputs: [{ tHash: candidate(send(0)).hash, n: 0 }],
      outputs: [txOut(tokenAsset(1n), alice.address)],
    });
    expect(await other.accept(child)).toBeNull();
    await maker.make(send(0));
    await other.adopt(await maker.kept(1));
    expect(other.state.pending(candidate(child).hash)).toBeDefined();
    const next = await other.make();
    expect(next.transactions.map(({ hash }) => hash)).toEqual([candidate(child).hash]);
  });

  it('keeps the last 64 blocks, and no more', async () => {
    const maker = createNode();
    for (let i = 0; i < 66; i++) await maker.make();
    expect(maker.state.kept.hashAt(1)).toBeUndefined();
    expect(await maker.kv.get(keys.kept(1))).toBeUndefined();
    for (const height of [2, 65]) expect((await maker.kept(height)).bytes.length).toBeGreaterThan(0);
    expect(maker.state.kept.hashAt(65)).toBe(maker.state.head.hash);
    await maker.reload();
    expect(maker.state.kept.hashAt(2)).toBeDefined();
  });
});

describe('a DRUID set that a block of others tears apart', () => {
  const carol = account('carol');
  const half = (from: Account, n: number): Transaction =>
    payment({
      from,
      inputs: [genesisOut(n)],
      outputs: [pay(from, 1_000_000n)],
      druidInfo: { druid: 'trade', participants: 2n, expectations: [], genesisHash: null },
    });
  const [ofAlice, ofBob, ofCarol] = [half(alice, 0), half(bob, 1), half(carol, 2)];

  /** One has made a block of the halves of alice and bob; the other has the set of alice and carol, and a child of carol's. */
  async function torn(waits: 'in the pool' | 'in its round') {
    const withCarol = rulesFor([alice, bob, carol], { asertActivationHeight: 1 });
    const [maker, other] = [createNodeWith(withCarol), createNodeWith(withCarol)];
    await maker.make();
    await other.adopt(await maker.kept(0));
    expect(await maker.acceptAll([ofAlice, ofBob])).toBeNull();
    expect(await other.acceptAll([ofAlice, ofCarol])).toBeNull();
    const child = payment({
      from: carol,
      inputs: [{ tHash: candidate(ofCarol).hash, n: 0 }],
      outputs: [pay(bob, 1_000_000n)],
    });
    expect(await other.accept(child)).toBeNull();
    if (waits === 'in its round') await other.cut();
    await maker.make();
    expect(await other.adopt(await maker.kept(1))).toBe(true);
    return { other, child };
  }

  it.each(['in the pool', 'in its round'] as const)(
    'waits no longer (%s): no block may hold a part of it (rule P2, docs/chain.md#druid-sets)',
    async (waits) => {
      const { other, child } = await torn(waits);
      for (const tx of [ofCarol, child]) {
        expect((await other.status(candidate(tx).hash))?.status).toBe('Rejected');
      }
      const round = await other.cut();
      expect(round.transactions.filter(({ arrival }) => arrival !== 0)).toEqual([]);
    },
  );

  it('gives its inputs back, now and after a restart', async () => {
    const { other } = await torn('in the pool');
    await other.reload();
    const again = payment({ from: carol, inputs: [genesisOut(2)], outputs: [pay(bob, 1_000_000n)] });
    expect(await other.accept(again)).toBeNull();
    const round = await other.cut();
    expect(round.transactions.map(({ hash }) => hash)).toContain(candidate(again).hash);
  });
});

describe('the journal of a node that takes in blocks', () => {
  it('keeps for a minute what the state holds already: a backup copies it a little later than the state', async () => {
    const maker = createNode();
    const blocks: KeptRecord[] = [];
    for (let height = 0; height < 65; height++) {
      await maker.make();
      blocks.push(await maker.kept(height));
    }
    const clock = new ManualClock();
    const [journalKv, kv] = [new MemoryKv(), new MemoryKv()];
    const journal = await openJournal(journalKv);
    const store = new StateStore(kv, clock);
    const state = new MempoolState(rules);
    const applier = new Applier({ journal, store, state, unicorn: unicornOf, clock, metrics: noMetrics });
    await applier.start();
    const adopt = ({ bytes, facts }: KeptRecord): Promise<boolean> =>
      applier.submit<'block-adopted'>({ kind: 'block-adopted', block: bytes, facts });
    // Commands that change nothing: the first block would let the journal forget all but 64 of them.
    for (let i = 0; i < 100; i++)
      await applier.submit<'transactions'>({ kind: 'transactions', time: TIME, groups: [] });
    const [first, ...rest] = blocks;
    if (first !== undefined) await adopt(first);
    const base = async (): Promise<number> => readU64((await journalKv.get(journalKeys.base)) ?? encodeU64(1), 0);
    await applier.submit<'transactions'>({ kind: 'transactions', time: TIME, groups: [] });
    expect(await base()).toBe(1);
    clock.advance(60_000);
    for (const block of rest) await adopt(block);
    await applier.submit<'transactions'>({ kind: 'transactions', time: TIME, groups: [] });
    expect(await base()).toBe(101);
    await applier.stop();
    await journal.close();
  });
});
