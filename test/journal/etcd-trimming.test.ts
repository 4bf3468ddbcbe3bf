/** Deleting from etcd in the background, on an etcd that answers when the test lets it. */

import { describe, expect, it } from 'vitest';
import { namesBelow } from '../../src/journal/etcd/entries.js';
import { KV } from '../../src/journal/etcd/generated/etcd-pb.js';
import { Trimming } from '../../src/journal/etcd/history.js';
import { utf8 } from '../../src/lib/bytes.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { silentLogger } from '../../src/lib/logger.js';

/** Groups of the revisions 1 to 120; a deletion ends when `gate` does. */
function bed() {
  const groups = Array.from({ length: 120 }, (_, n) => ({
    key: utf8(`p/log/one-${String(n).padStart(12, '0')}`),
    modRevision: BigInt(n + 1),
  }));
  const [gate, asked] = [createDeferred<void>(), createDeferred<void>()];
  const warnings: string[] = [];
  const deleted: number[] = [];
  const call = async (method: unknown, query: { readonly success?: readonly unknown[] }) => {
    if (method === KV.method.range) return { kvs: groups, more: false };
    asked.resolve();
    await gate.promise;
    // Each group is deleted with its parts.
    deleted.push((query.success?.length ?? 0) / 2);
    return {};
  };
  const logger = { ...silentLogger, warn: (_: object, message: string) => void warnings.push(message) };
  const trimming = new Trimming({ client: { call } as never, names: namesBelow('p/'), logger });
  return { trimming, gate, asked: asked.promise, deleted, warnings };
}

describe('trimming the journal in etcd', () => {
  it('deletes what is old, some at a time, and nobody waits for it', async () => {
    const { trimming, gate, deleted } = bed();
    trimming.upTo(110n);
    gate.resolve();
    await expect.poll(() => deleted, { timeout: 60_000 }).toEqual([50, 50, 10]);
    await trimming.close();
  });

  it('ends with the transaction under way when it is closed', async () => {
    const { trimming, gate, asked, deleted } = bed();
    trimming.upTo(110n);
    await asked;
    const closing = trimming.close();
    gate.resolve();
    await closing;
    trimming.upTo(120n);
    await trimming.close();
    expect(deleted).toEqual([50]);
  });

  it('says what etcd has not deleted, and tries again the next time', async () => {
    const { trimming, gate, asked, warnings } = bed();
    trimming.upTo(110n);
    await asked;
    gate.reject(new Error('no answer'));
    await expect.poll(() => warnings, { timeout: 60_000 }).toEqual([expect.stringContaining('no answer')]);
    await expect
      .poll(
        () => {
          trimming.upTo(110n);
          return warnings.length;
        },
        { timeout: 60_000 },
      )
      .toBeGreaterThan(1);
    await trimming.close();
  });
});
