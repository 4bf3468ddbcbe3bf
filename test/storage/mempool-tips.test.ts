/** An archive that holds less than was confirmed, restored from an older copy for example, says so at the first link. */

import { beforeEach, describe, expect, it } from 'vitest';
import { endlessRoom } from '../../src/db/disk-room.js';
import { TesseraError } from '../../src/lib/errors.js';
import { silentLogger } from '../../src/lib/logger.js';
import { SignalSource } from '../../src/lib/signal.js';
import { encodeFullBlock } from '../support/full-block.js';
import { ManualClock } from '../support/manual-clock.js';
import { connect, createFakeNode, type FakeNode } from '../support/storage/fake-network.js';
import { createStorageNode, type StorageNode, settle } from '../support/storage/storage-node.js';
import { createTestChain, type TestChain } from '../support/storage/test-chain.js';

let clock: ManualClock;
let chain: TestChain;
let storage: StorageNode;
beforeEach(async () => {
  clock = new ManualClock();
  chain = createTestChain().grow(6);
  storage = await createStorageNode('storage', clock);
  await storage.fill(chain, 4);
  await storage.service.start();
});

/** A mempool node that knows so many blocks to be stored. */
function mempool(next: number, hash: string | null = chain.hash(next - 1)): FakeNode {
  const node = createFakeNode('mempool', 'mempool');
  node.network.handle('chain.tip.get', () => ({ type: 'chain.tip', body: { next, hash } }));
  return node;
}

/** What is wrong now, and after each of some questions again. */
async function problems(): Promise<(string | null)[]> {
  const seen: (string | null)[] = [];
  for (let i = 0; i < 5; i++) {
    seen.push(storage.service.problem);
    clock.advance(2_000);
    await settle();
  }
  return seen;
}

describe('what the mempool node knows to be stored', () => {
  it('is no problem when it is here', async () => {
    connect(storage.node, mempool(4), clock);
    await settle();
    expect(storage.service.problem).toBeNull();
  });

  it('is less than what is stored when the mempool node was put back from an older copy, until it has fetched the rest', async () => {
    let next = 2;
    const older = createFakeNode('mempool', 'mempool');
    older.network.handle('chain.tip.get', () => ({ type: 'chain.tip', body: { next, hash: chain.hash(next - 1) } }));
    connect(storage.node, older, clock);
    await settle();
    expect(storage.service.problem).toContain('the mempool node is at block 1 and this archive at block 3');
    next = 4;
    clock.advance(2_000);
    await settle();
    expect(storage.service.problem).toBeNull();
  });

  it('is missed at once, by its numbers, and fetched from a storage node that has it', async () => {
    connect(storage.node, mempool(6), clock);
    await settle();
    expect(storage.service.problem).toContain('blocks 4 to 5 are missing here');
    const other = await createStorageNode('other', clock);
    await other.fill(chain, 6);
    connect(storage.node, other.node, clock);
    await storage.until(6);
    expect(storage.service.problem).toBeNull();
  });

  it('is said when it is missed, and again after a minute, whatever the numbers are by then', async () => {
    const lines: string[] = [];
    const warn = (_fields: object, text: string): void => void lines.push(text);
    storage = await createStorageNode('storage', clock, undefined, { ...silentLogger, warn });
    await storage.fill(chain, 4);
    await storage.service.start();
    connect(storage.node, mempool(6), clock);
    await settle();
    const said = (): string[] => lines.filter((text) => text.includes('missing here'));
    expect(said()).toHaveLength(1);
    await storage.fill(chain, 5);
    for (let seconds = 2; seconds < 60; seconds += 2) {
      clock.advance(2_000);
      await settle();
    }
    expect(said()).toHaveLength(1);
    clock.advance(2_000);
    await settle();
    expect(said()).toEqual([expect.stringContaining('blocks 4 to 5 are'), expect.stringContaining('block 5 is')]);
  });

  it('is compared later when the archive cannot be read just then (rule P7)', async () => {
    const { archive } = storage;
    const read = archive.hashAt.bind(archive);
    let isBroken = true;
    archive.hashAt = async (height) => {
      if (isBroken) throw new TesseraError('database_failed', 'the disk does not answer');
      return read(height);
    };
    const node = mempool(4, 'b0'.repeat(16));
    const { b } = connect(storage.node, node, clock);
    await settle();
    b.send('chain.tip', { next: 4, hash: 'b0'.repeat(16) });
    await settle();
    expect(storage.service.problem).toBeNull();
    isBroken = false;
    clock.advance(2_000);
    await settle();
    expect(storage.service.problem).toContain('the two are of different chains');
  });

  it('names two chains', async () => {
    connect(storage.node, mempool(4, 'b0'.repeat(16)), clock);
    await settle();
    expect(storage.service.problem).toContain('the two are of different chains');
  });

  it('is not asked of a mempool node without the secret', async () => {
    const stranger = mempool(6);
    connect(storage.node, stranger, clock, false);
    await settle();
    expect(stranger.received).toEqual([]);
    expect(storage.service.problem).toBeNull();
  });
});

describe('what several mempool nodes know to be stored', () => {
  it.each(['first', 'last'])('is no problem when one of them is behind, which answers %s', async (place) => {
    const nodes = [mempool(2), mempool(4)];
    for (const node of place === 'first' ? nodes : nodes.toReversed()) {
      connect(storage.node, node, clock);
      await settle();
    }
    expect(await problems()).toEqual([null, null, null, null, null]);
  });

  it('is no problem when one that is behind is of another chain', async () => {
    connect(storage.node, mempool(4), clock);
    connect(storage.node, mempool(2, 'b0'.repeat(16)), clock);
    await settle();
    expect(await problems()).toEqual([null, null, null, null, null]);
  });

  it('is missed here although another of them does not know it', async () => {
    connect(storage.node, mempool(6), clock);
    connect(storage.node, mempool(4), clock);
    await settle();
    const missing = expect.stringContaining('blocks 4 to 5 are missing here');
    expect(await problems()).toEqual([missing, missing, missing, missing, missing]);
  });

  it('is what is left when the one that knew most is gone', async () => {
    const { a: link } = connect(storage.node, mempool(4), clock);
    let next = 2;
    const late = createFakeNode('late', 'mempool');
    late.network.handle('chain.tip.get', () => ({ type: 'chain.tip', body: { next, hash: chain.hash(next - 1) } }));
    connect(storage.node, late, clock);
    await settle();
    expect(storage.service.problem).toBeNull();
    link.close('gone');
    expect(storage.service.problem).toContain('the mempool node is at block 1 and this archive at block 3');
    next = 4;
    clock.advance(2_000);
    await settle();
    expect(storage.service.problem).toBeNull();
  });

  it('has grown by what one of them delivers, and what the other then says changes nothing', async () => {
    const leader = mempool(4);
    const { b } = connect(storage.node, leader, clock);
    connect(storage.node, mempool(2), clock);
    await settle();
    const attachment = encodeFullBlock(chain.block(4));
    const answer = await b.request('block.deliver', { block_num: 4, hash: chain.hash(4) }, { attachment });
    expect(answer.type).toBe('block.stored');
    leader.network.handle('chain.tip.get', () => ({ type: 'chain.tip', body: { next: 5, hash: chain.hash(4) } }));
    expect(await problems()).toEqual([null, null, null, null, null]);
  });
});

describe('a disk that is full', () => {
  it('is told to the mempool nodes of the operator, by name and at once, and so is that it has room again', async () => {
    const room = {
      ...endlessRoom,
      problems: [] as string[],
      ranLow: new SignalSource<void>(),
      isBack: new SignalSource<void>(),
    };
    const full = await createStorageNode('full', clock, undefined, undefined, undefined, undefined, room);
    await full.fill(chain, 4);
    await full.service.start();
    const [own, other] = [mempool(4), createFakeNode('other storage', 'storage')];
    const { b: delivering } = connect(full.node, own, clock);
    const { b: asking } = connect(full.node, other, clock);
    await settle();
    const told = (node: FakeNode) => node.received.filter(({ type }) => type === 'chain.tip').map(({ body }) => body);
    const tip = { next: 4, hash: chain.hash(3) };
    const news = async (node: FakeNode) => {
      await settle();
      return told(node).at(-1);
    };
    room.problems = ['the disk of /data has 0 MiB left'];
    room.ranLow.emit();
    expect(await news(own)).toEqual({ ...tip, problem: 'the disk of /data has 0 MiB left' });
    room.problems = [];
    room.isBack.emit();
    expect(await news(own)).toEqual(tip);
    // A disk that is full in the middle of a write is known by the block that it did not take.
    full.hooks.beforeWrite = async () => {
      room.problems = ['the database archive cannot be written'];
      throw new TesseraError('database_failed', 'no space left');
    };
    const block = chain.block(4);
    const body = { block_num: 4, hash: chain.hash(4) };
    await delivering.request('block.deliver', body, { attachment: encodeFullBlock(block) });
    expect(await news(own)).toEqual({ ...tip, problem: 'the database archive cannot be written' });
    expect((await delivering.request('chain.tip.get', {})).body).toMatchObject({ problem: expect.any(String) });
    expect((await asking.request('chain.tip.get', {})).body).not.toHaveProperty('problem');
    expect(JSON.stringify(told(other))).not.toContain('problem');
  });
});
