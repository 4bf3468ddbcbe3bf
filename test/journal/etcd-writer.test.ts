/** The writing end of the journal in etcd, on an etcd that answers when the test lets it. */

import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { MAX_VALUE_BYTES, namesBelow } from '../../src/journal/etcd/entries.js';
import { EtcdError } from '../../src/journal/etcd/etcd-client.js';
import { EtcdWriter } from '../../src/journal/etcd/etcd-writer.js';
import { systemClock } from '../../src/lib/clock.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { silentLogger } from '../../src/lib/logger.js';
import { noMetrics } from '../../src/observability/metrics.js';

/** A writer on an etcd that answers the calls in order as told; the last of the answers again and again. */
function writerOn(...answers: readonly (() => Promise<unknown>)[]) {
  let calls = 0;
  const call = () => answers[Math.min(calls++, answers.length - 1)]?.();
  const history = { condition: () => [], check: async () => undefined };
  const modules = { client: { call } as never, names: namesBelow('p/'), history, metrics: noMetrics };
  const writer = new EtcdWriter(
    { process: 'one', timeout: 3_600_000, committed: () => undefined },
    { ...modules, clock: systemClock, logger: silentLogger },
  );
  return { writer, calls: () => calls };
}

const refused = (code: number) => () => Promise.reject(new EtcdError(code, `status ${code}`, undefined));

it('writes the group under way when it is closed, and sends none of those behind it', async () => {
  const [asked, gate] = [createDeferred<void>(), createDeferred<void>()];
  const { writer, calls } = writerOn(async () => {
    asked.resolve();
    await gate.promise;
    return { succeeded: true, header: { revision: 1n } };
  });
  const payload = Buffer.alloc(MAX_VALUE_BYTES / 2);
  const appended = [1, 2, 3, 4].map(() => writer.append(payload).durable);
  const outcomes = Promise.allSettled(appended);
  await asked.promise;
  const closing = writer.close();
  gate.resolve();
  await closing;
  const unsent = { status: 'rejected', reason: { code: 'shutting_down', details: {} } };
  expect(await outcomes).toMatchObject([{ status: 'fulfilled' }, unsent, unsent, unsent]);
  expect(calls()).toBe(1);
});

describe('what etcd does not take in the end', () => {
  it.each([status.DEADLINE_EXCEEDED, status.UNAVAILABLE, status.UNKNOWN, status.INTERNAL])(
    'may be taken yet where an earlier attempt had no answer (%i)',
    async (code) => {
      const { writer } = writerOn(refused(code), refused(status.INVALID_ARGUMENT));
      const { durable } = writer.append(Buffer.from('entry'));
      await expect(durable).rejects.toMatchObject({ code: 'mempool_unreachable', details: { mayBeTaken: true } });
    },
  );

  it('may be taken yet where the journal was closed before an answer came', async () => {
    const attempted = createDeferred<void>();
    const { writer } = writerOn(async () => {
      attempted.resolve();
      return refused(status.DEADLINE_EXCEEDED)();
    });
    const failed = expect(writer.append(Buffer.from('entry')).durable).rejects.toMatchObject({
      details: { mayBeTaken: true },
    });
    await attempted.promise;
    await writer.close();
    await failed;
  });

  it('is not taken where each attempt was refused', async () => {
    const { writer } = writerOn(refused(status.PERMISSION_DENIED), refused(status.INVALID_ARGUMENT));
    const { durable } = writer.append(Buffer.from('entry'));
    await expect(durable).rejects.toMatchObject({ code: 'database_failed', details: {} });
  });

  it('is not taken where a part of it was refused: the entry comes after its parts', async () => {
    const { writer } = writerOn(refused(status.DEADLINE_EXCEEDED), refused(status.INVALID_ARGUMENT));
    const { durable } = writer.append(Buffer.alloc(MAX_VALUE_BYTES + 1));
    await expect(durable).rejects.toMatchObject({ code: 'database_failed', details: {} });
  });
});
