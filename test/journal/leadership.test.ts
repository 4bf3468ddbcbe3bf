/** Who makes the blocks of a journal that several nodes share: the time of the leader, by a clock that stands still. */

import { describe, expect, it } from 'vitest';
import { EtcdError } from '../../src/journal/etcd/etcd-client.js';
import { type LeaderLease, LeaseLeadership } from '../../src/journal/etcd/lease-leadership.js';
import { soleLeader } from '../../src/journal/journal.js';
import { createDeferred, type Deferred } from '../../src/lib/deferred.js';
import { silentLogger } from '../../src/lib/logger.js';
import { SignalSource } from '../../src/lib/signal.js';
import { SettlingClock } from '../support/manual-clock.js';

const LEASE_MS = 5_000;

/** etcd's side: one key, whose lease ends by the same clock. */
class Key {
  holder: string | undefined;
  expires = 0;
  readonly clock: SettlingClock;

  constructor(clock: SettlingClock) {
    this.clock = clock;
  }

  /** Who has it now. */
  get current(): string | undefined {
    return this.clock.monotonic() < this.expires ? this.holder : undefined;
  }
}

class ScriptedLease implements LeaderLease {
  readonly changed = new SignalSource<void>();
  isReachable = true;
  /** Requests arrive and their answers do not. */
  losesAnswers = false;
  /** Answers are held back until it is settled. */
  answers: Deferred<void> | undefined;
  /** Milliseconds until an answer comes. */
  delay = 0;
  readonly name: string;
  readonly key: Key;

  constructor(name: string, key: Key) {
    this.name = name;
    this.key = key;
  }

  async take(): Promise<number | undefined> {
    this.#reach();
    // It looks first, and takes only what it has been told is free.
    if (this.losesAnswers) return this.#answer(undefined);
    const taken = this.key.current === undefined ? this.#hold() : undefined;
    return this.#answer(taken);
  }

  async renew(): Promise<number | undefined> {
    this.#reach();
    const held = this.key.current === this.name ? this.#hold() : undefined;
    return this.#answer(held);
  }

  async giveBack(): Promise<void> {
    this.#reach();
    if (this.key.current === this.name) this.key.holder = undefined;
    await this.#answer(undefined);
  }

  close(): void {}

  async #answer(ms: number | undefined): Promise<number | undefined> {
    if (this.losesAnswers) throw new EtcdError(4, 'no answer', undefined);
    await this.answers?.promise;
    if (this.delay > 0) await new Promise<void>((resolve) => this.key.clock.after(this.delay, resolve));
    return ms;
  }

  #hold(): number {
    this.key.holder = this.name;
    this.key.expires = this.key.clock.monotonic() + LEASE_MS;
    return LEASE_MS;
  }

  #reach(): void {
    if (!this.isReachable) throw new EtcdError(14, 'no answer', undefined);
  }
}

async function replicas(count: number) {
  const clock = new SettlingClock();
  const key = new Key(clock);
  const all = Array.from({ length: count }, (_, i) => {
    const lease = new ScriptedLease(`replica ${i}`, key);
    const node = new LeaseLeadership({ lease, clock, logger: silentLogger });
    const told: boolean[] = [];
    node.changed.on(() => told.push(node.leads));
    return { lease, node, told };
  });
  for (const { node } of all) await node.start();
  await clock.advance(0);
  const leaders = (): number[] => all.flatMap(({ node }, i) => (node.leads ? [i] : []));
  const stop = async (): Promise<void> => {
    for (const { node } of all) await node.stop();
  };
  return { clock, all, leaders, stop };
}

describe('the leader among the nodes of one journal', () => {
  it('is one, and stays as long as etcd hears of it', async () => {
    const { clock, all, leaders, stop } = await replicas(3);
    expect(leaders()).toEqual([0]);
    for (let i = 0; i < 100; i++) {
      await clock.advance(700);
      expect(leaders()).toEqual([0]);
    }
    expect(all.map(({ told }) => told)).toEqual([[true], [], []]);
    await stop();
  });

  it('hands over at once when it stops', async () => {
    const { clock, all, leaders, stop } = await replicas(2);
    await all[0]?.node.stop();
    expect(leaders()).toEqual([]);
    await clock.advance(1_000);
    expect(leaders()).toEqual([1]);
    expect(all[0]?.told).toEqual([true, false]);
    await stop();
  });

  it('goes to the next at once when it is told that nobody has it', async () => {
    const { all, clock, leaders, stop } = await replicas(2);
    await all[0]?.node.stop();
    all[1]?.lease.changed.emit();
    await clock.advance(0);
    expect(leaders()).toEqual([1]);
    await stop();
  });

  it('stays the leader while each answer takes more than half of its time', async () => {
    const { clock, all, leaders, stop } = await replicas(2);
    for (const { lease } of all) lease.delay = 0.6 * LEASE_MS;
    await clock.advance(1_000);
    for (let ms = 0; ms < 10 * LEASE_MS; ms += 100) {
      await clock.advance(100);
      expect(leaders()).toEqual([0]);
    }
    for (const { lease } of all) lease.delay = 0;
    await clock.advance(LEASE_MS);
    await stop();
  });

  it('is had by a node whose answers take more than half of its time', async () => {
    const { clock, all, leaders, stop } = await replicas(2);
    for (const { lease } of all) lease.delay = 0.6 * LEASE_MS;
    if (all[0] !== undefined) all[0].lease.isReachable = false;
    await clock.advance(6 * LEASE_MS);
    for (let ms = 0; ms < 10 * LEASE_MS; ms += 100) {
      await clock.advance(100);
      expect(leaders()).toEqual([1]);
    }
    for (const { lease } of all) [lease.delay, lease.isReachable] = [0, true];
    await clock.advance(LEASE_MS);
    await stop();
  });

  it('has stopped before another begins when no answer reaches it, and says so without being asked', async () => {
    const { clock, all, leaders, stop } = await replicas(2);
    const [first] = all;
    if (first === undefined) throw new Error('no replica');
    first.lease.isReachable = false;
    let gap = 0;
    for (; leaders()[0] === 0 && gap < 3 * LEASE_MS; gap += 10) await clock.advance(10);
    expect(leaders()).toEqual([]);
    expect(first.told).toEqual([true, false]);
    for (; leaders().length === 0 && gap < 3 * LEASE_MS; gap += 10) await clock.advance(10);
    expect(leaders()).toEqual([1]);
    expect(gap).toBeLessThanOrEqual(2 * LEASE_MS);
    first.lease.isReachable = true;
    await clock.advance(10 * LEASE_MS);
    expect(leaders()).toEqual([1]);
    await stop();
  });

  it('counts its time from before it asked: an answer that comes late gives no more than what is left', async () => {
    const { clock, all, leaders, stop } = await replicas(2);
    const [first] = all;
    if (first === undefined) throw new Error('no replica');
    const late = createDeferred<void>();
    first.lease.answers = late;
    await clock.advance(1_000);
    // etcd has renewed the lease; the answer comes when it has ended.
    await clock.advance(2 * LEASE_MS);
    expect(leaders()).toEqual([1]);
    first.lease.answers = undefined;
    late.resolve();
    await clock.advance(0);
    expect(leaders()).toEqual([1]);
    await stop();
  });

  it('gives back a lease that it renews without hearing of it, in twice its time at most', async () => {
    const { clock, all, leaders, stop } = await replicas(2);
    const [first] = all;
    if (first === undefined) throw new Error('no replica');
    first.lease.losesAnswers = true;
    let gap = 0;
    for (; leaders()[0] !== 1 && gap < 3 * LEASE_MS; gap += 10) await clock.advance(10);
    expect(leaders()).toEqual([1]);
    expect(gap).toBeLessThanOrEqual(2 * LEASE_MS);
    await stop();
  });

  it('resigns, so that another leads at once, and takes the lease again when nobody wants it', async () => {
    const { clock, all, leaders, stop } = await replicas(2);
    all[0]?.node.resign();
    await clock.advance(0);
    expect(leaders()).toEqual([]);
    await clock.advance(1_000);
    expect(leaders()).toEqual([1]);
    await all[1]?.node.stop();
    await clock.advance(9_000);
    expect(leaders()).toEqual([0]);
    await stop();
  });

  it('leads again after a short silence of etcd, in which nobody did', async () => {
    const { clock, all, leaders, stop } = await replicas(1);
    const [first] = all;
    if (first === undefined) throw new Error('no replica');
    first.lease.isReachable = false;
    await clock.advance(3 * LEASE_MS);
    expect(leaders()).toEqual([]);
    first.lease.isReachable = true;
    await clock.advance(2_000);
    expect(leaders()).toEqual([0]);
    expect(first.told).toEqual([true, false, true]);
    await stop();
  });

  it('ends with an error that is not one of etcd', async () => {
    const clock = new SettlingClock();
    const lease = new ScriptedLease('only', new Key(clock));
    lease.take = () => Promise.reject(new TypeError('wrong'));
    const node = new LeaseLeadership({ lease, clock, logger: silentLogger });
    await node.start();
    await expect(node.failed).rejects.toThrow('wrong');
    await node.stop();
  });

  it('is the only node of a journal of its own', () => {
    expect(soleLeader.leads).toBe(true);
  });
});
