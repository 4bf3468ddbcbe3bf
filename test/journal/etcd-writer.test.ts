/** The writing end of the journal in etcd, on an etcd that answers when the test lets it. */

import { expect, it } from 'vitest';
import { MAX_VALUE_BYTES, namesBelow } from '../../src/journal/etcd/entries.js';
import { EtcdWriter } from '../../src/journal/etcd/etcd-writer.js';
import { systemClock } from '../../src/lib/clock.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { silentLogger } from '../../src/lib/logger.js';
import { noMetrics } from '../../src/observability/metrics.js';

it('writes the group under way when it is closed, and sends none of those behind it', async () => {
  const [asked, gate] = [createDeferred<void>(), createDeferred<void>()];
  let calls = 0;
  const call = async () => {
    calls++;
    asked.resolve();
    await gate.promise;
    return { succeeded: true, header: { revision: 1n } };
  };
  const modules = { client: { call } as never, names: namesBelow('p/'), metrics: noMetrics };
  const writer = new EtcdWriter(
    { process: 'one', timeout: 3_600_000, committed: () => undefined },
    { ...modules, clock: systemClock, logger: silentLogger },
  );
  const payload = Buffer.alloc(MAX_VALUE_BYTES / 2);
  const appended = [1, 2, 3, 4].map(() => writer.append(payload).durable);
  const outcomes = Promise.allSettled(appended);
  await asked.promise;
  const closing = writer.close();
  gate.resolve();
  await closing;
  const refused = { status: 'rejected', reason: { code: 'shutting_down' } };
  expect(await outcomes).toMatchObject([{ status: 'fulfilled' }, refused, refused, refused]);
  expect(calls).toBe(1);
});
