/** What a journal shows while etcd cannot do its work, and that it goes on by itself (docs/high-availability.md#what-happens-when). */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EtcdJournal } from '../../src/journal/etcd/etcd-journal.js';
import type { JournalEntry } from '../../src/journal/journal.js';
import { systemClock } from '../../src/lib/clock.js';
import { silentLogger } from '../../src/lib/logger.js';
import { MetricsRegistry } from '../../src/observability/metrics.js';
import { type Etcd, hasEtcd, post, startEtcd } from '../support/etcd.js';
import { metricValue } from '../support/metric-value.js';

/** Bytes of a value, and of the database of the etcd that is full soon. */
const ENTRY = 100_000;
const QUOTA = 2 * 1024 * 1024;
const WITHIN = { timeout: 60_000 };

let etcd: Etcd;
let journal: EtcdJournal;
let metrics: MetricsRegistry;

async function open(...options: string[]): Promise<void> {
  etcd = await startEtcd(options);
  journal = new EtcdJournal(
    {
      etcd: { endpoints: [etcd.endpoint], callTimeout: 2_000 },
      prefix: 'trouble/',
      replica: 'one',
      process: 'only',
      timeout: 60_000,
    },
    { clock: systemClock, metrics, logger: silentLogger },
  );
  await journal.start();
}

describe.runIf(hasEtcd)('a journal in etcd', () => {
  beforeEach(() => {
    metrics = new MetricsRegistry('mempool');
  });
  afterEach(async () => {
    await journal.close();
    await etcd.dispose();
  });

  it('shows how long an entry has waited while nothing comes back, and the whole time afterwards', async () => {
    await open();
    await etcd.kill();
    const { durable } = journal.append(Buffer.from('entry'));
    const waiting = () => metricValue(metrics, 'tessera_journal_waiting_seconds');
    await expect.poll(waiting, WITHIN).toBeGreaterThan(0.2);
    await expect.poll(() => metricValue(metrics, 'tessera_journal_reachable'), WITHIN).toBe(0);
    await etcd.start();
    await durable;
    expect(await waiting()).toBe(0);
    expect(await metricValue(metrics, 'tessera_journal_append_duration_seconds_sum')).toBeGreaterThan(0.2);
    expect(await metricValue(metrics, 'tessera_journal_append_duration_seconds_count')).toBe(1);
    await expect.poll(() => metricValue(metrics, 'tessera_journal_reachable'), WITHIN).toBe(1);
  });

  it('says that etcd has no room left, is read all the same, and goes on when there is some', async () => {
    await open('--quota-backend-bytes', String(QUOTA));
    // What is written over again and again stays in the history.
    const value = Buffer.alloc(ENTRY).toString('base64');
    const put = () => post(`${etcd.endpoint}/v3/kv/put`, { key: Buffer.from('other').toString('base64'), value });
    const isFull = () =>
      put().then(
        () => false,
        ({ message }: Error) => /space exceeded/.test(message),
      );
    while (!(await isFull()));
    const { durable } = journal.append(Buffer.from('entry'));
    await expect.poll(() => journal.problem, WITHIN).toMatch(/database space exceeded/);
    const read = (await post(`${etcd.endpoint}/v3/kv/range`, { key: 'AA==' })) as { readonly header: object };
    expect(read.header).toBeDefined();

    await etcd.compactHistory();
    await post(`${etcd.endpoint}/v3/maintenance/defragment`, {});
    const { alarms } = (await post(`${etcd.endpoint}/v3/maintenance/alarm`, { action: 'GET' })) as {
      readonly alarms: readonly { readonly memberID: string; readonly alarm: string }[];
    };
    for (const alarm of alarms) await post(`${etcd.endpoint}/v3/maintenance/alarm`, { action: 'DEACTIVATE', ...alarm });

    const seq = await durable;
    await expect.poll(() => journal.problem, WITHIN).toBeNull();
    const got: JournalEntry[] = [];
    const subscription = journal.subscribe(
      seq,
      async (entries) => void got.push(...entries),
      () => undefined,
    );
    await expect.poll(() => got.map((entry) => entry.seq), WITHIN).toEqual([seq]);
    await subscription.stop();
  });
});
