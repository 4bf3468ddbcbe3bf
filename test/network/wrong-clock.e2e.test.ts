/**
 * Two mempool nodes at one journal, of which the one that leads has its clock set 25 hours ahead (docs/high-availability.md): the other
 * one makes the blocks, and no block has that time.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { type Etcd, hasEtcd, journalIn, startEtcd } from '../support/etcd.js';
import { FaultyClock } from '../support/faulty-clock/faulty-clock.js';
import { canPreload } from '../support/preload-library.js';
import {
  besides,
  call,
  createNetwork,
  type Network,
  type NodeProcess,
  type Nodes,
  until,
  whenReady,
} from '../support/processes.js';

const RECEIVER = devAccounts().accounts[9]?.address ?? '';
const HOUR_MS = 3_600_000;

describe.runIf(hasEtcd && canPreload)('a mempool node whose clock is 25 hours ahead', () => {
  let etcd: Etcd;
  let clock: FaultyClock;
  let network: Network;
  let nodes: Nodes;
  let second: NodeProcess;

  beforeAll(async () => {
    etcd = await startEtcd();
    clock = await FaultyClock.create();
    network = await createNetwork({ environment: (name) => (name === 'mempool' ? clock.environment() : {}) });
    const sets = journalIn(etcd);
    nodes = await network.addAll(
      { 'peers.reconnect_max_ms': 200, 'metrics.enabled': true, 'metrics.port': 0 },
      { mempool: sets },
    );
    second = await network.add('second', 'mempool', { ...sets, ...besides(nodes) });
    await whenReady(second);
  });
  afterAll(async () => {
    await network.stopAll();
    await etcd.dispose();
    await clock.remove();
  });

  /** Unix seconds of the last block, and its number. */
  async function lastBlock(): Promise<{ readonly time: number; readonly height: number }> {
    const { block } = (await call(`${nodes.storage.apiUrl}/v1/blocks/latest`)) as {
      block: { block: { header: { timestamp: number; b_num: number } } };
    };
    const { timestamp, b_num } = block.block.header;
    return { time: Number(timestamp), height: Number(b_num) };
  }

  async function reasonsOf({ apiUrl }: NodeProcess): Promise<string> {
    const response = await fetch(`${apiUrl}/readyz`);
    return `${response.status} ${await response.text()}`;
  }

  async function pay(): Promise<void> {
    const { height } = await lastBlock();
    await call(`${nodes.user.apiUrl}/v1/payments`, {
      kind: 'address',
      address: RECEIVER,
      amount: 1_000,
      passphrase: '',
    });
    await until('the block of a payment', async () => ((await lastBlock()).height > height ? true : undefined));
  }

  it('makes no block, says so, and lets the other one make them', async () => {
    const { mempool } = nodes;
    await pay();
    await clock.set(25 * HOUR_MS);
    await pay();
    expect((await lastBlock()).time).toBeLessThan(Date.now() / 1_000 + 120);
    expect(await reasonsOf(mempool)).toMatch(/^503 .*the clock of this node is (89999|90000|90001) s ahead of/);
    expect(await reasonsOf(second)).toMatch(/^200 /);
    const metrics = await (await fetch(`${mempool.metricsUrl}/metrics`)).text();
    expect(Number(/^tessera_mempool_clock_skew_seconds (.*)$/m.exec(metrics)?.[1])).toBeGreaterThan(89_000);
  });

  it('is ready again when its clock is set', async () => {
    await clock.set(0);
    await whenReady(nodes.mempool);
    await pay();
    expect((await lastBlock()).time).toBeLessThan(Date.now() / 1_000 + 120);
  });
});
