import { describe, expect, it } from 'vitest';
import { itemAsset, tokenAsset } from '../../src/chain/assets.js';
import { createItemTransaction, txOut } from '../../src/chain/builders.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import { blockReward } from '../../src/chain/coinbase.js';
import { EXPECTATIONS_NOT_MET, PARTICIPANTS_DIFFER } from '../../src/chain/druid.js';
import { proofOfWorkFault } from '../../src/chain/pow.js';
import { txInsAddress } from '../../src/chain/signable.js';
import type { DruidExpectation, DruidInfo, Transaction } from '../../src/chain/types.js';
import { DUPLICATE_INPUTS } from '../../src/chain/validation.js';
import { toHex } from '../../src/lib/bytes.js';
import { atOnce } from '../../src/lib/pieces.js';
import { KNOWN, SET_EXPIRED } from '../../src/mempool/state/acceptance.js';
import { SPENT } from '../../src/mempool/state/coins.js';
import { keys } from '../../src/mempool/state/layout.js';
import { loadMempoolState } from '../../src/mempool/state/load.js';
import { decodeStatus, encodeRoundPieces } from '../../src/mempool/state/records.js';
import { closedHash, closedHeader, type Round } from '../../src/mempool/state/round.js';
import { MempoolState, type StateRules } from '../../src/mempool/state/state.js';
import { MemoryKv } from '../support/memory-kv.js';
import {
  type Account,
  account,
  candidate,
  genesisOut,
  mine,
  pay,
  payment,
  rulesFor,
  unicornOf,
} from '../support/mempool.js';
import { fc, test } from '../support/property.js';

const alice = account('alice');
const bob = account('bob');
const miner = account('miner');

/** A state over a memory database, with each command in a batch of its own. */
function createBench(rules: StateRules = rulesFor([alice, bob])) {
  const kv = new MemoryKv();
  const state = new MempoolState(rules);
  let seq = 0;
  const step = async <T>(run: (batch: ReturnType<typeof kv.batch>) => T): Promise<T> => {
    const batch = kv.batch();
    const result = run(batch);
    state.seal(++seq, batch);
    await kv.write(batch, { sync: false });
    return result;
  };
  const bench = {
    kv,
    state,
    rules,
    accept: (txs: readonly Transaction[], known: (hash: string) => boolean = () => false) =>
      step((batch) => {
        const context = { time: 1_700_000_000, isInChain: known };
        return atOnce(state.accept([txs.map(candidate)], context, batch))[0] ?? null;
      }),
    cut: async (time = 1_700_000_100): Promise<Round> => {
      const round = await step((batch) => {
        const plan = atOnce(state.planCut());
        if (plan === null) return null;
        return atOnce(state.cutBlock({ kind: 'cut-block', time, miners: ['m1'] }, plan, unicornOf(plan.seed), batch));
      });
      if (round === null) throw new Error('a round is under way');
      return round;
    },
    prove: (round: Round, name = 'm1', to: Account = miner) => {
      const { nonce, coinbase } = mine(round.header, round.reward, to);
      const command = { kind: 'proof' as const, height: round.height, miner: name, nonce };
      return step((batch) => state.addProof({ ...command, coinbase: encodeTransaction(coinbase) }, batch));
    },
    close: (height: number) => step((batch) => state.closeBlock({ kind: 'close-block', height }, batch)),
    stored: (height: number, hash: string) =>
      step((batch) => atOnce(state.blockStored({ kind: 'block-stored', height, hash }, batch))),
    /** A whole round. */
    block: async (): Promise<Round> => {
      const round = await bench.cut();
      await bench.prove(round);
      const closed = await bench.close(round.height);
      if (closed === null) throw new Error('not closed');
      await bench.stored(closed.height, closedHash(closed));
      return closed;
    },
    status: async (hash: string) => {
      const bytes = await kv.get(keys.status(hash));
      return bytes === undefined ? undefined : decodeStatus(bytes);
    },
    reload: () => loadMempoolState(kv, rules, { hashKey: new Uint8Array(8).fill(5) }),
  };
  return bench;
}

const tokensOf = (state: MempoolState): bigint => {
  let sum = 0n;
  for (const slot of state.utxos.slots()) {
    const { value } = state.utxos.output(slot);
    if (value.kind === 'token') sum += value.amount;
  }
  return sum;
};

describe('a round of block making', () => {
  it('makes block 0 out of the genesis transactions, without time or previous hash (docs/chain.md#genesis)', async () => {
    const bench = createBench();
    const round = await bench.block();
    expect(round.header).toMatchObject({ bNum: 0n, timestamp: 0n, previousHash: null, version: 6, bits: 0n });
    expect(round.transactions.map((tx) => tx.hash)).toEqual(['000000']);
    expect(bench.state.head).toMatchObject({ height: 0, hash: closedHash(round) });
    expect(bench.state.head.issued).toBe(2_000_000n + round.reward);
  });

  it('links each block to the one before and pays the reward of what was issued (docs/chain.md#reward)', async () => {
    const bench = createBench();
    const first = await bench.block();
    await bench.accept([payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n)] })]);
    const second = await bench.block();
    expect(second.header.previousHash).toBe(closedHash(first));
    expect(second.reward).toBe(blockReward(2_000_000n + first.reward));
    expect(proofOfWorkFault(closedHeader(second))).toBeNull();
  });

  it('carries a difficulty only above the activation height (decision B10)', async () => {
    const bench = createBench();
    const difficulties: number[] = [];
    for (let i = 0; i < 6; i++) difficulties.push((await bench.block()).header.difficulty.length);
    expect(difficulties).toEqual([0, 0, 0, 0, 4, 4]);
  });

  it('spends inputs and creates outputs when the template is cut, before the block is mined (decision V7)', async () => {
    const bench = createBench();
    await bench.block();
    const tx = payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 999_990n), pay(alice, 10n)] });
    await bench.accept([tx]);
    expect([...bench.state.utxos.slotsOf(bob.address)]).toHaveLength(1);
    await bench.cut();
    expect([...bench.state.utxos.slotsOf(bob.address)]).toHaveLength(2);
    expect(bench.state.utxos.find(genesisOut(0))).toBe(0);
  });

  it('keeps no output that nobody can spend (decision B16)', async () => {
    const bench = createBench();
    await bench.block();
    const outputs = [txOut(tokenAsset(999_990n), null), pay(alice, 10n)];
    const tx = payment({ from: alice, inputs: [genesisOut(0)], outputs });
    await bench.accept([tx]);
    await bench.block();
    const { hash } = candidate(tx);
    expect(bench.state.utxos.find({ tHash: hash, n: 0 })).toBe(0);
    expect(bench.state.utxos.find({ tHash: hash, n: 1 })).not.toBe(0);
  });

  it('numbers fee outputs after the outputs (decision B5)', async () => {
    const bench = createBench();
    await bench.block();
    const plain = payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 999_995n)] });
    const tx = { ...plain, fees: [pay(miner, 5n)] };
    await bench.accept([tx]);
    await bench.cut();
    const tHash = candidate(tx).hash;
    expect(bench.state.utxos.output(bench.state.utxos.find({ tHash, n: 0 })).value.amount).toBe(999_995n);
    expect(bench.state.utxos.output(bench.state.utxos.find({ tHash, n: 1 })).value.amount).toBe(5n);
  });

  it('takes one proof of each miner, and none after the close', async () => {
    const bench = createBench();
    const round = await bench.cut();
    expect(await bench.prove(round)).toBe(true);
    expect(await bench.prove(round)).toBe(false);
    expect(await bench.prove(round, 'm2')).toBe(true);
    await bench.close(0);
    expect(await bench.prove(round, 'm3')).toBe(false);
  });

  it('goes on only when the block that was closed is stored', async () => {
    const bench = createBench();
    const round = await bench.cut();
    await bench.prove(round);
    const closed = (await bench.close(0)) ?? round;
    expect(await bench.stored(0, `b${'0'.repeat(64)}`)).toBeNull();
    expect(await bench.stored(1, closedHash(closed))).toBeNull();
    expect(await bench.stored(0, closedHash(closed))).not.toBeNull();
  });
});

describe('admission into the pool', () => {
  it('refuses an output that is spent by another transaction, in the pool or in the block being made (rule P4)', async () => {
    const bench = createBench();
    await bench.block();
    expect(
      await bench.accept([payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n)] })]),
    ).toBeNull();
    const other = payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(alice, 1_000_000n)] });
    expect(await bench.accept([other])).toMatchObject({ fault: SPENT });
    await bench.cut();
    expect(await bench.accept([other])).toMatchObject({ fault: { code: 'unknown_input' } });
  });

  it('admits all of a group or nothing (decision V3)', async () => {
    const bench = createBench();
    await bench.block();
    const good = payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n)] });
    const bad = payment({ from: bob, inputs: [genesisOut(7)], outputs: [pay(bob, 1n)] });
    expect(await bench.accept([good, bad])).toMatchObject({
      fault: { code: 'unknown_input' },
      hash: candidate(bad).hash,
    });
    expect(bench.state.ready).toBe(0);
    expect(await bench.accept([good])).toBeNull();
  });

  it('refuses a transaction that spends one output twice (decision B7)', async () => {
    const bench = createBench();
    await bench.block();
    const tx = payment({ from: alice, inputs: [genesisOut(0), genesisOut(0)], outputs: [pay(bob, 2_000_000n)] });
    expect(await bench.accept([tx])).toMatchObject({ fault: DUPLICATE_INPUTS });
  });

  it('takes the same transaction once (decision V4)', async () => {
    const bench = createBench();
    await bench.block();
    const tx = payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n)] });
    await bench.accept([tx]);
    expect(await bench.accept([tx])).toBeNull();
    expect(bench.state.ready).toBe(1);
  });

  it('refuses an item creation whose hash is in the chain (decision B6)', async () => {
    const bench = createBench();
    await bench.block();
    const tx = createItemTransaction({ bNum: 0n, amount: 5n, spec: 'Create', metadata: 'm' }, alice.key);
    expect(await bench.accept([tx])).toBeNull();
    await bench.block();
    expect(await bench.kv.get(keys.known(candidate(tx).hash))).toBeDefined();
    expect(await bench.accept([tx], () => true)).toMatchObject({ fault: KNOWN });
  });

  it('writes Confirmed with the name of the block when it is stored (decision V1)', async () => {
    const bench = createBench();
    await bench.block();
    const tx = payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n)] });
    await bench.accept([tx]);
    expect(bench.state.pending(candidate(tx).hash)).toMatchObject({ time: 1_700_000_000, info: 'Waits for a block' });
    const round = await bench.block();
    expect(bench.state.pending(candidate(tx).hash)).toBeUndefined();
    expect(await bench.status(candidate(tx).hash)).toEqual({
      status: 'Confirmed',
      timestamp: 1_700_000_000,
      additionalInfo: `In block 1 ${closedHash(round)}`,
    });
  });
});

describe('a DRUID trade', () => {
  const druid = 'DRUID0x0123456789abcdef0123456789abcdef';

  /** Two members of a set: alice pays bob 600,000, bob pays alice 400,000. */
  function pair(expected = 400_000n, participants = 2n): { ofAlice: Transaction; ofBob: Transaction } {
    const build = (from: Account, n: number, to: Account, amount: bigint, info: DruidInfo): Transaction =>
      payment({
        from,
        inputs: [genesisOut(n)],
        outputs: [pay(to, amount), pay(from, 1_000_000n - amount)],
        druidInfo: info,
      });
    const info = (expectations: readonly DruidExpectation[]): DruidInfo => ({
      druid,
      participants,
      expectations,
      genesisHash: null,
    });
    const fromOf = (tx: Transaction): string => txInsAddress(tx.inputs);
    const draftAlice = build(alice, 0, bob, 600_000n, info([]));
    const draftBob = build(bob, 1, alice, 400_000n, info([]));
    const toAlice = { from: fromOf(draftBob), to: alice.address, asset: tokenAsset(expected) };
    const toBob = { from: fromOf(draftAlice), to: bob.address, asset: tokenAsset(600_000n) };
    return {
      ofAlice: { ...draftAlice, druidInfo: info([toAlice]) },
      ofBob: { ...draftBob, druidInfo: info([toBob]) },
    };
  }

  it('waits for the other of its set and enters the block with it', async () => {
    const bench = createBench();
    await bench.block();
    const { ofAlice, ofBob } = pair();
    expect(await bench.accept([ofAlice])).toBeNull();
    expect(bench.state.ready).toBe(0);
    expect(bench.state.pending(candidate(ofAlice).hash)?.info).toBe('DRUID transaction: waits for 1 of 2');
    expect(await bench.accept([ofBob])).toBeNull();
    const round = await bench.block();
    expect(new Set(round.transactions.map((tx) => tx.hash))).toEqual(
      new Set([candidate(ofAlice).hash, candidate(ofBob).hash]),
    );
  });

  it('is as old as its first member, from whose command on the journal is needed until it is stored', async () => {
    const bench = createBench();
    await bench.block();
    const { ofAlice, ofBob } = pair();
    await bench.accept([ofAlice]);
    const { oldest } = bench.state.waitingSince;
    const first = oldest();
    expect(first).toBe(bench.state.waitingSince.arrivals);
    await bench.accept([ofBob]);
    expect(oldest()).toBe(first);
    const round = await bench.cut();
    expect(oldest()).toBe(first);
    await bench.prove(round);
    const closed = await bench.close(round.height);
    await bench.stored(round.height, closed === null ? '' : closedHash(closed));
    expect(oldest()).toBeUndefined();
  });

  it('is admitted when both arrive in one list', async () => {
    const bench = createBench();
    await bench.block();
    const { ofAlice, ofBob } = pair();
    expect(await bench.accept([ofAlice, ofBob])).toBeNull();
    expect(bench.state.ready).toBe(2);
  });

  it('is rejected as a whole when an expectation is not met (docs/chain.md#druid-sets)', async () => {
    const bench = createBench();
    await bench.block();
    const { ofAlice, ofBob } = pair(400_001n);
    await bench.accept([ofAlice]);
    expect(await bench.accept([ofBob])).toMatchObject({ fault: EXPECTATIONS_NOT_MET });
    expect(await bench.status(candidate(ofAlice).hash)).toMatchObject({
      status: 'Rejected',
      additionalInfo: EXPECTATIONS_NOT_MET.message,
    });
    expect(bench.state.waiting.count).toBe(0);
    // Nothing is claimed any more.
    expect(
      await bench.accept([payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n)] })]),
    ).toBeNull();
  });

  it('is rejected when its members disagree on the number of participants (decision B13)', async () => {
    const bench = createBench();
    await bench.block();
    const { ofAlice } = pair();
    const { ofBob } = pair(400_000n, 3n);
    await bench.accept([ofAlice]);
    expect(await bench.accept([ofBob])).toMatchObject({ fault: PARTICIPANTS_DIFFER });
  });

  it('is rejected with the rule when an input was spent while it waited (decision B15)', async () => {
    const bench = createBench();
    await bench.block();
    const { ofAlice, ofBob } = pair();
    await bench.accept([ofAlice]);
    await bench.accept([payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(alice, 1_000_000n)] })]);
    expect(await bench.accept([ofBob])).toMatchObject({ fault: { code: 'double_spend' } });
    expect(await bench.status(candidate(ofAlice).hash)).toMatchObject({
      status: 'Rejected',
      additionalInfo: SPENT.message,
    });
  });

  it('is rejected when the others do not come within its life, counted in blocks (decision B13)', async () => {
    const bench = createBench();
    await bench.block();
    const { ofAlice } = pair();
    await bench.accept([ofAlice]);
    for (let height = 1; height < 3; height++) await bench.block();
    expect(bench.state.waiting.count).toBe(1);
    await bench.block();
    expect(bench.state.waiting.count).toBe(0);
    expect(await bench.status(candidate(ofAlice).hash)).toMatchObject({
      status: 'Rejected',
      additionalInfo: SET_EXPIRED.message,
    });
  });

  it('waits through a restart', async () => {
    const bench = createBench();
    await bench.block();
    const { ofAlice } = pair();
    await bench.accept([ofAlice]);
    const again = await bench.reload();
    expect(again.pending(candidate(ofAlice).hash)?.info).toContain('waits for 1 of 2');
  });
});

describe('a restart', () => {
  it('finds the state of every phase again, digest and all', async () => {
    const bench = createBench();
    const same = async (): Promise<void> => {
      const again = await bench.reload();
      expect(again.digest()).toBe(bench.state.digest());
      expect(again.seq).toBe(bench.state.seq);
      const bytesOf = (round: Round | null): string => (round === null ? '' : toHex(atOnce(encodeRoundPieces(round))));
      expect(bytesOf(again.round)).toBe(bytesOf(bench.state.round));
    };
    const round = await bench.cut();
    await same();
    await bench.prove(round);
    await same();
    const closed = await bench.close(0);
    await same();
    await bench.stored(0, closed === null ? '' : closedHash(closed));
    await same();
    await bench.accept([payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n)] })]);
    await same();
    await bench.cut();
    await same();
  });

  it('keeps the claims of the pool', async () => {
    const bench = createBench();
    await bench.block();
    await bench.accept([payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n)] })]);
    const again = await bench.reload();
    expect(again.utxos.isClaimed(again.utxos.find(genesisOut(0)))).toBe(true);
  });

  it('refuses a database from which a record has vanished (rule P3)', async () => {
    const bench = createBench();
    await bench.block();
    await bench.kv.write(bench.kv.batch().del(keys.utxo(genesisOut(1))), { sync: false });
    await expect(bench.reload()).rejects.toMatchObject({ code: 'data_corrupt' });
  });
});

describe('conservation', () => {
  test.prop([fc.array(fc.tuple(fc.nat(3), fc.nat(3), fc.nat(5), fc.boolean()), { minLength: 1, maxLength: 25 })], {
    numRuns: 15,
  })('the sum of all unspent tokens is the issued supply after every command (rule P4)', async (steps) => {
    const people = [alice, bob, account('carol'), account('dave')];
    const bench = createBench(rulesFor(people));
    await bench.block();
    for (const [from, to, share, cut] of steps) {
      const sender = people[from] ?? alice;
      const receiver = people[to] ?? bob;
      const slot = [...bench.state.utxos.slotsOf(sender.address)].find((s) => !bench.state.utxos.isClaimed(s));
      if (slot !== undefined) {
        const { value } = bench.state.utxos.output(slot);
        const part = (value.amount * BigInt(share)) / 5n;
        const outputs = [pay(receiver, part), pay(sender, value.amount - part)];
        await bench.accept([payment({ from: sender, inputs: [bench.state.utxos.outPoint(slot)], outputs })]);
      }
      if (cut) await bench.block();
      expect(tokensOf(bench.state)).toBe(bench.state.head.issued);
    }
    const again = await bench.reload();
    expect(again.digest()).toBe(bench.state.digest());
  });

  it('creates items only through creations', async () => {
    const bench = createBench();
    await bench.block();
    const create = createItemTransaction({ bNum: 0n, amount: 5n, spec: 'Create', metadata: null }, alice.key);
    await bench.accept([create]);
    await bench.block();
    const tHash = candidate(create).hash;
    const move = payment({
      from: alice,
      inputs: [{ tHash, n: 0 }],
      outputs: [txOut(itemAsset(5n, tHash), bob.address)],
    });
    expect(await bench.accept([move])).toBeNull();
    await bench.block();
    const held = [...bench.state.utxos.slotsOf(bob.address)].map((slot) => bench.state.utxos.output(slot).value);
    expect(held.filter(({ kind }) => kind === 'item')).toEqual([itemAsset(5n, tHash)]);
  });
});
