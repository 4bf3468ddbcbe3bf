/** Two mempool nodes at one journal: the leader makes the blocks, and both come to the same state. */

import { describe, expect, it } from 'vitest';
import { coinbaseTransaction } from '../../src/chain/builders.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import { blockHash, transactionHash } from '../../src/chain/hash.js';
import type { FullBlock } from '../../src/chain/types.js';
import { toHex } from '../../src/lib/bytes.js';
import type { Link, Message, PeerNetwork } from '../../src/peers/network.js';
import { journalWith, openJournal } from '../support/journal.js';
import { LeaseSwitch } from '../support/lease-switch.js';
import { settle } from '../support/manual-clock.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, genesisOut, keepStep, mine, pay, payment } from '../support/mempool.js';
import { createBed, SECRET } from '../support/peers.js';
import { fc, test } from '../support/property.js';
import {
  addMiner,
  addStorage,
  alice,
  bob,
  newFolder,
  type Setup,
  type SetupOptions,
  send,
  setUp,
  stored,
} from './running.js';

interface Pair {
  readonly bed: ReturnType<typeof createBed>;
  readonly nodes: readonly [Setup, Setup];
  readonly leaders: readonly [LeaseSwitch, LeaseSwitch];
  /** What storage was sent, by either. */
  readonly blocks: FullBlock[];
  readonly storage: PeerNetwork;
}

/** The first leads. */
async function pair(mempool: SetupOptions['mempool'] = {}, logged?: SetupOptions['logged']): Promise<Pair> {
  const bed = createBed('memory');
  const journal = journalWith(await openJournal(new MemoryKv()), { isShared: true });
  const leaders = [new LeaseSwitch(), new LeaseSwitch()] as const;
  const shared = { bed, mempool, wrapJournal: () => journal, miners: [], storage: false, ...(logged && { logged }) };
  const one = await setUp({ ...shared, folder: await newFolder(), name: 'one', leadership: leaders[0] });
  const two = await setUp({ ...shared, folder: await newFolder(), name: 'two', leadership: leaders[1] });
  const blocks: FullBlock[] = [];
  const storage = await addStorage(bed, one.network, blocks);
  await storage.dial(two.network.address, { timeoutMs: 5_000 });
  leaders[0].set(true);
  return { bed, nodes: [one, two], leaders, blocks, storage };
}

interface TwoLinks {
  /** Names of the mempool nodes that sent a template, in order. */
  readonly templates: string[];
  /** The last one. */
  readonly last: Template | undefined;
  /** Proves it to that node. */
  prove(to: Setup): Promise<Message>;
  /** Takes over the template of another miner. */
  copy(from: TwoLinks): void;
}

interface Template {
  readonly height: number;
  readonly bytes: Uint8Array;
  readonly reward: bigint;
}

/** A miner that has joined both, and proves when it is told to. */
async function addMinerOfBoth({ bed, nodes }: Pair, { isEager = false, name = 'miner' } = {}): Promise<TwoLinks> {
  const miner = bed.node(name, { role: 'miner' });
  const links = new Map<Setup, Link>();
  const templates: string[] = [];
  let last: Template | undefined;
  async function prove(to: Setup): Promise<Message> {
    if (last === undefined) throw new Error('no template');
    const { nonce, coinbase } = mine(last.bytes, last.reward, account(name));
    const body = { block_num: last.height, nonce: toHex(nonce) };
    const link = links.get(to);
    if (link === undefined) throw new Error('no link');
    return link.request('mining.proof', body, { attachment: encodeTransaction(coinbase) });
  }
  miner.handle('mining.template', (link, { body, attachment }) => {
    last = { height: body.block_num, bytes: Uint8Array.from(attachment), reward: BigInt(body.reward) };
    const [from] = [...links].find(([, known]) => known === link) ?? [];
    templates.push(from === nodes[0] ? 'one' : 'two');
    if (isEager && from !== undefined) void prove(from).catch(() => undefined);
    return undefined;
  });
  miner.handle('mining.stop', () => undefined);
  miner.handle('block.mined', () => undefined);
  await miner.start();
  for (const node of nodes) {
    const link = await miner.dial(node.network.address, { timeoutMs: 5_000 });
    links.set(node, link);
    await link.request('mining.join', {});
  }
  return {
    templates,
    prove,
    get last() {
      return last;
    },
    copy: (from) => {
      last = from.last;
    },
  };
}

/** The blocks that storage was sent, each once, from the first on. */
function chainOf({ blocks }: Pair): readonly FullBlock[] {
  const byHash = new Map(blocks.map((full) => [blockHash(full.block.header), full]));
  const chain = [...byHash.values()].sort((a, b) => Number(a.block.header.bNum - b.block.header.bNum));
  expect(chain.map(({ block }) => Number(block.header.bNum))).toEqual(chain.map((_, height) => height));
  return chain;
}

function expectSame({ nodes: [one, two] }: Pair): void {
  expect(two.mempool.digest()).toBe(one.mempool.digest());
}

/** Who leads, which of the two is paid at, and whether the other gets another payment of the same output just then. */
const step = fc.record({ leads: fc.tuple(fc.boolean(), fc.boolean()), at: fc.nat(1), twice: fc.boolean() });

describe('two mempool nodes at one journal', () => {
  test.prop([fc.array(step, { minLength: 3, maxLength: 8 })], { numRuns: 6, endOnFailure: true })(
    'make one chain with everything that they have taken, whoever leads when, and spend nothing twice',
    async (steps) => {
      const all = await pair();
      const { bed, leaders } = all;
      const [one, two] = all.nodes;
      await addMinerOfBoth(all, { isEager: true });
      await Promise.all([stored(one.mempool, 0), stored(two.mempool, 0)]);
      let coin = { owner: alice, outPoint: genesisOut(0) };
      const taken: string[] = [];
      for (const { leads, at, twice } of steps) {
        for (const [i, leader] of leaders.entries()) leader.set(leads[i] === true);
        const { owner, outPoint } = coin;
        const posts = [at, 1 - at].slice(0, twice ? 2 : 1).map(async (place, i) => {
          const to = i === 0 ? alice : bob;
          const tx = payment({ from: owner, inputs: [outPoint], outputs: [pay(to, 1_000_000n)] });
          const [admitted] = await (place === 0 ? one : two).mempool.submit([tx]);
          return { owner: to, outPoint: { tHash: admitted?.hash ?? '', n: 0 } };
        });
        const admitted = (await Promise.allSettled(posts)).flatMap((post) =>
          post.status === 'fulfilled' ? [post.value] : [],
        );
        expect(admitted).toHaveLength(1);
        coin = admitted[0] ?? coin;
        taken.push(coin.outPoint.tHash);
      }
      leaders[1].set(true);
      const waiting = async (): Promise<number> => {
        await bed.clock.advance(1_000);
        const open = await two.mempool.statuses(taken);
        return [...open.values()].filter(({ status }) => status !== 'Confirmed').length;
      };
      await expect.poll(waiting, { timeout: 60_000 }).toBe(0);
      await expect.poll(() => one.mempool.digest(), { timeout: 60_000 }).toBe(two.mempool.digest());
      const mined = chainOf(all).flatMap(({ transactions }) => transactions.map((tx) => transactionHash(tx)));
      expect(mined.filter((hash) => taken.includes(hash)).toSorted()).toEqual(taken.toSorted());
    },
  );

  it('make each block once, and take transactions at both', async () => {
    const all = await pair();
    const [one, two] = all.nodes;
    const { templates } = await addMinerOfBoth(all, { isEager: true });
    await Promise.all([stored(one.mempool, 0), stored(two.mempool, 0)]);
    expectSame(all);
    await two.mempool.submit([send(alice, 0, bob)]);
    await Promise.all([stored(one.mempool, 1), stored(two.mempool, 1)]);
    expectSame(all);
    expect(all.blocks.map(({ block }) => block.header.bNum)).toEqual([0n, 1n]);
    expect(new Set(templates)).toEqual(new Set(['one']));
  });

  it('refuse at one what the other has admitted', async () => {
    const all = await pair();
    const [one, two] = all.nodes;
    await addMinerOfBoth(all, { isEager: true });
    await Promise.all([stored(one.mempool, 0), stored(two.mempool, 0)]);
    const posts = [0, 1, 2, 3].map((rest) => {
      const { mempool } = rest % 2 === 0 ? one : two;
      return mempool.submit([send(alice, 0, bob, rest + 1)]);
    });
    const outcomes = await Promise.allSettled(posts);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await Promise.all([stored(one.mempool, 1), stored(two.mempool, 1)]);
    expectSame(all);
  });

  it('finish a round that another leader has begun, with the same template', async () => {
    const all = await pair();
    const [one, two] = all.nodes;
    const miner = await addMinerOfBoth(all);
    await expect.poll(() => miner.templates).toEqual(['one']);
    all.leaders[0].set(false);
    all.leaders[1].set(true);
    await expect.poll(() => miner.templates).toEqual(['one', 'two']);
    await miner.prove(two);
    await Promise.all([stored(one.mempool, 0), stored(two.mempool, 0)]);
    expectSame(all);
    expect(all.blocks).toHaveLength(1);
  });

  it('take a proof at either, also when nobody leads for a while', async () => {
    const all = await pair();
    const [one, two] = all.nodes;
    const miner = await addMinerOfBoth(all);
    await expect.poll(() => miner.templates).toEqual(['one']);
    all.leaders[0].set(false);
    const { body } = await miner.prove(two);
    expect(body).toMatchObject({ accepted: true });
    expect(one.mempool.figures().height).toBe(-1);
    expect(all.blocks).toEqual([]);
    all.leaders[0].set(true);
    await Promise.all([stored(one.mempool, 0), stored(two.mempool, 0)]);
    expectSame(all);
  });

  it('warn of proofs that are wrong, and not of those that come late', async () => {
    const lines: string[] = [];
    const all = await pair({}, (text, level) => lines.push(`${level}: ${text}`));
    const refused = (): string[] => lines.filter((line) => line.endsWith('proof refused'));
    const [one, two] = all.nodes;
    const miner = await addMinerOfBoth(all);
    await expect.poll(() => miner.templates).toEqual(['one']);
    await miner.prove(two);
    await Promise.all([stored(one.mempool, 0), stored(two.mempool, 0)]);
    for (const node of [one, two]) expect((await miner.prove(node)).body).toMatchObject({ accepted: false });
    expect(refused()).toEqual(['debug: proof refused', 'debug: proof refused']);
    const looking = await addMiner(all.bed, one.network, 'm9', () => undefined);
    await one.mempool.submit([send(alice, 0, bob)]);
    await expect.poll(() => miner.last?.height, { timeout: 60_000 }).toBe(1);
    const coinbase = encodeTransaction(coinbaseTransaction(1n, 1n, bob.address));
    const proof = { block_num: 1, nonce: '00000000' };
    const { body } = await looking.request('mining.proof', proof, { attachment: coinbase });
    expect(body).toMatchObject({ accepted: false, reason: expect.stringContaining('Coinbase') });
    expect(refused().at(-1)).toBe('warn: proof refused');
  });

  it('keep the interval when the leader changes', async () => {
    const blocks = { instant: false, blockInterval: 10_000, proofWindow: 0, minMiners: 1, partitionSize: 10 };
    const all = await pair({ blocks });
    const [one, two] = all.nodes;
    await addMinerOfBoth(all, { isEager: true });
    await Promise.all([stored(one.mempool, 0), stored(two.mempool, 0)]);
    all.leaders[0].set(false);
    all.leaders[1].set(true);
    await all.bed.clock.advance(9_000);
    expect(all.blocks).toHaveLength(1);
    await all.bed.clock.advance(1_000);
    await Promise.all([stored(one.mempool, 1), stored(two.mempool, 1)]);
    expectSame(all);
  });

  it('both say it by name when no storage node can keep a block, and no more when one can', async () => {
    const all = await pair();
    const [one, two] = all.nodes;
    await addMinerOfBoth(all, { isEager: true });
    await Promise.all([stored(one.mempool, 0), stored(two.mempool, 0)]);
    const other = all.bed.node('second storage', { role: 'storage', secret: SECRET });
    keepStep(other);
    await other.start();
    for (const { network } of all.nodes) await other.dial(network.address, { timeoutMs: 5_000 });
    const [block] = all.blocks;
    if (block === undefined) throw new Error('no block');
    const hash = blockHash(block.block.header);
    const say = (storage: PeerNetwork, problem?: string): void => {
      for (const link of storage.links) link.send('chain.tip', { next: 1, hash, ...(problem && { problem }) });
    };
    const said = () => all.nodes.map(({ mempool }) => mempool.figures().notStored);
    say(all.storage, 'the disk has 0 MiB left');
    await settle();
    expect(said()).toEqual([null, null]);
    say(other, 'the database cannot be written');
    await expect
      .poll(said)
      .toEqual(
        [1, 2].map(() =>
          expect.stringMatching(
            /^no block can be kept: .*: the disk has 0 MiB left; .*: the database cannot be written$/,
          ),
        ),
      );
    say(other);
    await expect.poll(said).toEqual([null, null]);
  });

  it('take no transactions at one that is far behind storage, and adopt nothing there', async () => {
    const all = await pair();
    const [one, two] = all.nodes;
    await addMinerOfBoth(all, { isEager: true });
    await Promise.all([stored(one.mempool, 0), stored(two.mempool, 0)]);
    all.leaders[0].set(false);
    let asked = 0;
    all.storage.handle('blocks.get', () => {
      asked++;
      return { type: 'blocks', body: { from: 1, count: 0 } };
    });
    // What was asked before is answered first.
    const apartAfter = async (next: number): Promise<string | null> => {
      for (const link of all.storage.links) link.send('chain.tip', { next, hash: 'f'.repeat(64) });
      await settle();
      return two.mempool.figures().apart;
    };
    await expect.poll(() => apartAfter(5), { timeout: 60_000 }).toMatch(/storage is 4 blocks ahead/);
    await expect(two.mempool.submit([send(alice, 0, bob)])).rejects.toMatchObject({ code: 'mempool_unreachable' });
    // The next block is on its way through the journal.
    await expect.poll(() => apartAfter(2), { timeout: 60_000 }).toBeNull();
    await two.mempool.submit([send(alice, 0, bob)]);
    expect(asked).toBe(0);
  });

  it('take transactions at one that is even with a storage node, whatever another one says that it has', async () => {
    const all = await pair();
    const [one, two] = all.nodes;
    await addMinerOfBoth(all, { isEager: true });
    await Promise.all([stored(one.mempool, 0), stored(two.mempool, 0)]);
    const longer = all.bed.node('longer', { role: 'storage', secret: SECRET });
    longer.handle('chain.tip.get', () => ({ type: 'chain.tip', body: { next: 9, hash: 'f'.repeat(64) } }));
    await longer.start();
    const link = await longer.dial(two.network.address, { timeoutMs: 5_000 });
    const apart = async (): Promise<string | null> => {
      link.send('chain.tip', { next: 9, hash: 'f'.repeat(64) });
      // When this is answered, that was heard.
      await link.request('chain.tip.get', {});
      return two.mempool.figures().apart;
    };
    await expect.poll(apart, { timeout: 60_000 }).toBeNull();
    await two.mempool.submit([send(alice, 0, bob)]);
    await Promise.all([stored(one.mempool, 1), stored(two.mempool, 1)]);
    await all.storage.stop();
    await expect.poll(apart, { timeout: 60_000 }).toMatch(/storage is 7 blocks ahead/);
    await expect(two.mempool.submit([send(bob, 1, alice)])).rejects.toMatchObject({ code: 'mempool_unreachable' });
  });

  it('make no block while nobody leads', async () => {
    const all = await pair({
      blocks: { instant: false, blockInterval: 1_000, proofWindow: 0, minMiners: 1, partitionSize: 10 },
    });
    await addMinerOfBoth(all, { isEager: true });
    await Promise.all(all.nodes.map(({ mempool }) => stored(mempool, 0)));
    all.leaders[0].set(false);
    await all.bed.clock.advance(60_000);
    expect(all.nodes.map(({ mempool }) => mempool.figures().height)).toEqual([0, 0]);
    expect(all.nodes.map(({ mempool }) => mempool.figures().apart)).toEqual([null, null]);
  });

  it('take a proof of any miner that has joined, when nobody has proven the block for a minute', async () => {
    const blocks = { instant: true, blockInterval: 0, proofWindow: 0, minMiners: 1, partitionSize: 1 };
    const all = await pair({ blocks });
    const [one, two] = all.nodes;
    const drawn = await addMinerOfBoth(all);
    await expect.poll(() => drawn.templates).toEqual(['one']);
    const late = await addMinerOfBoth(all, { name: 'late' });
    late.copy(drawn);
    // The minute begins when the node knows of the block.
    const early = async () => (await late.prove(two)).body;
    const refused = { accepted: false, reason: expect.stringContaining('Not a selected') };
    await expect.poll(early, { timeout: 60_000 }).toMatchObject(refused);
    await all.bed.clock.advance(60_000);
    expect((await late.prove(two)).body).toMatchObject({ accepted: true });
    // The leader waits for the other miner.
    const heights = async (): Promise<number[]> => {
      await all.bed.clock.advance(1);
      return [one, two].map(({ mempool }) => mempool.figures().height);
    };
    await expect.poll(heights, { timeout: 60_000 }).toEqual([0, 0]);
    expectSame(all);
  });

  it('change nothing when both lead: each block is made once, and both come to the same state', async () => {
    const all = await pair();
    const [one, two] = all.nodes;
    all.leaders[1].set(true);
    await addMinerOfBoth(all, { isEager: true });
    await Promise.all([stored(one.mempool, 0), stored(two.mempool, 0)]);
    await one.mempool.submit([send(alice, 0, bob)]);
    await Promise.all([stored(one.mempool, 1), stored(two.mempool, 1)]);
    await two.mempool.submit([send(bob, 1, alice)]);
    await Promise.all([stored(one.mempool, 2), stored(two.mempool, 2)]);
    expectSame(all);
    expect(chainOf(all)).toHaveLength(3);
  });

  it('resign when they lead without a miner or a storage node, after a while', async () => {
    const all = await pair();
    await all.bed.clock.advance(9_000);
    expect(all.leaders[0].resignations).toBe(0);
    await all.bed.clock.advance(2_000);
    expect(all.leaders[0].resignations).toBe(1);
    await addMinerOfBoth(all);
    await all.bed.clock.advance(60_000);
    expect(all.leaders.map(({ resignations }) => resignations)).toEqual([1, 0]);
    await all.storage.stop();
    await all.bed.clock.advance(12_000);
    expect(all.leaders.map(({ resignations }) => resignations)).toEqual([2, 0]);
  });

  it('resign when storage refuses their block, after a while', async () => {
    const all = await pair();
    const body = { block_num: 0, next: 0, reason: 'it breaks a rule', rule: 'merkle' };
    let refusals = 0;
    await all.storage.stop();
    const other = all.bed.node('other', { role: 'storage', secret: SECRET });
    keepStep(other);
    other.handle('block.deliver', () => {
      refusals++;
      return { type: 'block.refused', body };
    });
    await other.start();
    await other.dial(all.nodes[0].network.address, { timeoutMs: 5_000 });
    await addMinerOfBoth(all, { isEager: true });
    await expect.poll(() => refusals, { timeout: 60_000 }).toBeGreaterThan(0);
    const resignations = async (): Promise<number> => {
      await all.bed.clock.advance(1_000);
      return all.leaders[0].resignations;
    };
    await expect.poll(resignations, { timeout: 60_000 }).toBeGreaterThan(0);
    expect(all.leaders[1].resignations).toBe(0);
  });

  it('resign when the only storage node is at blocks that they cannot get, after a while', async () => {
    const all = await pair();
    await addMinerOfBoth(all, { isEager: true });
    await Promise.all(all.nodes.map(({ mempool }) => stored(mempool, 0)));
    const tip = { next: 5, hash: 'f'.repeat(64) };
    await all.storage.stop();
    const other = all.bed.node('other', { role: 'storage', secret: SECRET });
    other.handle('chain.tip.get', () => ({ type: 'chain.tip', body: tip }));
    // What it is told meanwhile; without this it would end the link.
    other.handle('chain.tip', () => undefined);
    other.handle('blocks.get', () => ({ type: 'blocks', body: { from: 1, count: 0 } }));
    await other.start();
    await other.dial(all.nodes[0].network.address, { timeoutMs: 5_000 });
    const resignations = async (): Promise<number> => {
      await all.bed.clock.advance(1_000);
      return all.leaders[0].resignations;
    };
    await expect.poll(resignations, { timeout: 60_000 }).toBeGreaterThan(0);
    expect(all.nodes[0].mempool.figures().apart).toMatch(/storage at block 4|at block 4, whose blocks cannot be used/);
    expect(all.leaders[1].resignations).toBe(0);
  });

  for (const [what, answers, times] of [
    ['resign within seconds when storage has their block and answers nothing at all', false, 1],
    ['stay when storage takes long for their block, and answers', true, 0],
  ] as const) {
    it(what, async () => {
      const all = await pair();
      await all.storage.stop();
      const other = all.bed.node('other', { role: 'storage', secret: SECRET });
      let delivered = 0;
      let answered = 0;
      other.handle('chain.tip.get', () => {
        if (delivered > 0 && !answers) return new Promise(() => undefined);
        answered++;
        return { type: 'chain.tip', body: { next: 0, hash: null } };
      });
      other.handle('block.deliver', () => {
        delivered++;
        return new Promise(() => undefined);
      });
      await other.start();
      await other.dial(all.nodes[0].network.address, { timeoutMs: 5_000 });
      await addMinerOfBoth(all, { isEager: true });
      await expect.poll(() => delivered, { timeout: 60_000 }).toBe(1);
      const before = answered;
      await all.bed.clock.advance(8_000);
      if (answers) await expect.poll(() => answered, { timeout: 60_000 }).toBeGreaterThan(before);
      const resigned = (): number[] => all.leaders.map(({ resignations }) => resignations);
      await expect.poll(resigned, { timeout: 60_000 }).toEqual([times, 0]);
    });
  }
});
