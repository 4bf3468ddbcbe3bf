/** Commands that change much are applied in pieces: what others see between them (docs/adr/0002-journal-and-deterministic-apply.md). */

import { describe, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { createItemTransaction } from '../../src/chain/builders.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { OutPoint, Transaction } from '../../src/chain/types.js';
import type { Kv } from '../../src/db/kv.js';
import { atOnce, inPieces, type Pieces } from '../../src/lib/pieces.js';
import { closedHash, type Round } from '../../src/mempool/state/round.js';
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

async function withPool(rules: StateRules) {
  const kv = new MemoryKv();
  const state = new MempoolState(rules);
  const run = runIn(state, kv);
  const block = await makeBlock(state, run);
  expect(block.height).toBe(0);
  const groups = transactions().map((tx) => [candidate(tx)]);
  const context = { time: 1, isKnownCreate: () => false };
  expect(await run((batch) => state.accept(groups, context, batch))).toEqual(groups.map(() => null));
  return { kv, state };
}

type Run = ReturnType<typeof runIn>;

async function cut(state: MempoolState, run: Run): Promise<Round> {
  const plan = state.planCut();
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
    const { kv, state } = await withPool(rules);
    const posted = transactions();
    const [wide] = posted.map((tx) => transactionHash(tx));
    const [spent, unspent] = [0, 1].map((n) => ({ tHash: wide ?? '', n })) as [OutPoint, OutPoint];
    const stored = [genesisOut(0), genesisOut(1)];
    let looks = 0;
    const look = (): void => {
      looks++;
      for (const tx of posted) {
        const hash = transactionHash(tx);
        const known = state.pending(hash)?.info ?? state.unwrittenStatus(hash)?.status;
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
    const plan = state.planCut();
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

async function records(kv: Kv): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const [key, value] of kv.entries({ gte: Uint8Array.of(0), lt: Uint8Array.of(255) })) {
    found.push(`${Buffer.from(key).toString('latin1')} ${Buffer.from(value).toString('base64')}`);
  }
  return found;
}
