/**
 * A state from the blocks of storage and what is left of a journal (docs/adr/0048-a-state-from-storage.md): wherever the journal was cut so
 * that blocks and the rest are all that was taken, it is the state of the node that has it all.
 */

import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { encodeTransaction } from '../../src/chain/codec.js';
import type { Transaction } from '../../src/chain/types.js';
import type { Kv } from '../../src/db/kv.js';
import type { Journal } from '../../src/journal/journal.js';
import { isBeingTaken } from '../../src/mempool/replicas/snapshot-records.js';
import { takeBlocks } from '../../src/mempool/replicas/take-blocks.js';
import type { Command } from '../../src/mempool/state/commands.js';
import { keys } from '../../src/mempool/state/layout.js';
import { loadMempoolState } from '../../src/mempool/state/load.js';
import { decodeKept } from '../../src/mempool/state/records.js';
import { OldestWaiting } from '../../src/mempool/state/retention.js';
import { closedHash, type Round } from '../../src/mempool/state/round.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { joinBlocks } from '../../src/peers/messages.js';
import type { Link } from '../../src/peers/network.js';
import { openJournal } from '../support/journal.js';
import { MemoryKv } from '../support/memory-kv.js';
import {
  account,
  applierOf,
  candidate,
  chainFor,
  genesisOut,
  mine,
  pay,
  payment,
  rulesFor,
} from '../support/mempool.js';
import { createBed, SECRET } from '../support/peers.js';

const alice = account('alice');
const bob = account('bob');
const carol = account('carol');
const rules = rulesFor([alice, bob, carol]);
const TIME = 1_700_000_000;
const hashKey = new Uint8Array(8).fill(3);
const options = { rules, chain: chainFor(rules).rules, verifyThreads: 0, hashKey, clock: createBed('memory').clock };

/** Where the journal may begin, and how many blocks there are then. */
interface Beginning {
  readonly base: number;
  readonly blocks: number;
}

interface Story {
  readonly journal: Journal;
  readonly kv: Kv;
  readonly state: MempoolState;
  readonly beginnings: readonly Beginning[];
}

const send = (n: number, rest: bigint): Transaction =>
  payment({
    from: [alice, bob, carol][n] ?? alice,
    inputs: [genesisOut(n)],
    outputs: [pay(bob, 1_000_000n - rest), pay(alice, rest)],
  });

/** A node's life: payments before, between and after blocks, one that spends what waits, one that is refused, two that wait. */
async function tell({ isAhead }: { readonly isAhead: boolean }): Promise<Story> {
  const journal = await openJournal(new MemoryKv());
  const kv = new MemoryKv();
  const state = new MempoolState(rules);
  const applier = applierOf(journal, kv, state);
  await applier.start();
  const oldest = new OldestWaiting(0, { arrivals: 0 });
  const beginnings: Beginning[] = [];
  const run = async <K extends Command['kind']>(command: Extract<Command, { kind: K }>): Promise<unknown> => {
    const outcome = await applier.submit<K>(command);
    oldest.noteApplied(state.seq, state.waitingSince);
    const waiting = oldest.before(state.waitingSince.oldest());
    beginnings.push({ base: Math.min(state.seq, waiting + 1), blocks: state.head.height + 1 });
    return outcome;
  };
  const post = (...txs: Transaction[]): Promise<unknown> =>
    run({ kind: 'transactions', time: TIME, groups: txs.map((tx) => [encodeTransaction(tx)]) });
  let early: Round | null = null;
  const cutAt = async (height: number): Promise<Round | null> =>
    (await run({ kind: 'cut-block', height, time: TIME + height, miners: ['m'] })) as Round | null;
  const cut = async (): Promise<Round> => early ?? ((await cutAt(state.head.height + 1)) as Round);
  const store = async (round: Round): Promise<void> => {
    const { height } = round;
    const { nonce, coinbase } = mine(round.header, round.reward, account('m'));
    await run({ kind: 'proof', height, miner: 'm', nonce, coinbase: encodeTransaction(coinbase) });
    const closed = (await run({ kind: 'close-block', height })) as Round;
    // The next block may be cut while storage keeps this one.
    early = isAhead ? await cutAt(height + 1) : null;
    await run({ kind: 'block-stored', height, hash: closedHash(closed) });
  };
  await store(await cut());
  await post(send(0, 1n), send(1, 1n));
  const first = await cut();
  await post(send(0, 2n));
  const { hash } = candidate(send(0, 1n));
  const child = payment({ from: alice, inputs: [{ tHash: hash, n: 1 }], outputs: [pay(carol, 1n)] });
  await post(child);
  await store(first);
  const second = await cut();
  await post(send(2, 1n));
  await store(second);
  await store(await cut());
  const { hash: third } = candidate(send(2, 1n));
  await post(payment({ from: bob, inputs: [{ tHash: third, n: 0 }], outputs: [pay(carol, 999_999n)] }));
  await cut();
  await post(payment({ from: alice, inputs: [{ tHash: third, n: 1 }], outputs: [pay(carol, 1n)] }));
  await applier.stop();
  return { journal, kv, state, beginnings };
}

const beds: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const bed of beds.splice(0)) await bed.stop();
});

/** A link to a storage node that has the first `next` blocks, and gives two at once. */
async function storageWith(next: number, story: Story, missing = next): Promise<Link> {
  const bed = createBed('memory');
  beds.push(bed);
  const storage = bed.node('storage', { role: 'storage', secret: SECRET });
  const taker = bed.node('taker', { role: 'mempool', secret: SECRET });
  storage.handle('chain.tip.get', () => ({
    type: 'chain.tip',
    body: { next, hash: story.state.kept.hashAt(next - 1) ?? null },
  }));
  storage.handle('blocks.get', async (_link, { body: { from } }) => {
    const heights = [from, from + 1].filter((height) => height < missing);
    const records = await story.kv.getMany(heights.map(keys.kept));
    const kept = records.flatMap((record) => (record === undefined ? [] : [decodeKept(record)]));
    const facts = kept.at(-1)?.facts;
    const round = facts && {
      participants: [...facts.participants],
      proofs: [...facts.proofHashes],
      asert_hashes: facts.asertHashes,
    };
    const body = { from, count: kept.length, ...(round && { round }) };
    return { type: 'blocks', body, attachment: joinBlocks(kept.map(({ bytes }) => bytes)) };
  });
  // As storage nodes do, whether the other one is up or not.
  storage.linkUp.on((link) => void link.request('chain.tip.get', {}).catch(() => undefined));
  await storage.start();
  return taker.dial(storage.address, { timeoutMs: 60_000 });
}

const source = (link: Link, blocks: number) => ({
  link,
  blocks,
  signal: new AbortController().signal,
  onProgress: () => undefined,
});

describe('a state from the blocks of storage and the rest of the journal', () => {
  let story: Story;
  let ahead: Story;
  beforeAll(async () => {
    [story, ahead] = [await tell({ isAhead: false }), await tell({ isAhead: true })];
  });

  it.each(['when it is stored', 'while storage keeps the one before it'])(
    'is that of the node that has it all, wherever the journal begins and whatever storage has more: a block is cut %s (rule P2)',
    async (when) => {
      const isAhead = when !== 'when it is stored';
      const { beginnings, state, journal } = isAhead ? ahead : story;
      const count = state.head.height + 1;
      expect([count, state.round?.height]).toEqual([4, 4]);
      expect(new Set(beginnings.map(({ base }) => base)).size).toBeGreaterThan(isAhead ? 4 : 5);
      for (const { base, blocks } of beginnings) {
        for (let next = blocks; next <= count; next++) {
          const kv = new MemoryKv();
          await takeBlocks(kv, base - 1, options, source(await storageWith(next, isAhead ? ahead : story), blocks));
          const made = await loadMempoolState(kv, rules, { hashKey });
          expect([made.seq, made.head.height]).toEqual([base - 1, next - 1]);
          const applier = applierOf(journal, kv, made);
          await applier.start();
          await applier.stop();
          expect([base, next, made.sharedDigest()]).toEqual([base, next, state.sharedDigest()]);
        }
      }
    },
  );

  it('is not begun with fewer blocks than the journal goes on from, and a part of one is told from a whole one', async () => {
    const kv = new MemoryKv();
    const few = storageWith(2, story).then((link) => takeBlocks(kv, 9, options, source(link, 3)));
    await expect(few).rejects.toThrow(/it has 2 blocks, and the journal goes on behind 3/);
    expect(await isBeingTaken(kv)).toBe(false);
    const gone = storageWith(4, story, 3).then((link) => takeBlocks(kv, 9, options, source(link, 3)));
    await expect(gone).rejects.toThrow(/does not have block 3 after all/);
    expect(await isBeingTaken(kv)).toBe(true);
    await takeBlocks(kv, 9, options, source(await storageWith(4, story), 3));
    expect((await loadMempoolState(kv, rules, { hashKey })).head.height).toBe(3);
  });
});
