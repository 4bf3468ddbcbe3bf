/** What a journal says again of blocks that a state was made from (docs/adr/0048-a-state-from-storage.md). */

import { describe, expect, it } from 'vitest';
import { DEFAULT_BLOCK_RULES } from '../../src/chain/block-rules.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import type { Transaction } from '../../src/chain/types.js';
import type { Journal, JournalEntry } from '../../src/journal/journal.js';
import { encodePlace } from '../../src/mempool/replicas/ahead-of-journal.js';
import type { Command } from '../../src/mempool/state/commands.js';
import { keys } from '../../src/mempool/state/layout.js';
import { loadMempoolState } from '../../src/mempool/state/load.js';
import { decodeStatus } from '../../src/mempool/state/records.js';
import { closedBlockBytes, closedHash, type Round } from '../../src/mempool/state/round.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { openJournal } from '../support/journal.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, applierOf, candidate, genesisOut, mine, pay, payment, rulesFor } from '../support/mempool.js';

const [alice, bob] = [account('alice'), account('bob')];
const rules = rulesFor([alice, bob], { block: { ...DEFAULT_BLOCK_RULES, transactions: 1 } });
const hashKey = new Uint8Array(8).fill(3);
const TIME = 1_700_000_000;

const half = (n: number): Transaction =>
  payment({
    from: n === 0 ? alice : bob,
    inputs: [genesisOut(n)],
    outputs: [pay(n === 0 ? bob : alice, 1_000_000n)],
    druidInfo: {
      druid: 'DRUID0x0123456789abcdef0123456789abcdef',
      participants: 2n,
      expectations: [],
      genesisHash: null,
    },
  });

async function tell(commands: (node: Awaited<ReturnType<typeof createNode>>) => Promise<void>) {
  const journal = await openJournal(new MemoryKv());
  const node = await createNode(journal);
  await commands(node);
  await node.applier.stop();
  return { ...node, journal };
}

async function createNode(journal: Journal) {
  const kv = new MemoryKv();
  const state = new MempoolState(rules);
  const applier = applierOf(journal, kv, state);
  await applier.start();
  const blocks: Extract<Command, { kind: 'block-adopted' }>[] = [];
  const run = <K extends Command['kind']>(command: Extract<Command, { kind: K }>) => applier.submit<K>(command);
  const cut = async (): Promise<Round> => {
    const height = state.closedHeight + 1;
    const time = TIME + journal.head;
    return (await run({ kind: 'cut-block', height, time, miners: ['m'] })) as Round;
  };
  const close = async (): Promise<Round> => {
    const { height, header, reward } = await cut();
    const { nonce, coinbase } = mine(header, reward, account('m'));
    await run({ kind: 'proof', height, miner: 'm', nonce, coinbase: encodeTransaction(coinbase) });
    return (await run({ kind: 'close-block', height })) as Round;
  };
  return {
    kv,
    state,
    applier,
    blocks,
    post: (...txs: Transaction[]) =>
      run({ kind: 'transactions', time: TIME, groups: [txs.map((tx) => encodeTransaction(tx))] }),
    run,
    cut,
    close,
    async block() {
      const closed = await close();
      blocks.push({ kind: 'block-adopted', block: closedBlockBytes(closed), facts: state.closingFacts(closed) });
      await run({ kind: 'block-stored', height: closed.height, hash: closedHash(closed) });
    },
    /** Storage has this block next. */
    async adopt(block: Extract<Command, { kind: 'block-adopted' }>) {
      blocks.push(block);
      await run(block);
    },
  };
}

interface Reading {
  readonly from?: number;
  /** The last block that was stored before that command, where it is known. */
  readonly at?: number;
  /** The node is restarted before each but the first. */
  readonly parts?: number;
}

/** The state of a node that has all blocks and then reads the journal from command `from` on. */
async function readAgain(
  { blocks, journal, state: { head } }: Awaited<ReturnType<typeof tell>>,
  { from = 1, at = -1, parts = 2 }: Reading = {},
) {
  const all: Uint8Array[] = [];
  const read = async (entries: readonly JournalEntry[]) => void all.push(...entries.map(({ payload }) => payload));
  const subscription = journal.subscribe(from, read, () => undefined);
  await expect.poll(() => all.length, { timeout: 60_000 }).toBe(journal.head - from + 1);
  await subscription.stop();
  const rest = await openJournal(new MemoryKv());
  const { applier, kv } = await createNode(rest);
  for (const block of blocks) await applier.submit<'block-adopted'>(block);
  await applier.stop();
  const place = { until: head.height, at };
  await kv.write(kv.batch().put(keys.ahead, encodePlace(place)), { sync: true });
  const size = Math.ceil(all.length / parts);
  for (let i = 0; i < parts; i++) {
    for (const payload of all.slice(i * size, (i + 1) * size)) await rest.append(payload).durable;
    const again = applierOf(rest, kv, await loadMempoolState(kv, rules, { hashKey }));
    await again.start();
    await again.stop();
  }
  return { kv, state: await loadMempoolState(kv, rules, { hashKey }) };
}

describe('a node that has the blocks and reads the journal after them', () => {
  it('gives up a half of a trade that was given up', async () => {
    const story = await tell(async ({ post, block }) => {
      await block();
      await post(half(0));
      for (let i = 0; i < 4; i++) await block();
    });
    expect(story.state.waitingDruids.sets).toBe(0);
    const { kv, state: made } = await readAgain(story);
    expect(await kv.get(keys.ahead)).toBeUndefined();
    expect(made.waitingDruids.sets).toBe(0);
    expect(made.sharedDigest()).toBe(story.state.sharedDigest());
  });

  it('has what waits of a group of which a block has a part', async () => {
    const single = (n: number): Transaction =>
      payment({ from: n === 0 ? alice : bob, inputs: [genesisOut(n)], outputs: [pay(alice, 1_000_000n)] });
    const story = await tell(async ({ post, block }) => {
      await block();
      await post(single(0), single(1));
      await block();
    });
    expect(story.state.waiting.count).toBe(1);
    const { kv, state: made } = await readAgain(story);
    expect(await kv.get(keys.ahead)).toBeUndefined();
    expect(made.waiting.count).toBe(1);
    expect(made.sharedDigest()).toBe(story.state.sharedDigest());
  });

  it('lets a half of a trade wait as long, where the command of an earlier cut comes late', async () => {
    const story = await tell(async ({ post, block, run }) => {
      for (let i = 0; i < 3; i++) await block();
      await post(half(0));
      await run({ kind: 'cut-block', height: 1, time: TIME, miners: ['m'] });
      await block();
    });
    expect(story.state.waitingDruids.sets).toBe(1);
    const { state: made } = await readAgain(story);
    expect(made.waitingDruids.sets).toBe(1);
    expect(made.sharedDigest()).toBe(story.state.sharedDigest());
  });

  it('gives up what the journal has cut on top of a block that storage had another of', async () => {
    const paid = (n: number): Transaction =>
      payment({ from: n === 0 ? alice : bob, inputs: [genesisOut(n)], outputs: [pay(bob, 1_000_000n)] });
    const rival = await tell(async ({ post, block }) => {
      await block();
      await post(paid(1));
      await block();
    });
    const [, other] = rival.blocks;
    if (other === undefined) throw new Error('no block');
    const story = await tell(async ({ post, block, close, cut, adopt }) => {
      await block();
      await post(paid(0));
      await close();
      await cut();
      await adopt(other);
      await close();
    });
    expect(story.state.rounds.map(({ transactions }) => transactions.map(({ hash }) => hash))).toEqual([
      [candidate(paid(0)).hash],
    ]);
    for (const from of [1, 2]) {
      const { kv, state: made } = await readAgain(story, { from });
      expect(await kv.get(keys.ahead)).toBeUndefined();
      expect(made.issued).toBe(story.state.issued);
      expect(made.head).toEqual(story.state.head);
      expect(made.sharedDigest()).toBe(story.state.sharedDigest());
    }
  });

  describe('where storage had another block than the one that was made', () => {
    const paid = (n: number, to = bob): Transaction =>
      payment({ from: n === 0 ? alice : bob, inputs: [genesisOut(n)], outputs: [pay(to, 1_000_000n)] });
    const childOf = (parent: Transaction): Transaction =>
      payment({ from: bob, inputs: [{ tHash: candidate(parent).hash, n: 0 }], outputs: [pay(alice, 1_000_000n)] });
    /** Storage has block 1 with that. */
    const rivalWith = async (tx: Transaction) => {
      const { blocks } = await tell(async ({ post, block }) => {
        await block();
        await post(tx);
        await block();
      });
      return blocks[1] as (typeof blocks)[0];
    };

    it('has what waits of a group, of which that block has made a member impossible', async () => {
      const other = await rivalWith(paid(0, alice));
      for (const group of [
        [paid(0), paid(1)],
        [paid(1), paid(0), childOf(paid(0))],
        [half(0), paid(1), paid(0)],
      ]) {
        const story = await tell(async ({ post, block, adopt }) => {
          await block();
          expect(await post(...group)).toEqual([null]);
          await adopt(other);
        });
        expect(story.state.isReady(candidate(paid(1)).hash)).toBe(true);
        const { state: made } = await readAgain(story);
        expect(made.isReady(candidate(paid(1)).hash)).toBe(true);
        expect(made.sharedDigest()).toBe(story.state.sharedDigest());
      }
    });

    it('has nothing of a group that was refused for what had come before it', async () => {
      const story = await tell(async ({ post, block }) => {
        await block();
        await post(paid(0, alice));
        expect(await post(paid(0), paid(1))).toMatchObject([{ fault: { code: 'double_spend' } }]);
        await block();
        expect(await post(paid(0, alice), paid(1))).toMatchObject([{ fault: { code: 'unknown_input' } }]);
        expect(await post(paid(0), paid(1))).toMatchObject([{ fault: { code: 'unknown_input' } }]);
        await block();
      });
      expect(story.state.waiting.count).toBe(0);
      const { state: made } = await readAgain(story, { parts: 1 });
      expect(made.sharedDigest()).toBe(story.state.sharedDigest());
    });

    it('keeps what is being made, where the journal has that block twice and begins between the two', async () => {
      const other = await rivalWith(paid(0, alice));
      let between = 0;
      const story = await tell(async ({ post, block, adopt, cut, run, state }) => {
        await block();
        await adopt(other);
        between = state.seq + 1;
        await post(paid(1));
        await cut();
        expect(await run(other)).toBe(false);
      });
      expect(story.state.rounds.length).toBe(1);
      const { state: made } = await readAgain(story, { from: between, at: 1 });
      expect(made.rounds.length).toBe(1);
      expect(made.sharedDigest()).toBe(story.state.sharedDigest());
    });
  });

  it('lets a half wait as long, where a block is told once more behind it', async () => {
    const story = await tell(async ({ post, block, run, state }) => {
      await block();
      await block();
      const { height, hash } = state.head;
      await post(half(0));
      await run({ kind: 'block-stored', height, hash: hash ?? '' });
      for (let i = 0; i < 2; i++) await block();
    });
    expect(story.state.waitingDruids.sets).toBe(1);
    const { state: made } = await readAgain(story);
    expect(made.sharedDigest()).toBe(story.state.sharedDigest());
  });

  it('has a half that came once more, alone, behind the block that has it', async () => {
    let behind = 0;
    const story = await tell(async ({ post, block, state }) => {
      await block();
      await post(half(0), half(1));
      await block();
      behind = state.seq + 1;
      await post(half(0));
      await block();
    });
    expect(story.state.waits(candidate(half(0)).hash)).toBe(true);
    for (const [from, at] of [
      [1, -1],
      [behind, 1],
    ] as const) {
      const { state: made } = await readAgain(story, { from, at });
      expect(made.waits(candidate(half(0)).hash)).toBe(true);
      expect(made.sharedDigest()).toBe(story.state.sharedDigest());
    }
  });

  it('leaves a trade Confirmed that a block has, wherever the journal begins', async () => {
    let between = 0;
    const story = await tell(async ({ post, block, state }) => {
      await block();
      await post(half(0));
      between = state.seq + 1;
      await post(half(1));
      await block();
      await block();
    });
    expect(story.state.waiting.count).toBe(0);
    for (const from of [1, between]) {
      const { kv, state } = await readAgain(story, { from });
      expect(state.sharedDigest()).toBe(story.state.sharedDigest());
      const records = await kv.getMany([half(0), half(1)].map((tx) => keys.status(candidate(tx).hash)));
      expect(records.map((record) => record && decodeStatus(record).status)).toEqual(['Confirmed', 'Confirmed']);
    }
  });
});
