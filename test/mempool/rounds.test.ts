/** The next block is made while storage keeps the last one (docs/adr/0044-rounds-that-overlap.md): what the state does. */

import { describe, expect, it } from 'vitest';
import { coinbaseTransaction } from '../../src/chain/builders.js';
import { encodeHeader, encodeTransaction } from '../../src/chain/codec.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { OutPoint, Transaction } from '../../src/chain/types.js';
import { toHex } from '../../src/lib/bytes.js';
import { atOnce } from '../../src/lib/pieces.js';
import { relationOf } from '../../src/mempool/blocks/storage-tips.js';
import type { Command } from '../../src/mempool/state/commands.js';
import { encodeCommand } from '../../src/mempool/state/commands.js';
import { keys, ranges } from '../../src/mempool/state/layout.js';
import { encodeRoundPieces } from '../../src/mempool/state/records.js';
import { closedHash, type Round } from '../../src/mempool/state/round.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { appendTo, openJournal } from '../support/journal.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, applierOf, candidate, genesisOut, mine, pay, payment, rulesFor } from '../support/mempool.js';
import { createNode as createNodeWith } from './state-node.js';

const alice = account('alice');
const bob = account('bob');
const rules = rulesFor([alice, bob], { asertActivationHeight: 1 });
const createNode = () => createNodeWith(rules);
type Node = ReturnType<typeof createNode>;

/** An output of block 0, or another of the same owner, whole. */
const send = (n: 0 | 1, at: OutPoint = genesisOut(n), parts = 1n): Transaction => {
  const owner = n === 0 ? alice : bob;
  return payment({
    from: owner,
    inputs: [at],
    outputs: Array.from({ length: Number(parts) }, () => pay(owner, 1_000_000n / parts)),
  });
};
const outOf = (tx: Transaction): OutPoint => ({ tHash: transactionHash(tx), n: 0 });
/** What tells two rounds apart. */
const factsOf = (round: Round | null): unknown =>
  round && {
    bytes: toHex(atOnce(encodeRoundPieces(round))),
    header: toHex(encodeHeader(round.header)),
    names: namesIn(round),
  };
const namesIn = (round: Round | null): string[] | undefined => round?.transactions.map(({ hash }) => hash);
const proofsOf = async (node: Node): Promise<number> => {
  let count = 0;
  for (const slot of [0, 1] as const) for await (const _ of node.kv.entries(ranges.proofs(slot))) count++;
  return count;
};
const heights = (node: Node): number[] => node.state.rounds.map(({ height }) => height);

const first = send(0);
const second = send(0, outOf(first));

/** Block 0 is stored, block 1 is closed with `first`, and block 2 cut with `second`, which spends from it. */
async function overlapping(node: Node): Promise<readonly [closed: Round, open: Round]> {
  await node.make();
  await node.accept(first);
  const closed = await node.close(await node.cut());
  await node.accept(second);
  return [closed, await node.cut()];
}

describe('a block that is cut while the one before it is being stored', () => {
  it('is the same block as one that is cut afterwards: header, reward, draw and transactions', async () => {
    const [ahead, inTurn] = [createNode(), createNode()];
    const [closed, open] = await overlapping(ahead);
    await inTurn.make();
    await inTurn.make(first);
    await inTurn.accept(second);
    expect(factsOf(open)).toEqual(factsOf(await inTurn.cut()));
    expect(open.header.previousHash).toBe(closedHash(closed));
    await ahead.stored(closed);
    expect(ahead.state.digest()).toBe(inTurn.state.digest());
  });

  it('leaves the head where storage is: nothing is Confirmed before it is stored (rule P1)', async () => {
    const node = createNode();
    const [closed, open] = await overlapping(node);
    expect(node.state.head.height).toBe(0);
    expect([node.state.closing, node.state.round]).toEqual([closed, open]);
    expect(node.state.pending(candidate(first).hash)?.info).toBe('In block 1, which is being made');
    expect(node.state.pending(candidate(second).hash)?.info).toBe('In block 2, which is being made');
    expect(await node.status(candidate(first).hash)).toBeUndefined();
    const next = await node.close(open);
    expect(await node.stored(next)).toBeNull();
    expect(node.state.head.height).toBe(0);
    await node.stored(closed);
    expect(node.state.head).toMatchObject({ height: 1, hash: closedHash(closed) });
    expect((await node.status(candidate(first).hash))?.status).toBe('Confirmed');
    expect(await node.status(candidate(second).hash)).toBeUndefined();
    expect([node.state.closing, node.state.round]).toEqual([next, null]);
    await node.stored(next);
    expect((await node.status(candidate(second).hash))?.status).toBe('Confirmed');
    expect(node.state.head.hash).toBe(closedHash(next));
  });

  it('is the only one: the third block is cut when the first is stored', async () => {
    const node = createNode();
    const [closed, open] = await overlapping(node);
    expect(atOnce(node.state.planCut())).toBeNull();
    const next = await node.close(open);
    expect(heights(node)).toEqual([1, 2]);
    expect(atOnce(node.state.planCut())).toBeNull();
    expect([1, 2, 3].map((height) => node.state.isDue({ height }))).toEqual([false, false, false]);
    await node.stored(closed);
    expect([1, 2, 3].map((height) => node.state.isDue({ height }))).toEqual([false, false, true]);
    await node.cut();
    expect(heights(node)).toEqual([2, 3]);
    await node.stored(next);
    expect(heights(node)).toEqual([3]);
  });

  it('is not counted in what storage has: outputs and supply are those after the last stored block', async () => {
    const node = createNode();
    await node.make();
    const { issued } = node.state;
    const [made, spentLater] = [send(1), send(1, outOf(send(1)))];
    await node.accept(made);
    const closed = await node.close(await node.cut());
    await node.accept(spentLater);
    const open = await node.close(await node.cut());
    const outputOf = node.state.storedOutputs();
    expect(outputOf(genesisOut(1))).toEqual(pay(bob, 1_000_000n));
    for (const tx of [made, spentLater]) expect(outputOf(outOf(tx))).toBeUndefined();
    for (const { proofs } of [closed, open]) {
      for (const { hash } of proofs) expect(outputOf({ tHash: hash, n: 0 })).toBeUndefined();
    }
    expect(node.state.issued).toBe(issued);
    expect(node.state.head.issued).toBe(issued + closed.reward + open.reward);
  });

  it('is given up with the one before it when storage has another, and all of it waits again', async () => {
    for (const phase of ['cut', 'closed', 'loaded again'] as const) {
      const [node, rival] = [createNode(), createNode()];
      const [, open] = await overlapping(node);
      const after = send(0, outOf(second));
      await node.accept(after);
      if (phase === 'closed') await node.close(open);
      if (phase === 'loaded again') await node.reload();
      const other = send(1);
      await rival.adopt(await node.kept(0));
      await rival.make(other);
      expect(await node.adopt(await rival.kept(1))).toBe(true);
      expect([node.state.head, heights(node)]).toEqual([rival.state.head, []]);
      expect(node.state.digest()).not.toBe(rival.state.digest());
      for (const tx of [first, second, after]) {
        expect(node.state.pending(candidate(tx).hash)?.info).toBe('Waits for a block');
      }
      for (const tx of [first, second, after]) await rival.accept(tx);
      expect(node.state.sharedDigest()).toBe(rival.state.sharedDigest());
      await node.reload();
      expect(node.state.sharedDigest()).toBe(rival.state.sharedDigest());
      const next = await node.cut();
      expect(namesIn(next)).toEqual([first, second, after].map(transactionHash));
    }
  });

  it('goes with what it was in when storage has a block that spends the same: it is Rejected', async () => {
    const [node, rival] = [createNode(), createNode()];
    await overlapping(node);
    await rival.adopt(await node.kept(0));
    await rival.make(send(0, genesisOut(0), 2n));
    await node.adopt(await rival.kept(1));
    for (const tx of [first, second]) expect((await node.status(candidate(tx).hash))?.status).toBe('Rejected');
    expect(node.state.sharedDigest()).toBe(rival.state.sharedDigest());
  });

  it('alone is given up when storage has another after the closed one', async () => {
    const [node, rival] = [createNode(), createNode()];
    const [closed] = await overlapping(node);
    await rival.adopt(await node.kept(0));
    await rival.adopt(closed);
    await rival.make(send(1));
    await node.stored(closed);
    expect(await node.adopt(await rival.kept(2))).toBe(true);
    expect(heights(node)).toEqual([]);
    expect(node.state.pending(candidate(second).hash)?.info).toBe('Waits for a block');
    expect((await node.status(candidate(first).hash))?.status).toBe('Confirmed');
  });

  it('is what a storage node may have before this node has noted either', async () => {
    const node = createNode();
    const [closed, open] = await overlapping(node);
    const { head } = node.state;
    const at = (next: number, hash: string | null) => relationOf({ next, hash }, node.state);
    expect(at(1, head.hash)).toBe('even');
    expect(at(2, closedHash(closed))).toBe('confirming');
    expect(at(2, `b${'0'.repeat(64)}`)).toBe('ahead');
    expect(at(3, closedHash(closed))).toBe('ahead');
    const next = await node.close(open);
    expect(at(3, closedHash(next))).toBe('confirming');
    expect(at(3, `b${'0'.repeat(64)}`)).toBe('ahead');
  });
});

describe('a second round for a block of the same height', () => {
  it('takes no proof of the first, and is not closed by its command', async () => {
    const [node, rival] = [createNode(), createNode()];
    const [, open] = await overlapping(node);
    const { nonce, coinbase } = mine(open.header, open.reward, account('m1'));
    const late = { kind: 'proof' as const, height: 2, miner: 'm1', nonce, coinbase: encodeTransaction(coinbase) };
    await rival.adopt(await node.kept(0));
    await rival.make(send(1));
    await node.adopt(await rival.kept(1));
    const again = await node.cut();
    expect(again.height).toBe(2);
    const batch = node.kv.batch();
    expect(node.state.addProof(late, batch)).toBe(false);
    expect(node.state.closeBlock({ kind: 'close-block', height: 2 }, batch)).toBeNull();
    expect(batch.size).toBe(0);
    await node.stored(await node.close(again));
    expect(node.state.head.height).toBe(2);
  });
});

describe('a restart with two blocks in the making', () => {
  it('finds the state of every step again, digest and all (rule P2)', async () => {
    const node = createNode();
    const same = async (): Promise<void> => {
      const { state } = node;
      await node.reload();
      expect(node.state.digest()).toBe(state.digest());
      expect(node.state.rounds.map(factsOf)).toEqual(state.rounds.map(factsOf));
    };
    let [closed, open] = await overlapping(node);
    await same();
    // The two take turns in the records, so a few rounds.
    for (let i = 0; i < 4; i++) {
      const next = await node.close(open);
      await same();
      await node.stored(closed);
      await same();
      [closed, open] = [next, await node.cut()];
      await same();
    }
    expect(heights(node)).toEqual([5, 6]);
  });

  it('refuses a folder of which it reads one of the two alone, as an earlier version would (rule P3)', async () => {
    for (const slot of [0, 1] as const) {
      const node = createNode();
      await overlapping(node);
      const batch = node.kv.batch().del(keys.round(slot)).del(keys.spent(slot));
      await node.kv.write(batch, { sync: false });
      await expect(node.reload()).rejects.toMatchObject({ code: 'data_corrupt' });
    }
  });

  it('opens a folder in which a closed block is the only one, as an earlier version left it', async () => {
    const node = createNode();
    await node.make();
    await node.accept(first);
    const closed = await node.close(await node.cut());
    // Under the keys that there were, and with the same digest.
    expect(await node.kv.get(keys.round(0))).toBeDefined();
    await node.reload();
    expect(factsOf(node.state.closing)).toEqual(factsOf(closed));
    await node.stored(closed);
    expect(node.state.head.height).toBe(1);
  });

  it('opens a folder whose record of a block has its proofs and its winner, as an earlier version wrote it', async () => {
    const node = createNode();
    await node.make();
    await node.accept(first);
    const round = await node.cut();
    const own = await proofsOf(node);
    await node.prove(round, 'm1');
    const open = node.state.round as Round;
    // One proof is in the record, and the next comes beside it.
    const early = node.kv
      .batch()
      .put(keys.round(0), atOnce(encodeRoundPieces(open)))
      .del(keys.proof(0, 0));
    await node.kv.write(early, { sync: false });
    await node.reload();
    expect(factsOf(node.state.round)).toEqual(factsOf(open));
    await node.prove(round, 'm2');
    await node.reload();
    expect(node.state.round?.proofs.map(({ miner }) => miner)).toEqual(['m1', 'm2']);
    const closed = await node.close(round, []);
    const late = node.kv
      .batch()
      .put(keys.round(0), atOnce(encodeRoundPieces(closed)))
      .del(keys.proof(0, 1))
      .del(keys.winner(0));
    await node.kv.write(late, { sync: false });
    await node.reload();
    expect(factsOf(node.state.closing)).toEqual(factsOf(closed));
    await node.stored(closed);
    expect([own, await proofsOf(node)]).toEqual([0, 0]);
    await node.reload();
    expect(node.state.head.height).toBe(1);
  });

  it('refuses a folder that lacks a proof, or has one that is damaged (rule P3)', async () => {
    for (const record of [undefined, Uint8Array.of(1, 2, 3)]) {
      const node = createNode();
      await node.make();
      await node.close(await node.cut());
      const batch = node.kv.batch();
      if (record === undefined) batch.del(keys.proof(0, 1));
      else batch.put(keys.proof(0, 1), record);
      await node.kv.write(batch, { sync: false });
      await expect(node.reload()).rejects.toMatchObject({ code: 'data_corrupt' });
    }
  });

  it('writes a proof, and who has won, and not what the block has, for each of them', async () => {
    const sizes: number[][] = [];
    for (const parts of [1n, 100n]) {
      const node = createNode();
      await node.make();
      const many = send(0, genesisOut(0), parts);
      await node.accept(many);
      for (let n = 0; n < Number(parts); n++) {
        const input = { tHash: transactionHash(many), n };
        await node.accept(payment({ from: alice, inputs: [input], outputs: [pay(alice, 1_000_000n / parts)] }));
      }
      const round = await node.cut();
      expect(round.transactions).toHaveLength(1 + Number(parts));
      sizes.push([await node.prove(round, 'm1'), await node.prove(round, 'm2')]);
      const before = node.written;
      await node.close(round, []);
      sizes.at(-1)?.push(node.written - before);
    }
    const [small = [], large = []] = sizes;
    for (const [i, size] of large.entries()) expect(size).toBeLessThan((small[i] ?? 0) + 100);
  });
});

describe('a journal', () => {
  /** The state that commands lead to. */
  async function replayed(commands: readonly Command[]): Promise<MempoolState> {
    const journal = await openJournal(new MemoryKv());
    for (const command of commands) await appendTo(journal, encodeCommand(command));
    const state = new MempoolState(rules);
    const applier = applierOf(journal, new MemoryKv(), state);
    await applier.start();
    await applier.stop();
    return state;
  }

  /** Block 0 as commands up to where it is closed. */
  async function closedZero(): Promise<{ readonly commands: readonly Command[]; readonly round: Round }> {
    const node = createNode();
    const round = await node.close(await node.cut(1), ['m1']);
    const [proof] = round.proofs;
    if (proof === undefined) throw new Error('no proof');
    const { miner, nonce, coinbase } = proof;
    const commands: Command[] = [
      { kind: 'cut-block', height: 0, time: 1, miners: ['m1', 'm2'] },
      { kind: 'proof', height: 0, miner, nonce, coinbase },
      { kind: 'close-block', height: 0 },
    ];
    return { commands, round };
  }

  it('of a version that cut blocks in turn gives no second one: a cut that does not say which waits for storage', async () => {
    const { commands, round } = await closedZero();
    const old: Command = { kind: 'cut-block', time: 2, miners: ['m1'] };
    expect((await replayed([...commands, old])).rounds.map(({ height }) => height)).toEqual([0]);
    const stored: Command = { kind: 'block-stored', height: 0, hash: closedHash(round) };
    expect((await replayed([...commands, stored, old])).round?.height).toBe(1);
  });

  it('has commands that come late or twice, which do nothing', async () => {
    const { commands, round } = await closedZero();
    const cut = (height: number): Command => ({ kind: 'cut-block', height, time: 2, miners: ['m1'] });
    const stored: Command = { kind: 'block-stored', height: 0, hash: closedHash(round) };
    const plain = await replayed([...commands, cut(1), stored]);
    const again = await replayed([
      ...commands,
      ...commands,
      cut(2),
      cut(1),
      cut(0),
      cut(1),
      { kind: 'close-block', height: 0 },
      { kind: 'close-block', height: 1 },
      { ...stored, height: 1 },
      stored,
      stored,
      cut(2),
    ]);
    expect(again.digest()).toBe(plain.digest());
    expect(again.round?.height).toBe(1);
  });

  it('pays no miner for a block that is not the one it proves', async () => {
    const { commands } = await closedZero();
    const cut: Command = { kind: 'cut-block', height: 1, time: 2, miners: ['m1'] };
    const coinbase = candidate(coinbaseTransaction(0n, 1n, alice.address)).bytes;
    const late: Command = { kind: 'proof', height: 0, miner: 'm9', nonce: new Uint8Array(4), coinbase };
    const state = await replayed([...commands, cut, late]);
    expect(state.round?.proofs).toEqual([]);
    expect(state.closing?.proofs).toHaveLength(1);
  });
});
