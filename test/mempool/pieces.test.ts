/** Commands that change much are applied in pieces: what others see between them (docs/adr/0002-journal-and-deterministic-apply.md). */

import { describe, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { DEFAULT_BLOCK_RULES } from '../../src/chain/block-rules.js';
import { assemble, createItemTransaction } from '../../src/chain/builders.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { OutPoint, Transaction, Utxo } from '../../src/chain/types.js';
import type { Kv } from '../../src/db/kv.js';
import { toHex } from '../../src/lib/bytes.js';
import { atOnce, inPieces, type Pieces } from '../../src/lib/pieces.js';
import { noteChanged } from '../../src/mempool/image/changed-outputs.js';
import { readAdoptedBlock } from '../../src/mempool/state/adoption.js';
import { keys } from '../../src/mempool/state/layout.js';
import { encodeCoins, encodeCoinsPieces, encodeRoundPieces } from '../../src/mempool/state/records.js';
import { closedBlockBytes, closedBlockPieces, closedHash, type Round } from '../../src/mempool/state/round.js';
import { MempoolState, type StateRules } from '../../src/mempool/state/state.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, candidate, genesisOut, mine, pay, payment, rulesFor, unicornOf } from '../support/mempool.js';

const alice = account('alice');
const bob = account('bob');
const AMOUNT = 1_000_000n;
const WIDE = 2_000;
/** Writes that one piece may add: those of one group of outputs, statuses or transactions, and a few of its own. */
const MOST_WRITES = 1_100;

/** Runs a command in a batch, looking after each of its pieces. */
function runIn(state: MempoolState, kv: Kv, look: () => void = () => undefined) {
  let seq = 0;
  return async <T>(work: (batch: ReturnType<Kv['batch']>) => Pieces<T> | T): Promise<T> => {
    const batch = kv.batch();
    const begun = work(batch);
    let before = batch.size;
    const result = isPieces(begun)
      ? await inPieces(begun, async () => {
          expect(batch.size - before).toBeLessThanOrEqual(MOST_WRITES);
          before = batch.size;
          look();
        })
      : begun;
    state.seal(++seq, batch);
    await kv.write(batch, { sync: false });
    return result;
  };
}

function isPieces<T>(work: Pieces<T> | T): work is Pieces<T> {
  return typeof work === 'object' && work !== null && 'next' in work;
}

/** A payment of many outputs, one that spends the first of them while it waits, and what spends nothing. */
function transactions(): readonly Transaction[] {
  const each = AMOUNT / BigInt(WIDE);
  const wide = payment({
    from: alice,
    inputs: [genesisOut(0)],
    outputs: Array.from({ length: WIDE }, () => pay(bob, each)),
  });
  const child = payment({
    from: bob,
    inputs: [{ tHash: transactionHash(wide), n: 0 }, genesisOut(1)],
    outputs: [pay(alice, AMOUNT + each)],
  });
  const creations = Array.from({ length: 3 }, (_, i) =>
    createItemTransaction({ bNum: 0n, amount: BigInt(i + 1), spec: 'Create', metadata: null }, alice.key),
  );
  return [wide, child, ...creations];
}

async function withPool(rules: StateRules, posted: readonly Transaction[] = transactions()) {
  const kv = new MemoryKv();
  const state = new MempoolState(rules);
  const run = runIn(state, kv);
  const block = await makeBlock(state, run);
  expect(block.height).toBe(0);
  const groups = posted.map((tx) => [candidate(tx)]);
  const context = { time: 1, isInChain: () => false };
  expect(await run((batch) => state.accept(groups, context, batch))).toEqual(groups.map(() => null));
  return { kv, state };
}

type Run = ReturnType<typeof runIn>;

async function cut(state: MempoolState, run: Run): Promise<Round> {
  const plan = atOnce(state.planCut());
  if (plan === null) throw new Error('a round is under way');
  const command = { kind: 'cut-block' as const, time: 1, miners: ['m'] };
  return (await run((batch) => state.cutBlock(command, plan, unicornOf(plan.seed), batch))) as Round;
}

async function close(state: MempoolState, run: Run, round: Round): Promise<Round> {
  const { nonce, coinbase } = mine(round.header, round.reward, alice);
  const proof = { kind: 'proof' as const, height: round.height, miner: 'm', nonce };
  await run((batch) => state.addProof({ ...proof, coinbase: encodeTransaction(coinbase) }, batch));
  return (await run((batch) => state.closeBlock({ kind: 'close-block', height: round.height }, batch))) as Round;
}

async function store(state: MempoolState, run: Run, closed: Round): Promise<void> {
  const { height } = closed;
  await run((batch) => state.blockStored({ kind: 'block-stored', height, hash: closedHash(closed) }, batch));
}

async function makeBlock(state: MempoolState, run: Run): Promise<Round> {
  const closed = await close(state, run, await cut(state, run));
  await store(state, run, closed);
  return closed;
}

const rules = rulesFor([alice, bob]);

describe('a block that is cut and confirmed in pieces', () => {
  it('loses no transaction, no output and no token on the way, and stored outputs are those of before (decision V7)', async () => {
    const bytes = encodeTransaction(assemble({ inputs: [], outputs: [pay(alice, 5n)] }));
    const issuances = new Map([[1, [{ hash: '0000ff', bytes, amount: 5n }]]]);
    const { kv, state } = await withPool(rulesFor([alice, bob], { issuances }));
    const posted = transactions();
    const [wide] = posted.map((tx) => transactionHash(tx));
    const [spent, unspent] = [0, 1].map((n) => ({ tHash: wide ?? '', n })) as [OutPoint, OutPoint];
    const stored = [genesisOut(0), genesisOut(1)];
    let looks = 0;
    const { issued } = state;
    const look = (): void => {
      looks++;
      if (state.head.height === 0) expect(state.issued).toBe(issued);
      for (const tx of posted) {
        const hash = transactionHash(tx);
        const known = state.pending(hash)?.info ?? state.statuses.unwritten(hash)?.status;
        expect(known).toMatch(/Waits for a block|being made|Confirmed/);
      }
      if (state.head.height === 0) {
        const outputOf = state.storedOutputs();
        for (const at of stored) expect(outputOf(at)?.value).toEqual(tokenAsset(AMOUNT));
        expect(outputOf(unspent)).toBeUndefined();
      }
      // Waiting or in the round: what nobody has spent can be spent, what somebody has spent cannot.
      expect(state.coins.find(unspent) !== undefined && !state.coins.isClaimed(unspent)).toBe(true);
      for (const at of [...stored, spent]) {
        expect(state.coins.find(at) === undefined || state.coins.isClaimed(at)).toBe(true);
      }
    };
    const run = runIn(state, kv, look);
    const closed = await close(state, run, await cut(state, run));
    await store(state, run, closed);
    expect(state.head.height).toBe(1);
    expect(looks).toBeGreaterThan(10);
  });

  it('gives the state and the records that it gives at once (rule P2)', async () => {
    const [inSteps, whole] = [await withPool(rules), await withPool(rules)];
    await makeBlock(inSteps.state, runIn(inSteps.state, inSteps.kv));
    const { state, kv } = whole;
    const run = runIn(state, kv);
    const plan = atOnce(state.planCut());
    if (plan === null) throw new Error('a round is under way');
    const command = { kind: 'cut-block' as const, time: 1, miners: ['m'] };
    const round = await run((batch) => atOnce(state.cutBlock(command, plan, unicornOf(plan.seed), batch)));
    const closed = await close(state, run, round as Round);
    const stored = { kind: 'block-stored' as const, height: 1, hash: closedHash(closed) };
    await run((batch) => atOnce(state.blockStored(stored, batch)));
    expect(state.digest()).toBe(inSteps.state.digest());
    expect(await records(kv)).toEqual(await records(inSteps.kv));
  });
});

describe('a block of many transactions', () => {
  const MANY = 2_100;
  const many = Array.from({ length: MANY }, (_, i) =>
    createItemTransaction({ bNum: 0n, amount: BigInt(i + 1), spec: 'Create', metadata: null }, alice.key),
  );

  it('is chosen, closed, noted and listed in several turns each', async () => {
    const { kv, state } = await withPool(
      rulesFor([alice, bob], { block: { ...DEFAULT_BLOCK_RULES, transactions: MANY } }),
      many,
    );
    const run = runIn(state, kv);
    const turnsOf = async <T>(work: Pieces<T>): Promise<readonly [turns: number, result: T]> => {
      let turns = 0;
      const result = await inPieces(work, async () => {
        turns++;
      });
      return [turns, result];
    };
    const [choosing, plan] = await turnsOf(state.planCut());
    expect(plan?.transactions).toHaveLength(MANY);
    // Two while the pool is gone through, one before the seed, three for the names that go into it.
    expect(choosing).toBeGreaterThanOrEqual(6);
    const round = await cut(state, run);
    const [noting, changed] = await turnsOf(noteChanged(changesOf(kv, round), 1));
    expect([noting >= 2, changed]).toEqual([true, 2 * MANY]);
    expect((await turnsOf(encodeRoundPieces(round)))[0]).toBeGreaterThanOrEqual(4);
    const spent = many.map((_, n): Utxo => [{ tHash: 'g', n }, pay(bob, 1n)]);
    const [writing, record] = await turnsOf(encodeCoinsPieces(spent));
    expect([writing >= 4, toHex(record)]).toEqual([true, toHex(encodeCoins(spent))]);

    const { nonce, coinbase } = mine(round.header, round.reward, alice);
    const proof = { kind: 'proof' as const, height: 1, miner: 'm', nonce, coinbase: encodeTransaction(coinbase) };
    await run((batch) => state.addProof(proof, batch));
    const batch = kv.batch();
    const closed = state.closeBlock({ kind: 'close-block', height: 1 }, batch) as Round;
    expect((await turnsOf(closedBlockPieces(closed)))[0]).toBeGreaterThanOrEqual(2);
    // Whoever sends it has nothing left to do.
    expect((await turnsOf(closedBlockPieces(closed)))[0]).toBe(0);
    await turnsOf(state.blockStored({ kind: 'block-stored', height: 1, hash: closedHash(closed) }, batch));
    const before = batch.size;
    expect((await turnsOf(state.statuses.list(batch)))[0]).toBe(1);
    expect(batch.size).toBe(before + 1);
    // They are in no list twice.
    state.seal(9, batch);
    expect(batch.size).toBe(before + 2);
  });
});

/** A batch with what a cut adds to the outputs, twice for each transaction. */
function changesOf(kv: Kv, { transactions: made }: Round) {
  const batch = kv.batch();
  for (const { hash } of made) for (const n of [0, 1]) batch.put(keys.utxo({ tHash: hash, n }), new Uint8Array());
  return batch;
}

describe('a block of storage that is adopted in pieces', () => {
  /** A block of the transactions without the one that spends from the first, and of one that others have. */
  async function foreignBlock() {
    const maker = await withPool(
      rules,
      transactions().filter((_, i) => i !== 1),
    );
    const closed = await makeBlock(maker.state, runIn(maker.state, maker.kv));
    return readAdoptedBlock(closedBlockBytes(closed), null, async () => undefined);
  }

  const phases = ['waits', 'cut', 'closed'] as const;
  for (const phase of phases) {
    it(`loses no transaction and no output on the way, and moves the head last: ${phase} here`, async () => {
      const block = await foreignBlock();
      const { kv, state } = await withPool(rules);
      const plain = runIn(state, kv);
      if (phase !== 'waits') {
        const round = await cut(state, plain);
        if (phase === 'closed') await close(state, plain, round);
      }
      const posted = transactions();
      const [wide, child] = posted.map((tx) => transactionHash(tx)) as [string, string];
      const before = state.head.hash;
      let looks = 0;
      const look = (): void => {
        looks++;
        expect(state.head.hash).toBe(before);
        expect(state.adoptions % 2).toBe(1);
        for (const hash of posted.map(transactionHash)) {
          const known = state.pending(hash)?.info ?? state.statuses.unwritten(hash)?.status;
          expect(known).toMatch(/Waits for a block|being made|Confirmed/);
        }
        // One or the other, whole: nothing is there twice, and nothing is missing.
        const isSpent = state.utxos.find(genesisOut(0)) === 0;
        for (const n of [1, WIDE - 1]) expect(state.utxos.find({ tHash: wide, n }) !== 0).toBe(isSpent);
      };
      const run = runIn(state, kv, look);
      expect(await run((batch) => state.adoptBlock(block, batch))).toBe(true);
      expect(looks).toBeGreaterThan(10);
      expect(state.adoptions % 2).toBe(0);
      expect([state.head.hash, state.round]).toEqual([block.hash, null]);
      // What the block left out waits, with its claim on what the block has made.
      expect(state.pending(child)?.info).toBe('Waits for a block');
      expect([state.ready, state.coins.isClaimed({ tHash: wide, n: 0 })]).toEqual([1, true]);
    });

    it(`gives the state and the records that it gives at once (rule P2): ${phase} here`, async () => {
      const block = await foreignBlock();
      const outcomes: unknown[] = [];
      for (const apply of [inPiecesWith, atOnce] as const) {
        const { kv, state } = await withPool(rules);
        const run = runIn(state, kv);
        if (phase !== 'waits') {
          const round = await cut(state, run);
          if (phase === 'closed') await close(state, run, round);
        }
        const batch = kv.batch();
        await apply(state.adoptBlock(block, batch));
        state.seal(99, batch);
        await kv.write(batch, { sync: false });
        outcomes.push([state.digest(), await records(kv)]);
      }
      expect(outcomes[0]).toEqual(outcomes[1]);
    });
  }

  it('shows what it rejects as waiting until it is Rejected', async () => {
    const maker = await withPool(rules, [
      payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, AMOUNT)] }),
    ]);
    const closed = await makeBlock(maker.state, runIn(maker.state, maker.kv));
    const block = await readAdoptedBlock(closedBlockBytes(closed), null, async () => undefined);
    const { kv, state } = await withPool(rules);
    const lost = transactions().slice(0, 2).map(transactionHash);
    const look = (): void => {
      for (const hash of lost) {
        const known = state.pending(hash)?.info ?? state.statuses.unwritten(hash)?.status;
        expect(known).toMatch(/Waits for a block|Rejected/);
      }
    };
    await runIn(state, kv, look)((batch) => state.adoptBlock(block, batch));
    expect(lost.map((hash) => state.pending(hash))).toEqual([undefined, undefined]);
    expect(state.ready).toBe(3);
    expect(state.statuses.takeRejected().map(({ hash }) => hash)).toEqual(lost);
  });
});

const inPiecesWith = <T>(work: Pieces<T>): Promise<T> => inPieces(work, async () => undefined);

async function records(kv: Kv): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const [key, value] of kv.entries({ gte: Uint8Array.of(0), lt: Uint8Array.of(255) })) {
    found.push(`${Buffer.from(key).toString('latin1')} ${Buffer.from(value).toString('base64')}`);
  }
  return found;
}
