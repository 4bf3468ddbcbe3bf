/** What a stranger makes the journal write, when nothing comes of it (issue: a hostile world; rule P6). */

import { describe, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { DruidExpectation, Transaction } from '../../src/chain/types.js';
import type { Journal } from '../../src/journal/journal.js';
import { systemClock } from '../../src/lib/clock.js';
import { TesseraError } from '../../src/lib/errors.js';
import { atOnce } from '../../src/lib/pieces.js';
import { waitingPlaces } from '../../src/mempool/admission/checks.js';
import { JournalQueue, OpenTrades } from '../../src/mempool/admission/journal-queue.js';
import type { Mempool } from '../../src/mempool/mempool.js';
import type { CandidateTx } from '../../src/mempool/state/acceptance.js';
import { SPENT } from '../../src/mempool/state/coins.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { journalWith } from '../support/journal.js';
import { MemoryKv } from '../support/memory-kv.js';
import { type Account, candidate, genesisOut, pay, payment, rulesFor } from '../support/mempool.js';
import { alice, bob, newFolder, send, setUp, stored } from './running.js';

const POOL = { maxTransactions: 1_000, maxBytes: 4_000_000 };
/** What halves of trades have of the pool, and of the journal. */
const SHARE = POOL.maxBytes / 4;
/** No block is made after block 0 before the test moves the clock. */
const SLOW = { instant: false, blockInterval: 100_000_000, proofWindow: 0, minMiners: 1, partitionSize: 1 };
const UNMET: DruidExpectation = { from: 'a', to: 'b', asset: tokenAsset(1n) };

interface Written {
  bytes: number;
}

async function running({ blocks = SLOW } = {}) {
  const written: Written = { bytes: 0 };
  const wrapJournal = (journal: Journal): Journal =>
    journalWith(journal, {
      append(payload) {
        written.bytes += payload.length;
        return journal.append(payload);
      },
    });
  const mempool = { pool: POOL, blocks };
  const setup = await setUp({ folder: await newFolder(), mempool, wrapJournal });
  await stored(setup.mempool, 0);
  return { ...setup, written };
}

interface Member {
  readonly from?: Account;
  readonly n?: number;
  readonly druid: string;
  readonly participants?: number;
  readonly expectations?: readonly DruidExpectation[];
}

function member({ from = alice, n = 0, druid, participants = 1, expectations = [] }: Member): Transaction {
  const info = { druid, participants: BigInt(participants), expectations, genesisHash: null };
  return payment({ from, inputs: [genesisOut(n)], outputs: [pay(bob, 1_000_000n)], druidInfo: info });
}

const rejected = async (mempool: Mempool, txs: readonly Transaction[]): Promise<unknown[]> => {
  const hashes = txs.map(transactionHash);
  const statuses = await mempool.statuses(hashes);
  return hashes.map((hash) => statuses.get(hash)?.status);
};

describe('a trade that comes whole and is refused', () => {
  it('costs the journal nothing, however often it comes, and each member is Rejected', async () => {
    const { mempool, written } = await running();
    const alone = member({ druid: 'x'.repeat(100_000), expectations: [UNMET] });
    const two = [alice, bob].map((from, n) => member({ from, n, druid: 'y', participants: 2, expectations: [UNMET] }));
    const before = written.bytes;
    for (let i = 0; i < 5; i++) {
      for (const set of [[alone], two]) {
        await expect(mempool.submit(set, 'stranger')).rejects.toMatchObject({
          code: 'transaction_rejected',
          details: { hash: transactionHash(set[0] as Transaction), rule: 'DRUID trade expectations not met' },
        });
      }
    }
    expect(written.bytes).toBe(before);
    expect(await rejected(mempool, [alone, ...two])).toEqual(['Rejected', 'Rejected', 'Rejected']);
  });

  it('costs nothing when another transaction has its output', async () => {
    const { mempool, written } = await running();
    await mempool.submit([send(alice, 0, bob)]);
    const before = written.bytes;
    const late = member({ druid: 'x'.repeat(100_000) });
    await expect(mempool.submit([late], 'stranger')).rejects.toMatchObject({ code: 'double_spend' });
    // Nor when two of one list spend the same.
    const twice = ['a', 'b'].map((druid) => member({ from: bob, n: 1, druid }));
    await expect(mempool.submit(twice, 'stranger')).rejects.toMatchObject({ code: 'double_spend' });
    expect(written.bytes).toBe(before);
  });
});

describe('payments that spend the same output at once', () => {
  it('are written one at a time: one enters, and the others cost nothing', async () => {
    const { mempool, written } = await running();
    const before = written.bytes;
    const rivals = Array.from({ length: 32 }, (_, i) => send(alice, 0, bob, i + 1));
    const outcomes = await Promise.allSettled(rivals.map((tx) => mempool.submit([tx], 'stranger')));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(written.bytes - before).toBeLessThan(1_000);
  });
});

describe('groups with a spent output in common', () => {
  it('go into the journal one at a time, also when each comes to nothing', async () => {
    let [running, most, commands] = [0, 0, 0];
    const nothing = { refusal: null, others: [], isKnown: false, openDruids: new Set<string>() };
    const queue = new JournalQueue({
      state: { outlook: () => nothing, druidSet: () => undefined },
      applier: {
        async submit(_command: unknown, groups: readonly unknown[] = []) {
          commands++;
          running += groups.length;
          most = Math.max(most, running);
          await new Promise((resolve) => setImmediate(resolve));
          running -= groups.length;
          return groups.map(() => ({ hash: '', fault: SPENT })) as never;
        },
      },
      trades: { take: () => () => undefined } as unknown as OpenTrades,
      places: waitingPlaces(),
      clock: systemClock,
    });
    const rivals = Array.from({ length: 16 }, (_, i) => candidate(send(alice, 0, bob, i + 1)));
    const verdicts = await Promise.all(rivals.map((rival) => queue.append([rival], 'stranger')));
    expect(verdicts).toHaveLength(16);
    expect([most, commands]).toEqual([1, 16]);
  });
});

describe('groups that arrive while a command is on its way', () => {
  /** A queue whose commands end when the test says so; the sizes of their groups are in `commands`. */
  function slowQueue(catchUp?: { readonly isNewer: () => Promise<boolean> }) {
    const commands: number[][] = [];
    const ends: (() => void)[] = [];
    const nothing = { refusal: null, others: [], isKnown: false, openDruids: new Set<string>() };
    const queue = new JournalQueue({
      state: { outlook: () => nothing, druidSet: () => undefined },
      applier: {
        async submit(_command: unknown, groups: readonly (readonly CandidateTx[])[] = []) {
          commands.push(groups.map(({ length }) => length));
          await new Promise<void>((resolve) => ends.push(resolve));
          return groups.map(() => null) as never;
        },
      },
      ...(catchUp !== undefined && { catchUp }),
      trades: { take: () => () => undefined } as unknown as OpenTrades,
      places: waitingPlaces(),
      clock: systemClock,
    });
    let next = 0;
    const append = (size: number): Promise<unknown> =>
      queue.append(
        Array.from({ length: size }, () => candidate(send(alice, next++, bob))),
        'somebody',
      );
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const end = async (): Promise<void> => {
      ends.shift()?.();
      for (let i = 0; i < 4; i++) await turn();
    };
    return { append, commands, end, turn };
  }

  it('share the next one, up to a number of transactions', async () => {
    const { append, commands, end } = slowQueue();
    const all = [append(1)];
    await end();
    expect(commands).toEqual([[1]]);
    for (const size of [1, 1, 100, 100, 100, 300, 2]) all.push(append(size));
    await end();
    for (let i = 0; i < 4; i++) await end();
    expect(commands).toEqual([[1], [1, 1, 100, 100], [100], [300], [2]]);
    await end();
    expect(await Promise.all(all)).toEqual(all.map(() => null));
  });

  it('do not wait where other nodes write to the journal: its answers may be late', async () => {
    const { append, commands, end, turn } = slowQueue({ isNewer: async () => false });
    const all = [append(1)];
    for (let i = 0; i < 4; i++) await turn();
    all.push(append(2));
    for (let i = 0; i < 4; i++) await turn();
    expect(commands).toEqual([[1], [2]]);
    for (let i = 0; i < 3; i++) await end();
    expect(await Promise.all(all)).toEqual([null, null]);
  });
});

describe('a group that is refused while other nodes write to the journal without a pause', () => {
  it('is judged again by what was there when it came, and then no more', async () => {
    const refusal = { hash: 'g', fault: SPENT };
    let judged = 0;
    const queue = new JournalQueue({
      state: {
        outlook() {
          judged++;
          return { refusal, others: [], isKnown: false, openDruids: new Set<string>() };
        },
        druidSet: () => undefined,
      },
      applier: { submit: () => Promise.reject(new Error('a refused group needs no command')) },
      catchUp: { isNewer: async () => true },
      trades: { take: () => () => undefined } as unknown as OpenTrades,
      places: waitingPlaces(),
      clock: systemClock,
    });
    const verdict = await queue.append([candidate(send(alice, 0, bob))], 'stranger');
    expect(verdict).toMatchObject(refusal);
    expect(judged).toBe(2);
  });
});

describe('a group that spends what a set spends that becomes whole', () => {
  it.each(['of the member that came last', 'of the member that waited'])(
    'costs nothing: an output %s',
    async (which) => {
      const state = new MempoolState(rulesFor([alice, bob]));
      const batch = new MemoryKv().batch();
      state.begin(1, batch);
      for (const [n, owner] of [alice, bob].entries()) state.coins.insert(genesisOut(n), pay(owner, 1_000_000n), batch);
      const written: string[] = [];
      const queue = new JournalQueue({
        state,
        applier: {
          async submit(_command: unknown, groups: readonly (readonly CandidateTx[])[] = []) {
            written.push(...groups.flat().map(({ hash }) => hash));
            await new Promise((resolve) => setImmediate(resolve));
            return atOnce(state.accept(groups, { time: 1, isInChain: () => false }, batch)) as never;
          },
        },
        trades: new OpenTrades({ maxBytes: SHARE }, { state, clock: systemClock }),
        places: waitingPlaces(),
        clock: systemClock,
      });
      const [first, last] = [alice, bob].map((from, n) => candidate(member({ from, n, druid: 'd', participants: 2 })));
      const rival = candidate(which.endsWith('last') ? send(bob, 1, alice) : send(alice, 0, bob));
      expect(await queue.append([first as CandidateTx], 'stranger')).toBeNull();
      const verdicts = await Promise.all([
        queue.append([last as CandidateTx], 'stranger'),
        queue.append([rival], 'other'),
      ]);
      expect(verdicts).toEqual([null, expect.objectContaining({ hash: rival.hash, fault: SPENT })]);
      expect(written).toEqual([first?.hash, last?.hash]);
    },
  );
});

describe('what is refused in the journal and is no part of a trade', () => {
  it('counts for its sender, and closes the share of trades for nobody else', () => {
    const state = { druidSet: () => undefined, waitingDruids: { count: 0, bytes: 0, sets: 0 } };
    const trades = new OpenTrades({ maxBytes: 10_000 }, { state, clock: systemClock });
    const half = [candidate(member({ druid: 'd', participants: 2 }))];
    for (let i = 0; i < 20; i++) trades.take([candidate(send(alice, 0, bob))], new Set(), 'stranger')('refused');
    expect(() => trades.take(half, new Set(['d']), 'stranger')).toThrow(
      expect.objectContaining({ code: 'overloaded' }),
    );
    trades.take(half, new Set(['d']), 'honest')('admitted');
  });
});

it.each([0, 1])('a half that the journal cannot write counts for nothing, with %i waiting for it', async (waiting) => {
  const state = new MempoolState(rulesFor([alice, bob]));
  const batch = new MemoryKv().batch();
  state.begin(1, batch);
  const halves = [alice, bob].map((from, n) => candidate(member({ from, n, druid: 'd', participants: 3 })));
  for (const [n, owner] of [alice, bob].entries()) state.coins.insert(genesisOut(n), pay(owner, 1_000_000n), batch);
  const waits = halves.slice(0, waiting);
  expect(atOnce(state.accept([waits], { time: 1, isInChain: () => false }, batch))).toEqual([null]);
  const queue = new JournalQueue({
    state,
    applier: { submit: () => Promise.reject(new TesseraError('write_failed', 'the disk is full')) },
    trades: new OpenTrades({ maxBytes: 10_000 }, { state, clock: systemClock }),
    places: waitingPlaces(),
    clock: systemClock,
  });
  for (let i = 0; i < 20; i++) {
    await expect(queue.append(halves.slice(1), 'a wallet')).rejects.toMatchObject({ code: 'write_failed' });
  }
});

describe('trades that come in parts and come to nothing', () => {
  const half = (druid: string, from: Account, n: number): Transaction =>
    member({ from, n, druid: druid.padEnd(50_000, '-'), participants: 2, expectations: [UNMET] });

  /** Posts halves, and what refuses them, until the node takes no more; gives the number of refused sets. */
  async function spoil(mempool: Mempool, sender: string): Promise<number> {
    for (let i = 0; i < 100; i++) {
      try {
        await mempool.submit([half(`${sender} ${i}`, alice, 0)], sender);
        await mempool.submit([half(`${sender} ${i}`, bob, 1)], sender);
      } catch (error) {
        if ((error as { code?: string }).code === 'overloaded') return i;
        expect(error).toMatchObject({ code: 'transaction_rejected' });
      }
    }
    throw new Error('without end');
  }

  it('have a share of the journal, of which each sender leaves as much as it takes, and hold nothing else up', async () => {
    const { mempool, written, bed } = await running();
    const before = written.bytes;
    expect(await spoil(mempool, 'stranger')).toBeGreaterThan(3);
    expect(written.bytes - before).toBeLessThan(SHARE / 2);
    // It is refused before the journal from now on; others are not.
    const after = written.bytes;
    for (let i = 0; i < 5; i++) {
      await expect(mempool.submit([half(`again ${i}`, alice, 0)], 'stranger')).rejects.toMatchObject({
        code: 'overloaded',
      });
    }
    expect(written.bytes).toBe(after);
    expect(await spoil(mempool, 'another')).toBeGreaterThan(1);
    expect(written.bytes - before).toBeLessThan(SHARE);
    await mempool.submit([member({ druid: 'honest', participants: 2 })], 'honest');
    // Whole trades and payments of the same sender go on.
    await mempool.submit([member({ druid: 'whole' })], 'stranger');
    await mempool.submit([send(bob, 1, alice)], 'stranger');
    await bed.clock.advance(60 * 60_000);
    await mempool.submit([half('later', alice, 0)], 'stranger');
  });

  it('count no more when their set is in the pool', async () => {
    const { mempool } = await running({ blocks: { ...SLOW, instant: true } });
    // More trades than the share would hold, each in two posts.
    let coins = [alice, bob].map((from, n) => ({ from, previous: genesisOut(n) }));
    for (let i = 0; i < 20; i++) {
      const info = { druid: `${i}`.padEnd(60_000, '-'), participants: 2n, expectations: [], genesisHash: null };
      const halves = coins.map(({ from, previous }) =>
        payment({ from, inputs: [previous], outputs: [pay(from, 1_000_000n)], druidInfo: info }),
      );
      for (const tx of halves) await mempool.submit([tx], 'exchange');
      coins = coins.map(({ from }, n) => ({
        from,
        previous: { tHash: transactionHash(halves[n] as Transaction), n: 0 },
      }));
      await stored(mempool, i + 1);
    }
    expect(mempool.figures().waitingCount).toBe(0);
  });
});
