/** A part of a trade whose command is behind its block in the journal: what is in a block stays confirmed. */

import { afterEach, describe, expect, it } from 'vitest';
import { encodeTransaction } from '../../src/chain/codec.js';
import type { Transaction } from '../../src/chain/types.js';
import { silentLogger } from '../../src/lib/logger.js';
import type { Applier } from '../../src/mempool/state/applier.js';
import { keys } from '../../src/mempool/state/layout.js';
import { decodeStatus } from '../../src/mempool/state/records.js';
import { closedHash } from '../../src/mempool/state/round.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { StateStore } from '../../src/mempool/state/state-store.js';
import { Statuses } from '../../src/mempool/state/statuses.js';
import { openJournal } from '../support/journal.js';
import { ManualClock } from '../support/manual-clock.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, applierOf, candidate, genesisOut, mine, pay, payment, rulesFor } from '../support/mempool.js';

const alice = account('alice');
const bob = account('bob');
const LIFETIME = 2;
const druidInfo = { druid: 'DRUID0x1', participants: 2n, expectations: [], genesisHash: null };
const halves = [alice, bob].map((from, n) =>
  payment({ from, inputs: [genesisOut(n)], outputs: [pay(from, 1_000_000n)], druidInfo }),
);

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function createNode() {
  const kv = new MemoryKv();
  const state = new MempoolState(rulesFor([alice, bob], { druidLifetime: LIFETIME }));
  const journal = await openJournal(new MemoryKv());
  const clock = new ManualClock();
  const store = new StateStore(kv, clock);
  const applier = applierOf(journal, kv, state, store);
  await applier.start();
  cleanups.push(
    () => journal.close(),
    () => applier.stop(),
  );
  const refused: string[] = [];
  applier.rejected.on(({ hash }) => refused.push(hash));
  const statusOf = async (tx: Transaction) => {
    const record = await store.get(keys.status(candidate(tx).hash));
    return record === undefined ? undefined : decodeStatus(record);
  };
  const send = (...txs: readonly Transaction[]) =>
    applier.submit<'transactions'>({ kind: 'transactions', time: 1, groups: [txs.map((tx) => encodeTransaction(tx))] });
  const statuses = new Statuses({ lifetime: 86_400 }, { store, state, clock, logger: silentLogger });
  cleanups.push(() => statuses.stop());
  /** What a client is told. */
  const told = async (...txs: readonly Transaction[]) => {
    const hashes = txs.map((tx) => candidate(tx).hash);
    const found = await statuses.get(hashes);
    return hashes.map((hash) => found.get(hash)?.status);
  };
  return { state, refused, statusOf, told, send, block: () => makeBlock(applier) };
}

async function makeBlock(applier: Applier): Promise<void> {
  const round = await applier.submit<'cut-block'>({ kind: 'cut-block', time: 1, miners: ['m1'] });
  if (round === null) throw new Error('a round is under way');
  const { height } = round;
  const { nonce, coinbase } = mine(round.header, round.reward, account('m1'));
  await applier.submit({ kind: 'proof', height, miner: 'm1', nonce, coinbase: encodeTransaction(coinbase) });
  const closed = await applier.submit<'close-block'>({ kind: 'close-block', height });
  if (closed === null) throw new Error('it is not closed');
  await applier.submit({ kind: 'block-stored', height, hash: closedHash(closed) });
}

/** The trade is in block 1. */
async function tradedNode() {
  const node = await createNode();
  await node.block();
  await node.send(...halves);
  await node.block();
  for (const half of halves) expect((await node.statusOf(half))?.status).toBe('Confirmed');
  return node;
}

describe('a trade that is in a block', () => {
  it('stays confirmed when all of it comes once more', async () => {
    const node = await tradedNode();
    expect(await node.send(...halves)).toMatchObject([{ fault: { code: 'unknown_input' } }]);
    for (const half of halves) {
      expect(await node.statusOf(half)).toMatchObject({
        status: 'Confirmed',
        additionalInfo: expect.stringMatching(/^In block 1 /),
      });
    }
    expect(node.refused).toEqual([]);
  });

  it('stays confirmed when a half of it comes once more, waits for the other, and has waited too long', async () => {
    const node = await tradedNode();
    const [half] = halves;
    if (half === undefined) throw new Error('no half');
    await node.send(half);
    expect(node.state.waits(candidate(half).hash)).toBe(true);
    for (let i = 0; i <= LIFETIME; i++) await node.block();
    expect(node.state.waits(candidate(half).hash)).toBe(false);
    expect((await node.statusOf(half))?.status).toBe('Confirmed');
    expect(node.refused).toEqual([]);
  });

  it('is told as confirmed while a half of it that came once more waits for the other', async () => {
    const node = await tradedNode();
    const [half, other] = halves as [Transaction, Transaction];
    await node.send(half);
    expect(node.state.waits(candidate(half).hash)).toBe(true);
    expect(await node.told(half, other)).toEqual(['Confirmed', 'Confirmed']);
    for (let i = 0; i <= LIFETIME; i++) await node.block();
    expect(await node.told(half)).toEqual(['Confirmed']);
  });

  it('is told as confirmed at the moment at which a part that came once more is refused', async () => {
    const node = await tradedNode();
    const accept = node.state.accept.bind(node.state);
    const told: Promise<unknown>[] = [];
    node.state.accept = (...all) => {
      const outcomes = accept(...all);
      told.push(node.told(...halves));
      return outcomes;
    };
    await node.send(...halves);
    expect(await Promise.all(told)).toEqual([['Confirmed', 'Confirmed']]);
  });

  it('is told as waiting for the other half before it is in one', async () => {
    const node = await createNode();
    await node.block();
    const [half] = halves as [Transaction];
    await node.send(half);
    expect(await node.told(half)).toEqual(['Pending']);
  });

  it('is refused, with its event, when it never was in one', async () => {
    const node = await createNode();
    await node.block();
    const [half] = halves;
    if (half === undefined) throw new Error('no half');
    await node.send(half);
    for (let i = 0; i <= LIFETIME; i++) await node.block();
    expect((await node.statusOf(half))?.status).toBe('Rejected');
    expect(node.refused).toEqual([candidate(half).hash]);
  });
});
