/**
 * A node whose clock differs from those of the others makes no block: the time that it would write would be in every block until it has
 * come.
 */

import { beforeEach, describe, expect, it } from 'vitest';
import { transactionHash } from '../../src/chain/hash.js';
import type { FullBlock } from '../../src/chain/types.js';
import type { Clock } from '../../src/lib/clock.js';
import { createDeferred, type Deferred } from '../../src/lib/deferred.js';
import { silentLogger } from '../../src/lib/logger.js';
import { PeerClocks } from '../../src/mempool/blocks/peer-clocks.js';
import { MetricsRegistry } from '../../src/observability/metrics.js';
import type { PeerNetwork } from '../../src/peers/network.js';
import { journalWith, openJournal } from '../support/journal.js';
import { LeaseSwitch } from '../support/lease-switch.js';
import { settle } from '../support/manual-clock.js';
import { MemoryKv } from '../support/memory-kv.js';
import { metricValue } from '../support/metric-value.js';
import { type Bed, createBed, SECRET } from '../support/peers.js';
import { addMiner, addStorage, alice, bob, newFolder, send, setUp, stored } from './running.js';

const HOUR_MS = 3_600_000;
const DAY_AND_AN_HOUR_MS = 25 * HOUR_MS;

let bed: Bed;
let network: PeerNetwork;
/** Milliseconds that the clock of the node itself is ahead. */
let own = 0;
let clocks: PeerClocks;
let registry: MetricsRegistry;

/** Another node, whose clock is so far ahead; what it says can be held back. */
class Other {
  ahead: number;
  /** What an earlier version does not do. */
  tells = true;
  asked = 0;
  held: Deferred<void> | undefined;

  constructor(ahead: number) {
    this.ahead = ahead;
  }

  async link(name: string, role: 'mempool' | 'storage'): Promise<this> {
    const node = bed.node(name, { role, secret: SECRET });
    node.handle('chain.tip.get', async () => {
      this.asked++;
      const time = { time: bed.clock.now() + this.ahead };
      await this.held?.promise;
      return { type: 'chain.tip', body: { next: 0, hash: null, ...(this.tells && time) } };
    });
    await node.start();
    await node.dial(network.address, { timeoutMs: 5_000 });
    await settle();
    return this;
  }
}

beforeEach(async () => {
  own = 0;
  bed = createBed('memory');
  network = await bed.start('node', { role: 'mempool', secret: SECRET });
  registry = new MetricsRegistry('mempool');
  const clock: Clock = { ...bed.clock, now: () => bed.clock.now() + own };
  clocks = new PeerClocks(5_000, { network, clock, logger: silentLogger, metrics: registry });
  clocks.start();
  return async () => {
    clocks.stop();
    await bed.stop();
  };
});

describe('the clock of a mempool node', () => {
  it('is not gone by when it is ahead of that of the only other node', async () => {
    own = DAY_AND_AN_HOUR_MS;
    await new Other(0).link('storage', 'storage');
    expect(clocks.problem).toMatch(/^the clock of this node is 90000 s ahead of those of other nodes/);
    expect(clocks.mayCut()).toBe(false);
    expect(await metricValue(registry, 'tessera_mempool_clock_skew_seconds')).toBe(90_000);
  });

  it('is not gone by when it is behind', async () => {
    own = -6_000;
    await new Other(0).link('storage', 'storage');
    expect(clocks.problem).toMatch(/is 6 s behind those of other nodes/);
    expect(await metricValue(registry, 'tessera_mempool_clock_skew_seconds')).toBe(-6);
  });

  it('may differ by what the option allows', async () => {
    own = 5_000;
    await new Other(0).link('storage', 'storage');
    expect([clocks.problem, clocks.mayCut()]).toEqual([null, true]);
  });

  it('is not held against the time of a node that says none, as those of earlier versions', async () => {
    own = DAY_AND_AN_HOUR_MS;
    const older = new Other(0);
    older.tells = false;
    await older.link('storage', 'storage');
    expect(older.asked).toBe(1);
    expect([clocks.problem, clocks.mayCut()]).toEqual([null, true]);
  });

  it('is right where one of several others is wrong, whichever way', async () => {
    await new Other(0).link('storage', 'storage');
    await new Other(0).link('second', 'mempool');
    const wrong = await new Other(DAY_AND_AN_HOUR_MS).link('third', 'mempool');
    expect([clocks.problem, clocks.mayCut()]).toEqual([null, true]);
    wrong.ahead = -DAY_AND_AN_HOUR_MS;
    await bed.clock.advance(5_000);
    expect([clocks.problem, clocks.mayCut()]).toEqual([null, true]);
  });

  it('is right where two others disagree about it', async () => {
    await new Other(0).link('storage', 'storage');
    await new Other(DAY_AND_AN_HOUR_MS).link('second', 'mempool');
    expect(clocks.problem).toBeNull();
    own = DAY_AND_AN_HOUR_MS;
    expect(clocks.problem).not.toBeNull();
  });

  it('is not gone by when no storage node would take the block, however many others agree with it', async () => {
    own = DAY_AND_AN_HOUR_MS;
    await new Other(own).link('second', 'mempool');
    await new Other(own).link('third', 'mempool');
    const storage = await new Other(0).link('storage', 'storage');
    expect(clocks.problem).toMatch(/90000 s ahead/);
    storage.ahead = own - 119_000;
    await bed.clock.advance(5_000);
    expect(clocks.problem).toBeNull();
  });

  it('is judged by no more than a slow answer proves', async () => {
    own = -8_000;
    const slow = new Other(0);
    slow.held = createDeferred<void>();
    await slow.link('storage', 'storage');
    await bed.clock.advance(4_000);
    slow.held.resolve();
    await settle();
    // The answer may have been made at the end of these 4 seconds: so much less is it behind.
    expect(await metricValue(registry, 'tessera_mempool_clock_skew_seconds')).toBe(-4);
    expect(clocks.problem).toBeNull();
  });

  it('is not gone by before the nodes that are linked have answered once', async () => {
    const slow = new Other(0);
    slow.held = createDeferred<void>();
    await slow.link('storage', 'storage');
    expect(clocks.mayCut()).toBe(false);
    let changes = 0;
    clocks.changed.on(() => changes++);
    slow.held.resolve();
    await settle();
    expect([clocks.mayCut(), changes]).toEqual([true, 1]);
  });

  it('is known to have been set at once, and asks the others again before it is gone by', async () => {
    const other = await new Other(0).link('storage', 'storage');
    expect(clocks.mayCut()).toBe(true);
    own = HOUR_MS;
    expect(clocks.mayCut()).toBe(false);
    await settle();
    expect([clocks.mayCut(), other.asked]).toEqual([false, 2]);
    // All clocks were set, as that of a network in one process.
    other.ahead = HOUR_MS;
    const changed = createDeferred<void>();
    clocks.changed.on(changed.resolve);
    expect(clocks.mayCut()).toBe(false);
    await changed.promise;
    expect(clocks.mayCut()).toBe(true);
  });

  it('is gone by again when it is mended, or the node that differs is gone', async () => {
    own = HOUR_MS;
    const node = bed.node('storage', { role: 'storage', secret: SECRET });
    node.handle('chain.tip.get', () => ({ type: 'chain.tip', body: { next: 0, hash: null, time: bed.clock.now() } }));
    await node.start();
    await node.dial(network.address, { timeoutMs: 5_000 });
    await settle();
    expect(clocks.problem).not.toBeNull();
    own = 0;
    expect(clocks.problem).toBeNull();
    own = HOUR_MS;
    await node.stop();
    await settle();
    expect(clocks.problem).toBeNull();
  });

  it('is asked of nobody who has not the secret, and of no wallet', async () => {
    own = DAY_AND_AN_HOUR_MS;
    const miner = await bed.start('miner', { role: 'miner' });
    await miner.dial(network.address, { timeoutMs: 5_000 });
    await settle();
    expect([clocks.problem, clocks.mayCut()]).toEqual([null, true]);
  });
});

describe('a mempool node whose clock is 25 hours ahead', () => {
  it('makes no block when it is alone, says so, and goes on when the clock is set', async () => {
    const at = createBed('memory');
    let ahead = 0;
    const clock: Clock = { ...at.clock, now: () => at.clock.now() + ahead };
    const { mempool, blocks } = await setUp({ folder: await newFolder(), bed: at, clock });
    await stored(mempool, 0);
    ahead = DAY_AND_AN_HOUR_MS;
    await mempool.submit([send(alice, 0, bob)]);
    await at.clock.advance(60_000);
    expect(blocks).toHaveLength(1);
    expect(mempool.figures().clockOff).toMatch(/90000 s ahead/);
    ahead = 0;
    await at.clock.advance(5_000);
    await stored(mempool, 1);
    expect(Number(blocks[1]?.block.header.timestamp) * 1_000).toBeLessThanOrEqual(at.clock.now());
    expect(mempool.figures().clockOff).toBeNull();
  });

  it('forgets no status by it: a transaction that is in a block is still answered as admitted', async () => {
    const at = createBed('memory');
    let ahead = 0;
    const clock: Clock = { ...at.clock, now: () => at.clock.now() + ahead };
    const { mempool } = await setUp({ folder: await newFolder(), bed: at, clock });
    await stored(mempool, 0);
    const tx = send(alice, 0, bob);
    await mempool.submit([tx]);
    await stored(mempool, 1);
    ahead = DAY_AND_AN_HOUR_MS;
    const hash = transactionHash(tx);
    // It would look once an hour.
    for (let hours = 0; hours < 6; hours++) {
      await at.clock.advance(HOUR_MS);
      expect((await mempool.statuses([hash])).get(hash)).toMatchObject({ status: 'Confirmed' });
    }
    expect(await mempool.submit([tx])).toHaveLength(1);
  });

  it('gives up the lead at each look, and the blocks of the next leader do not have its time', async () => {
    const at = createBed('memory');
    let ahead = 0;
    const clock: Clock = { ...at.clock, now: () => at.clock.now() + ahead };
    const journal = journalWith(await openJournal(new MemoryKv()), { isShared: true });
    const [first, second] = [new LeaseSwitch(), new LeaseSwitch()];
    const shared = { bed: at, wrapJournal: () => journal, miners: [], storage: false };
    const one = await setUp({ ...shared, folder: await newFolder(), name: 'one', leadership: first, clock });
    const two = await setUp({ ...shared, folder: await newFolder(), name: 'two', leadership: second });
    const blocks: FullBlock[] = [];
    const storage = await addStorage(at, one.network, blocks);
    await storage.dial(two.network.address, { timeoutMs: 5_000 });
    for (const { network: of } of [one, two]) await addMiner(at, of, 'm1');
    first.set(true);
    await Promise.all([stored(one.mempool, 0), stored(two.mempool, 0)]);
    ahead = DAY_AND_AN_HOUR_MS;
    await two.mempool.submit([send(alice, 0, bob)]);
    await at.clock.advance(3_000);
    expect(blocks).toHaveLength(1);
    expect(first.resignations).toBe(3);
    first.set(false);
    second.set(true);
    await Promise.all([stored(one.mempool, 1), stored(two.mempool, 1)]);
    expect(Number(blocks.at(-1)?.block.header.timestamp) * 1_000).toBeLessThanOrEqual(at.clock.now());
    expect(second.resignations).toBe(0);
    // It leaves the lease to others as long as its clock is off, also when it leads nobody.
    await at.clock.advance(2_000);
    expect(first.resignations).toBeGreaterThanOrEqual(5);
  });
});
