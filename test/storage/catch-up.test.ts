import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Verifier } from '../../src/ledger/verifier/verifier.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { joinBlocks, type MessageType, splitBlocks } from '../../src/peers/messages.js';
import type { Reply } from '../../src/peers/network.js';
import { decodeFullBlock, encodeFullBlock } from '../support/full-block.js';
import { ManualClock } from '../support/manual-clock.js';
import { connect } from '../support/storage/fake-network.js';
import { CATCH_UP, createStorageNode, type StorageNode, settle } from '../support/storage/storage-node.js';
import { createTestChain, spoil, type TestChain } from '../support/storage/test-chain.js';

let clock: ManualClock;
let chain: TestChain;
let away: StorageNode;

beforeEach(async () => {
  clock = new ManualClock();
  chain = createTestChain();
  away = await createStorageNode('away', clock);
});

async function peer(name: string, height: number, of: TestChain = chain): Promise<StorageNode> {
  const node = await createStorageNode(name, clock);
  await node.fill(of, height);
  return node;
}

const asked = (node: StorageNode, type: MessageType) => node.received.filter((message) => message.type === type);

/** Changes the blocks of an answer. */
function changingBlocks(change: (blocks: Uint8Array[]) => Uint8Array[]) {
  return (reply: Reply): Reply => {
    if (reply.type !== 'blocks') return reply;
    const { count } = reply.body as { count: number };
    return { ...reply, attachment: joinBlocks(change(splitBlocks(reply.attachment ?? new Uint8Array(), count))) };
  };
}

describe('catching up', () => {
  it('brings an empty archive to the height of its peers, in ranges, saying how far it is', async () => {
    const full = await peer('full', 11);
    const progress: object[] = [];
    away.service.catchUpProgress.on((step) => progress.push(step));
    await away.service.start();
    connect(away.node, full.node, clock);
    await away.until(11);
    await settle();
    expect(away.archive.tip).toEqual(full.archive.tip);
    expect(asked(full, 'blocks.get').map(({ body }) => body)).toEqual([
      { from: 0, count: 4, packed: true },
      { from: 4, count: 4, packed: true },
      { from: 8, count: 4, packed: true },
    ]);
    expect(progress).toEqual(Array.from({ length: 11 }, (_, i) => ({ height: i + 1, target: 11 })));
    await away.service.stop();
    expect(away.service.catchingUp).toBeUndefined();
  });

  it('asks for the next blocks while it stores those before', async () => {
    const full = await peer('full', 11);
    const storing = createDeferred<void>();
    const begun = createDeferred<void>();
    // Of a peer whose first block is not stored yet nothing more is asked.
    away.hooks.beforeWrite = async () => {
      if (away.archive.nextHeight === 0) expect(asked(full, 'blocks.get')).toHaveLength(1);
      if (away.archive.nextHeight !== 1) return;
      begun.resolve();
      await storing.promise;
    };
    await away.service.start();
    connect(away.node, full.node, clock);
    await begun.promise;
    await expect.poll(() => asked(full, 'blocks.get').length, { timeout: 60_000 }).toBe(2);
    expect(away.archive.nextHeight).toBe(1);
    storing.resolve();
    await away.until(11);
    await settle();
    expect(asked(full, 'blocks.get').map(({ body }) => body)).toEqual([
      { from: 0, count: 4, packed: true },
      { from: 4, count: 4, packed: true },
      { from: 8, count: 4, packed: true },
    ]);
    await away.service.stop();
  });

  it('has the signatures of the next block verified while it stores one, and none of them twice', async () => {
    const full = await peer('full', 5);
    const verify = vi.spyOn(away.archive.scripts, 'verify');
    const ahead = () => verify.mock.calls.flatMap(([checks, sender]) => (sender === 'ahead' ? checks : []));
    const storing = createDeferred<void>();
    // Of a peer whose first block is not stored yet nothing is done ahead.
    away.hooks.beforeWrite = async () => {
      if (away.archive.nextHeight === 0) expect(ahead()).toEqual([]);
      if (away.archive.nextHeight === 2) await storing.promise;
    };
    await away.service.start();
    connect(away.node, full.node, clock);
    const signatures = (heights: readonly number[]): number =>
      heights.reduce((sum, height) => sum + (chain.blocks[height]?.transactions.length ?? 0), 0);
    await expect.poll(() => ahead().length, { timeout: 60_000 }).toBe(signatures([2, 3]));
    expect(away.archive.nextHeight).toBe(2);
    storing.resolve();
    await away.until(5);
    await settle();
    const { scripts } = away.archive;
    expect(scripts instanceof Verifier && scripts.ran.main).toBe(signatures([1, 2, 3, 4]));
    await away.service.stop();
  });

  it('brings an archive that was away up to date, also with links that were there before the start', async () => {
    await away.fill(chain, 5);
    const full = await peer('full', 9);
    connect(away.node, full.node, clock);
    await away.service.start();
    await away.until(9);
    expect(asked(full, 'blocks.get')[0]?.body).toEqual({ from: 5, count: 4, packed: true });
    await away.service.stop();
  });

  it('follows a peer that announces new blocks', async () => {
    const full = await peer('full', 2);
    await full.service.start();
    await away.service.start();
    connect(away.node, full.node, clock);
    await away.until(2);
    await full.fill(chain, 3);
    await away.until(3);
    await away.service.stop();
    await full.service.stop();
  });

  it('goes on while the mempool delivers, each block stored once', async () => {
    const full = await peer('full', 8);
    const stored: number[] = [];
    away.archive.blockStored.on(({ height }) => stored.push(height));
    // The mempool delivers block 0 while the answer is on its way, and the disk is slow.
    const disk = createDeferred<void>();
    away.hooks.beforeWrite = () => disk.promise;
    full.node.tamper = (reply, question) => {
      if (question === 'blocks.get' && away.archive.nextHeight === 0) void away.archive.store(chain.block(0));
      return reply;
    };
    await away.service.start();
    connect(away.node, full.node, clock);
    await settle();
    disk.resolve();
    await away.until(8);
    expect(full.network.links.size).toBe(1);
    expect(stored).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    await away.service.stop();
  });

  it('far behind, answers "try again" for what it does not have yet, and not that there is no such thing', async () => {
    const full = await peer('full', 20);
    const disk = createDeferred<void>();
    away.hooks.beforeWrite = () => (away.archive.nextHeight < 2 ? Promise.resolve() : disk.promise);
    await away.service.start();
    connect(away.node, full.node, clock);
    await away.until(2);
    const incomplete = { code: 'archive_incomplete', message: expect.stringContaining('2 of 20 blocks') };
    expect(await away.service.blockAt(1)).toMatchObject({ height: 1 });
    expect(await away.service.latest()).toMatchObject({ height: 1 });
    await expect(away.service.blockAt(12)).rejects.toMatchObject(incomplete);
    await expect(away.service.entry(chain.hash(12))).rejects.toMatchObject(incomplete);
    expect(await away.service.blockAt(20)).toBeUndefined();
    disk.resolve();
    await away.until(20);
    expect(await away.service.entry('of no transaction')).toBeUndefined();
    await away.service.stop();
  });

  it('asks several peers in turn', async () => {
    const peers = await Promise.all([peer('one', 12), peer('two', 12)]);
    await away.service.start();
    for (const { node } of peers) connect(away.node, node, clock);
    await away.until(12);
    for (const node of peers) expect(asked(node, 'blocks.get').length).toBeGreaterThan(0);
    await away.service.stop();
  });

  it('asks nodes of its own operator and no others in a network without producers (SECURITY.md, who may tell whom what)', async () => {
    const [stranger, own] = await Promise.all([peer('stranger', 12), peer('own', 8)]);
    await away.service.start();
    connect(away.node, stranger.node, clock, false);
    connect(away.node, own.node, clock, true);
    await away.until(8);
    await settle();
    expect(stranger.received).toEqual([]);
    expect(away.service.catchingUp).toBeUndefined();
    await away.service.stop();
  });
});

describe('catching up from a peer that cannot be trusted', () => {
  /** Two peers, the first of which tampers; the archive must end like the second. */
  async function withLiar(tamper: (reply: Reply) => Reply): Promise<StorageNode> {
    const [liar, honest] = await Promise.all([peer('liar', 10), peer('honest', 10)]);
    liar.node.tamper = tamper;
    connect(away.node, liar.node, clock);
    await away.service.start();
    await settle();
    connect(away.node, honest.node, clock);
    await away.until(10);
    expect(away.archive.tip).toEqual(honest.archive.tip);
    expect(await away.archive.verify()).toMatchObject({ blocks: 10 });
    await away.service.stop();
    return liar;
  }
  const isCutOff = (liar: StorageNode): boolean => liar.network.links.size === 0;

  it('refuses a block with a false proof of work, and cuts the peer off', async () => {
    const liar = await withLiar(
      changingBlocks((blocks) =>
        blocks.map((bytes) => {
          const full = decodeFullBlock(bytes);
          return encodeFullBlock({ ...full, block: { ...full.block, header: spoil(full.block.header) } });
        }),
      ),
    );
    expect(isCutOff(liar)).toBe(true);
    expect(asked(liar, 'blocks.get')).toHaveLength(1);
  });

  it.each([
    ['a bad one', (bytes: Uint8Array) => encodeFullBlock({ ...decodeFullBlock(bytes), transactions: [] })],
    ['one that cannot be decoded', () => Uint8Array.of(1, 2, 3)],
  ])('keeps the good blocks before %s', async (_, spoilt) => {
    const stored: number[] = [];
    away.archive.blockStored.on(({ height }) => stored.push(height));
    const spoilThird = changingBlocks((blocks) => blocks.map((bytes, i) => (i === 2 ? spoilt(bytes) : bytes)));
    const liar = await peer('liar', 6);
    liar.node.tamper = spoilThird;
    connect(away.node, liar.node, clock);
    await away.service.start();
    await settle();
    expect(stored).toEqual([0, 1]);
    expect(isCutOff(liar)).toBe(true);
    await away.service.stop();
  });

  it.each([
    ['bytes that are no block', changingBlocks((blocks) => blocks.map(() => Uint8Array.of(1, 2, 3)))],
    ['blocks in another order', changingBlocks((blocks) => blocks.reverse())],
    [
      'a cut answer',
      (reply: Reply) => ({ ...reply, ...(reply.attachment && { attachment: reply.attachment.slice(0, 50) }) }),
    ],
    [
      'blocks that were not asked for',
      (reply: Reply) => (reply.type === 'blocks' ? { ...reply, body: { from: 3, count: 1 } } : reply),
    ],
  ])('cuts off a peer that sends %s', async (_, tamper) => {
    expect(isCutOff(await withLiar(tamper as (reply: Reply) => Reply))).toBe(true);
  });

  it('passes over a peer on another branch without cutting it off, for it may be right', async () => {
    await away.fill(chain, 3);
    const [branch, same] = await Promise.all([peer('branch', 6, createTestChain(101)), peer('same', 6)]);
    connect(away.node, branch.node, clock);
    await away.service.start();
    await settle();
    expect(away.archive.nextHeight).toBe(3);
    expect(branch.network.links.size).toBe(1);
    connect(away.node, same.node, clock);
    await away.until(6);
    expect(away.archive.tip.hash).toBe(chain.hash(5));
    await away.service.stop();
  });

  it.each([
    [
      'has nothing of what it claimed',
      (reply: Reply) =>
        reply.type === 'blocks' ? { ...reply, body: { from: 0, count: 0 }, attachment: new Uint8Array() } : reply,
    ],
    [
      'answers with an error',
      (reply: Reply) =>
        reply.type === 'blocks' ? { type: 'error', body: { code: 'internal_error', detail: '' } } : reply,
    ],
  ])('passes over a peer that %s', async (_, tamper) => {
    const liar = await withLiar(tamper as (reply: Reply) => Reply);
    expect(isCutOff(liar)).toBe(false);
  });
});

describe('catching up from a silent peer', () => {
  it('goes on with another one after the timeout', async () => {
    const [silent, honest] = await Promise.all([peer('silent', 10), peer('honest', 10)]);
    silent.node.tamper = (reply, question) => (question === 'chain.tip.get' ? reply : undefined);
    connect(away.node, silent.node, clock);
    await away.service.start();
    await settle();
    connect(away.node, honest.node, clock);
    await settle();
    expect(away.archive.nextHeight).toBe(0);
    clock.advance(CATCH_UP.requestTimeoutMs);
    await away.until(10);
    await away.service.stop();
  });

  it('asks it again later, when there is no other', async () => {
    const shy = await peer('shy', 6);
    shy.node.tamper = () => undefined;
    connect(away.node, shy.node, clock);
    await away.service.start();
    await settle();
    clock.advance(CATCH_UP.requestTimeoutMs);
    await settle();
    expect(asked(shy, 'chain.tip.get')).toHaveLength(1);
    shy.node.tamper = (reply) => reply;
    clock.advance(CATCH_UP.retryMs);
    await away.until(6);
    await away.service.stop();
  });

  it('asks it for blocks again later, when it only says how far it is', async () => {
    const slow = await peer('slow', 6);
    slow.node.tamper = (reply, question) => (question === 'chain.tip.get' ? reply : undefined);
    connect(away.node, slow.node, clock);
    await away.service.start();
    await settle();
    clock.advance(CATCH_UP.requestTimeoutMs);
    await settle();
    slow.node.tamper = (reply) => reply;
    clock.advance(CATCH_UP.retryMs);
    await away.until(6);
    await away.service.stop();
  });

  it('goes on with another one when the link breaks in the middle', async () => {
    const [silent, honest] = await Promise.all([peer('silent', 10), peer('honest', 10)]);
    silent.node.tamper = (reply, question) => (question === 'chain.tip.get' ? reply : undefined);
    const { a } = connect(away.node, silent.node, clock);
    await away.service.start();
    await settle();
    connect(away.node, honest.node, clock);
    await settle();
    a.close('gone');
    await away.until(10);
    await away.service.stop();
  });

  it('stops at once when it is told to, and leaves no timer that does anything', async () => {
    const silent = await peer('silent', 10);
    silent.node.tamper = (reply, question) => (question === 'chain.tip.get' ? reply : undefined);
    connect(away.node, silent.node, clock);
    await away.service.start();
    await settle();
    expect(away.service.catchingUp).toEqual({ height: 0, target: 10 });
    await away.service.stop();
    expect(away.service.catchingUp).toBeUndefined();
    clock.advance(60_000);
    await settle();
    expect(asked(silent, 'chain.tip.get')).toHaveLength(1);
    expect(asked(silent, 'blocks.get')).toHaveLength(1);
  });
});

describe('catching up from a peer that says it has more than it gives', () => {
  it('makes the node wait once, is asked less and less, and is believed again when it gives', async () => {
    const braggart = await peer('braggart', 6);
    const empty = (reply: Reply): Reply =>
      reply.type === 'blocks'
        ? { type: 'blocks', body: { from: 0, count: 0 } }
        : { type: 'chain.tip', body: { next: 1_000_000, hash: null } };
    braggart.node.tamper = empty;
    connect(away.node, braggart.node, clock);
    await away.service.start();
    await settle();
    for (let i = 0; i < 200; i++) {
      expect(away.service.catchingUp).toBeUndefined();
      clock.advance(CATCH_UP.retryMs);
      await settle();
    }
    expect(asked(braggart, 'blocks.get').length).toBeLessThan(20);
    braggart.node.tamper = (reply) => reply;
    clock.advance(600_000);
    await settle();
    clock.advance(CATCH_UP.retryMs);
    await away.until(6);
    await away.service.stop();
  });

  it('does not make the node wait while it is silent again', async () => {
    const silent = await peer('silent', 6);
    silent.node.tamper = (reply, question) => (question === 'chain.tip.get' ? reply : undefined);
    connect(away.node, silent.node, clock);
    await away.service.start();
    await settle();
    expect(away.service.catchingUp).toEqual({ height: 0, target: 6 });
    clock.advance(CATCH_UP.requestTimeoutMs);
    await settle();
    clock.advance(CATCH_UP.retryMs);
    await settle();
    expect(asked(silent, 'blocks.get')).toHaveLength(2);
    expect(away.service.catchingUp).toBeUndefined();
    await away.service.stop();
  });
});

describe('the end of catching up', () => {
  it('is told to other storage nodes once, not block by block', async () => {
    const full = await peer('full', 8);
    const listener = await createStorageNode('listener', clock);
    await away.service.start();
    connect(away.node, listener.node, clock);
    connect(away.node, full.node, clock);
    await away.until(8);
    await settle();
    expect(asked(listener, 'chain.tip').map(({ body }) => body)).toEqual([{ next: 8, hash: chain.hash(7) }]);
    await away.service.stop();
  });
});
