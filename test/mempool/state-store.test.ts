/** The state's database on a disk that refuses writes for a while: nobody waits for the disk, and nothing is lost. */

import { afterEach, describe, expect, it } from 'vitest';
import { prefixKey, prefixRange } from '../../src/db/keys.js';
import type { Kv } from '../../src/db/kv.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { TesseraError } from '../../src/lib/errors.js';
import { Applier } from '../../src/mempool/state/applier.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { StateStore } from '../../src/mempool/state/state-store.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { openJournal } from '../support/journal.js';
import { withWrite } from '../support/kv.js';
import { ManualClock } from '../support/manual-clock.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, rulesFor, unicornOf } from '../support/mempool.js';

const TIME = 1_700_000_000;
const [A, B] = [prefixKey('a'), prefixKey('b')];
const refused = () => new TesseraError('database_failed', 'no room');

/** A disk that takes the next write once it is told whether it succeeds. */
function heldDisk(inner: Kv) {
  let waiting: { readonly promise: Promise<void>; resolve(): void; reject(error: unknown): void } | undefined;
  const begun: (() => void)[] = [];
  const disk = {
    isFull: false,
    /** The next write waits for `succeed` or `fail`. */
    hold: (): Promise<void> => {
      waiting = createDeferred<void>();
      return new Promise((resolve) => begun.push(resolve));
    },
    fail: () => waiting?.reject(refused()),
    kv: withWrite(inner, async (batch, options) => {
      const held = waiting;
      for (const tell of begun.splice(0)) tell();
      if (held !== undefined) {
        await held.promise.finally(() => {
          waiting = undefined;
        });
      }
      if (disk.isFull) throw refused();
      await inner.write(batch, options);
    }),
  };
  return disk;
}

const stops: (() => Promise<unknown> | undefined)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

function createStore() {
  const inner = new MemoryKv();
  const disk = heldDisk(inner);
  const clock = new ManualClock();
  const store = new StateStore(disk.kv, clock);
  return { inner, disk, clock, store };
}

describe('a command that is in the journal while the disk refuses the write of the one before it', () => {
  it('is answered without waiting for room (rule P6)', async () => {
    const { disk, clock, store } = createStore();
    const journal = await openJournal(new MemoryKv());
    const state = new MempoolState(rulesFor([account('alice')]));
    const applier = new Applier({ journal, store, state, unicorn: unicornOf, clock, metrics: noMetrics });
    stops.push(
      () => applier.stop(),
      () => journal.close(),
    );
    await applier.start();
    const submit = () => applier.submit<'transactions'>({ kind: 'transactions', time: TIME, groups: [] });
    const begun = disk.hold();
    const first = submit();
    await advanceUntil(clock, begun);
    const second = submit();
    await expect.poll(() => journal.head, { timeout: 60_000 }).toBe(2);
    disk.isFull = true;
    disk.fail();
    expect(await Promise.all([first, second])).toEqual([[], []]);
    await expect(submit()).rejects.toMatchObject({ code: 'write_failed' });
    disk.isFull = false;
    await advanceUntil(clock, store.drained());
    expect(await submit()).toEqual([]);
  });
});

describe('what the disk refuses', () => {
  it('is read by key as if it were written, and is on disk in its order once there is room', async () => {
    const { inner, disk, clock, store } = createStore();
    await store.write(store.batch().put(A, Buffer.from('old')).put(B, Buffer.from('old')), { sync: false });
    disk.isFull = true;
    expect(await store.write(store.batch().put(A, Buffer.from('1')), { sync: false })).toBe(false);
    expect(await store.write(store.batch().put(A, Buffer.from('2')).del(B), { sync: true })).toBe(false);
    expect(store.problem).toBe('no room');
    expect(await store.getMany([A, B])).toEqual([Buffer.from('2'), undefined]);
    expect(text(await inner.get(A))).toBe('old');
    clock.advance(1_000);
    expect(store.problem).toBe('no room');
    disk.isFull = false;
    const drained = store.drained();
    await advanceUntil(clock, drained);
    expect([text(await inner.get(A)), await inner.get(B)]).toEqual(['2', undefined]);
    expect(text(await store.get(A))).toBe('2');
    expect(await store.write(store.batch().put(B, Buffer.from('3')), { sync: false })).toBe(true);
  });

  it('comes before an update that reads a range', async () => {
    const { disk, clock, store } = createStore();
    disk.isFull = true;
    await store.write(store.batch().put(A, Buffer.from('1')), { sync: false });
    const seen: string[] = [];
    const update = store.update(async (batch) => {
      for (const [, value] of await store.list(prefixRange('a'))) seen.push(text(value));
      batch.del(A);
    });
    disk.isFull = false;
    await advanceUntil(clock, update);
    expect(seen).toEqual(['1']);
    expect(await store.get(A)).toBeUndefined();
  });

  it('is not written when the node stops, nor is anything after it: the journal has it (rule P1)', async () => {
    const { inner, disk, store } = createStore();
    disk.isFull = true;
    await store.write(store.batch().put(A, Buffer.from('1')), { sync: false });
    const drained = store.drained();
    store.stop();
    await expect(drained).rejects.toMatchObject({ code: 'shutting_down' });
    disk.isFull = false;
    const later = store.write(store.batch().put(B, Buffer.from('2')), { sync: false });
    await expect(later).rejects.toMatchObject({ code: 'shutting_down' });
    expect(await inner.getMany([A, B])).toEqual([undefined, undefined]);
  });
});

/** A second passes, and another, until it has happened. */
async function advanceUntil(clock: ManualClock, event: Promise<void>): Promise<void> {
  let hasHappened = false;
  const watched = event.finally(() => {
    hasHappened = true;
  });
  while (!hasHappened) {
    clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await watched;
}

function text(value: Uint8Array | undefined): string {
  return Buffer.from(value ?? []).toString();
}
