/** Who makes the blocks, on a real etcd. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EtcdLease } from '../../src/journal/etcd/etcd-lease.js';
import { LeaseLeadership } from '../../src/journal/etcd/lease-leadership.js';
import { toHex } from '../../src/lib/bytes.js';
import { systemClock } from '../../src/lib/clock.js';
import { silentLogger } from '../../src/lib/logger.js';
import { systemRandom } from '../../src/lib/random.js';
import { type Etcd, hasEtcd, startEtcd } from '../support/etcd.js';
import { LosingProxy } from '../support/losing-proxy.js';

/** What no test waits for the end of: longer than any of them takes. */
const LONG = { seconds: 600, callTimeout: 60_000 };
const SHORT = { seconds: 2, callTimeout: 500 };
const PATIENCE = { timeout: 60_000 };

let etcd: Etcd;
const leases: EtcdLease[] = [];
const name = (): string => toHex(systemRandom.bytes(8));

function lease(key: string, replica: string, { seconds, callTimeout } = LONG, endpoint = etcd.endpoint): EtcdLease {
  const made = new EtcdLease({ etcd: { endpoints: [endpoint], callTimeout }, key, replica, seconds });
  leases.push(made);
  return made;
}

async function follow(key: string, replica: string, endpoint?: string): Promise<LeaseLeadership> {
  const modules = { lease: lease(key, replica, SHORT, endpoint), clock: systemClock, logger: silentLogger };
  const leadership = new LeaseLeadership(modules);
  await leadership.start();
  return leadership;
}

/** Calls of a method that etcd has had. */
async function calls(method: string): Promise<number> {
  const text = await (await fetch(`${etcd.endpoint}/metrics`)).text();
  return Number(new RegExp(`^grpc_server_started_total{grpc_method="${method}".* (\\d+)$`, 'm').exec(text)?.[1]);
}

describe.runIf(hasEtcd)('the lease of the leader in etcd', () => {
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(async () => {
    for (const made of leases) made.close();
    await etcd.dispose();
  });

  it('is had by one, renewed by that one, and free for the next when it is given back', async () => {
    const key = name();
    const [one, two] = [lease(key, 'one'), lease(key, 'two')];
    expect(await one.take()).toBeGreaterThanOrEqual(LONG.seconds * 1_000);
    expect(await two.take()).toBeUndefined();
    expect(await two.renew()).toBeUndefined();
    expect(await one.renew()).toBeGreaterThanOrEqual(LONG.seconds * 1_000);
    await one.giveBack();
    expect(await one.renew()).toBeUndefined();
    await expect.poll(() => two.take(), PATIENCE).toBeDefined();
    await two.giveBack();
  });

  it('goes to one of many that take it at once', async () => {
    const key = name();
    const taken = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((replica) => lease(key, replica).take()));
    expect(taken.filter((ms) => ms !== undefined)).toHaveLength(1);
  });

  it('is taken over at once by the node that had it before it was killed; the process before has lost it', async () => {
    const key = name();
    const [before, after] = [lease(key, 'one'), lease(key, 'one')];
    expect(await before.take()).toBeDefined();
    expect(await after.take()).toBeDefined();
    await expect.poll(() => before.renew(), PATIENCE).toBeUndefined();
    expect(await after.renew()).toBeDefined();
    await after.giveBack();
  });

  it('ends by itself when its holder is silent, and the holder has stopped by then', async () => {
    const key = name();
    const proxy = await LosingProxy.start(etcd.endpoint);
    const one = await follow(key, 'one', proxy.endpoint);
    await expect.poll(() => one.leads, PATIENCE).toBe(true);
    const two = await follow(key, 'two');
    let together = false;
    two.changed.on(() => {
      together ||= one.leads && two.leads;
    });
    proxy.loseAnswers = true;
    await expect.poll(() => two.leads, PATIENCE).toBe(true);
    expect(one.leads).toBe(false);
    expect(together).toBe(false);
    await two.stop();
    await one.stop();
    await proxy.close();
  });

  it('is watched: who has it renews it, who waits for it asks nothing, and has it when it is given back', async () => {
    const key = name();
    const one = await follow(key, 'one');
    await expect.poll(() => one.leads, PATIENCE).toBe(true);
    const two = await follow(key, 'two');
    await expect.poll(() => calls('Range'), PATIENCE).toBeGreaterThanOrEqual(2);
    const [ranges, renewals] = [await calls('Range'), await calls('LeaseKeepAlive')];
    await expect.poll(() => calls('LeaseKeepAlive'), PATIENCE).toBeGreaterThan(renewals + 5);
    expect(await calls('Range')).toBe(ranges);
    await one.stop();
    await expect.poll(() => two.leads, PATIENCE).toBe(true);
    expect(await calls('Range')).toBe(ranges);
    await two.stop();
  });

  it('is held over a restart of etcd', async () => {
    const leadership = await follow(name(), 'one');
    await expect.poll(() => leadership.leads, PATIENCE).toBe(true);
    await etcd.kill();
    await expect.poll(() => leadership.leads, PATIENCE).toBe(false);
    await etcd.start();
    await expect.poll(() => leadership.leads, PATIENCE).toBe(true);
    await leadership.stop();
  });
});
