/**
 * Blocks that storage has and this node lacks: what they leave is what making them left
 * (docs/adr/0011-two-ages-converge.md).
 */

import { describe, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { createItemTransaction, txOut } from '../../src/chain/builders.js';
import type { Transaction } from '../../src/chain/types.js';
import { SPENT } from '../../src/mempool/state/coins.js';
import { keys } from '../../src/mempool/state/layout.js';
import { account, candidate, genesisOut, pay, payment, rulesFor } from '../support/mempool.js';
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
    expect(await other.kv.get(keys.create(candidate(item).hash))).toBeDefined();
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
    expect(other.state.takeRejected()).toEqual([{ hash: candidate(send(0, 9n)).hash, rule: expect.any(String) }]);
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
