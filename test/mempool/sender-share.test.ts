/** Chains of dust of one owner do not keep others out of the pool (decisions B14 and B17). */

import { describe, expect, it } from 'vitest';
import { transactionHash } from '../../src/chain/hash.js';
import type { OutPoint, Transaction } from '../../src/chain/types.js';
import { atOnce } from '../../src/lib/pieces.js';
import { PoolBounds, SentTransactions } from '../../src/mempool/admission/pool-bounds.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { MemoryKv } from '../support/memory-kv.js';
import { candidate, genesisOut, pay, payment, rulesFor } from '../support/mempool.js';
import { alice, bob, newFolder, send, setUp, stored } from './running.js';

const POOL = 64;
const FLOOD = '10.0.0.1';

/** Payments of next to nothing to itself that each spend the change of the one before. */
function* dust(n: number): Generator<Transaction> {
  let from: OutPoint = genesisOut(n);
  for (let left = 1_000_000n - 1n; ; left--) {
    const owner = n === 0 ? alice : bob;
    const tx = payment({ from: owner, inputs: [from], outputs: [pay(owner, left), pay(owner, 1n)] });
    yield tx;
    from = { tHash: transactionHash(tx), n: 0 };
    if (left < 999_000n) return;
  }
}

async function full() {
  const pool = { maxTransactions: POOL, maxBytes: 1_000_000 };
  const blocks = { instant: false, blockInterval: 10_000, proofWindow: 0, minMiners: 1, partitionSize: 10 };
  const setup = await setUp({ folder: await newFolder(), mempool: { pool, blocks } });
  await stored(setup.mempool, 0);
  const chain = dust(0);
  /** Submits until the pool is full for the sender; gives how many it took. */
  const flood = async (sender: string): Promise<number> => {
    for (let count = 0; ; count++) {
      const tx = chain.next().value as Transaction;
      const refusal = await setup.mempool.submit([tx], sender).then(
        () => null,
        (error: unknown) => error,
      );
      if (refusal === null) continue;
      expect(refusal).toMatchObject({ code: 'mempool_full' });
      return count;
    }
  };
  return { ...setup, flood };
}

describe('a pool that one sender fills with chains of dust', () => {
  it('is half full then, and takes the payments of others', async () => {
    const { mempool, flood } = await full();
    expect(await flood(FLOOD)).toBe(POOL / 2);
    await mempool.submit([send(bob, 1, alice)], 'honest');
    expect(mempool.figures().waitingCount).toBe(POOL / 2 + 1);
  });

  it('takes more of the same sender when a block has taken what it had', async () => {
    const { mempool, flood, bed } = await full();
    await flood(FLOOD);
    const mined = stored(mempool, 1);
    await bed.clock.advance(10_000);
    await mined;
    // The one that was refused is what the next would spend.
    await expect(mempool.submit([send(bob, 1, alice)], FLOOD)).resolves.toHaveLength(1);
    expect(mempool.figures().waitingCount).toBe(1);
  });

  it('can be filled by who comes over loopback, where a proxy may stand', async () => {
    const { flood } = await full();
    expect(await flood('127.0.0.1')).toBe(POOL);
  });

  it('has a place for each of many addresses, so that a flood of them needs as many addresses as places', async () => {
    const { mempool, flood } = await full();
    expect(await flood(FLOOD)).toBe(POOL / 2);
    await expect(mempool.submit([...dust(1)].slice(0, 30), 'another')).resolves.toHaveLength(30);
    await expect(mempool.submit([...dust(1)].slice(30, 31), 'another')).rejects.toMatchObject({
      code: 'mempool_full',
      message: expect.stringContaining('30 transactions of yours'),
    });
    await mempool.submit([...dust(1)].slice(30, 31), 'honest');
    expect(mempool.figures().waitingCount).toBe(POOL - 1);
  });
});

/** A member of a DRUID set that spends what nothing else does. */
function member(n: number, druid: string, participants: bigint): Transaction {
  const druidInfo = { druid, participants, expectations: [], genesisHash: null };
  return payment({
    from: alice,
    inputs: [{ tHash: `g${n}`.padEnd(32, '0'), n: 0 }],
    outputs: [pay(alice, 1n)],
    druidInfo,
  });
}

describe('a pool that one sender fills with DRUID sets in parts', () => {
  it('is half full then: members that wait for the others of their set are counted', () => {
    const state = new MempoolState(rulesFor([alice]));
    const batch = new MemoryKv().batch();
    const bounds = new PoolBounds({ maxTransactions: POOL, maxBytes: 1_000_000 }, state);
    const submit = (txs: readonly Transaction[], sender: string): void => {
      const group = txs.map(candidate);
      const release = bounds.reserve(group, sender);
      expect(atOnce(state.accept([group], { time: 1, isInChain: () => false }, batch))).toEqual([null]);
      release();
    };
    const flood = (): void => {
      for (let set = 0; set < POOL; set++) {
        const members = [1, 2, 3, 4].map((n) => member(1_000 + 4 * set + n, `${set}`, 4n));
        for (const { tHash, n } of members.flatMap(({ inputs }) =>
          inputs.map(({ previousOut }) => previousOut as OutPoint),
        ))
          state.coins.insert({ tHash, n }, pay(alice, 1n), batch);
        submit(members.slice(0, 3), FLOOD);
        submit(members.slice(3), FLOOD);
      }
    };
    state.begin(1, batch);
    expect(flood).toThrow(expect.objectContaining({ code: 'mempool_full' }));
    expect(state.waiting.count).toBeGreaterThan(POOL / 4);
    expect(state.waiting.count).toBeLessThanOrEqual(POOL / 2);
    bounds.reserve([candidate(send(alice, 0, bob))], 'honest')();
  });

  it('counts nobody for what has gone into blocks since, however long a member before it waits', () => {
    const [ready, waiting] = [new Set<string>(), new Set<string>()];
    const state = { isReady: (hash: string) => ready.has(hash), waits: (hash: string) => waiting.has(hash) };
    const refuse = ([own]: readonly number[]): Error => new Error(`${own} transactions of yours`);
    const share = new SentTransactions({ total: [10, 1_000_000], share: 'free', refuse }, { state });
    const enter = (n: number, place: Set<string>, sender: string): string => {
      const one = candidate(member(n, `${n}`, 2n));
      share.check([one], sender, [0, 0]);
      const arrived = share.add([one], sender);
      place.add(one.hash);
      arrived();
      return one.hash;
    };
    for (let n = 0; n < 5; n++) enter(n, waiting, FLOOD);
    for (let n = 100; n < 200; n++) ready.delete(enter(n, ready, 'honest'));
    for (let n = 200; n < 204; n++) enter(n, waiting, FLOOD);
    expect(() => enter(300, waiting, FLOOD)).toThrow('9 transactions of yours');
    // What has expired is not counted.
    waiting.clear();
    enter(301, ready, FLOOD);
  });
});
