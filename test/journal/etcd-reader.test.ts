/** The reading end of the journal in etcd, on an etcd that answers when the test lets it. */

import { describe, expect, it } from 'vitest';
import { namesBelow } from '../../src/journal/etcd/entries.js';
import { EtcdReader } from '../../src/journal/etcd/etcd-reader.js';
import { createDeferred } from '../../src/lib/deferred.js';

describe('a reader of the journal in etcd', () => {
  it('ends when it is stopped while its watch begins', async () => {
    const [asked, begun, cancelled] = [createDeferred<void>(), createDeferred<void>(), createDeferred<void>()];
    async function* responses(): AsyncGenerator<never> {
      yield* [];
      await cancelled.promise;
      throw new Error('the watch is cancelled');
    }
    const client = {
      async watch() {
        asked.resolve();
        await begun.promise;
        const created = { canceled: false, header: { revision: 10n }, events: [] };
        return { created, responses: responses(), cancel: () => cancelled.resolve() };
      },
    };
    const patience = { until: <T>(attempt: () => Promise<T>) => attempt() };
    const modules = {
      client,
      names: namesBelow('p/'),
      patience,
      base: async () => 1,
      history: { check: async () => undefined },
      seen: () => undefined,
    };
    const reader = new EtcdReader(1_024, modules as never);
    const running = reader.run(async () => undefined);
    await asked.promise;
    reader.stop();
    begun.resolve();
    await expect(running).resolves.toBeUndefined();
    await cancelled.promise;
  });
});
