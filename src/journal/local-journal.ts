/**
 * The journal of a network whose mempool runs on one machine: entries in LevelDB, group commit, delivery from disk and then
 * live.
 *
 *   e ‖ seq (u64 be) → payload
 *   b                → base (u64 be): entries below it are forgotten, whether they are still here or not
 */

import { encodeU64, prefixKey, prefixRange, readU64, u64Key } from '../db/keys.js';
import type { Kv } from '../db/kv.js';
import { createDeferred, type Deferred } from '../lib/deferred.js';
import { TesseraError } from '../lib/errors.js';
import { createMutex } from '../lib/mutex.js';
import type { Journal, JournalEntry, Subscription } from './journal.js';
import { createTail } from './tail.js';

const entryKey = (seq: number): Uint8Array => u64Key('e', seq);
const ENTRIES = prefixRange('e');
const BASE_KEY = prefixKey('b');

/** Bytes of appends that may wait for the disk; more are refused with `overloaded`. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** Bytes that one synced batch takes at most. */
const MAX_COMMIT_BYTES = 8 * 1024 * 1024;
/** Bytes of recent entries kept in memory for subscribers; one that is further behind reads from disk. */
const DEFAULT_TAIL_BYTES = 8 * 1024 * 1024;
/** Entries and bytes of one group read from disk. */
const MAX_GROUP_ENTRIES = 1_000;
const MAX_GROUP_BYTES = 4 * 1024 * 1024;
/** Entries deleted in one batch by `compact`. */
const COMPACT_CHUNK = 1_000;

export interface LocalJournalOptions {
  /** A database of its own. It stays open when the journal is closed: who opened it closes it. */
  readonly kv: Kv;
  /** Bytes of recent entries kept in memory; 8 MiB by default. */
  readonly tailBytes?: number;
  readonly observer?: JournalObserver | undefined;
}

/** Told of what is written, for whoever measures it. */
export interface JournalObserver {
  /** An entry is appended; call the result when it is durable. */
  appending(): () => void;
  /** So many entries have shared one sync. */
  committed(entries: number): void;
}

interface Append {
  readonly payload: Uint8Array;
  readonly done: Deferred<number>;
  readonly observed: (() => void) | undefined;
}

interface Subscriber {
  /** Sequence number of the entry that it gets next. */
  next: number;
  stopped: boolean;
  /** Ends its waiting for new entries. */
  wake(): void;
}

/** Opens the journal in `kv`. Throws `data_corrupt` when entries are missing in the middle of it. */
export async function createLocalJournal(options: LocalJournalOptions): Promise<Journal> {
  const { kv, tailBytes = DEFAULT_TAIL_BYTES, observer } = options;
  const found = await readBounds(kv);
  let { base, head, first } = found;

  const tail = createTail(tailBytes);
  const waiting: Append[] = [];
  let waitingBytes = 0;
  let committing: Promise<void> | undefined;
  let failure: unknown;
  let closed = false;
  const subscribers = new Set<Subscriber>();
  const deliveries = new Set<Promise<void>>();
  const compaction = createMutex();

  // --- appending

  const append = (payload: Uint8Array): Promise<number> => {
    if (closed) return Promise.reject(new TesseraError('shutting_down', 'the journal is closed'));
    if (failure !== undefined) return Promise.reject(failure);
    if (waitingBytes + payload.length > MAX_WAITING_BYTES && waiting.length > 0) {
      return Promise.reject(
        new TesseraError('overloaded', 'the journal cannot write as fast as entries arrive; try again'),
      );
    }
    const done = createDeferred<number>();
    waiting.push({ payload, done, observed: observer?.appending() });
    waitingBytes += payload.length;
    committing ??= commitAll();
    return done.promise;
  };

  const commitAll = async (): Promise<void> => {
    // Appends of the same turn of the loop go into the same batch.
    await Promise.resolve();
    while (waiting.length > 0) await commit(takeGroup());
    committing = undefined;
  };

  const takeGroup = (): Append[] => {
    let bytes = 0;
    let count = 0;
    for (const { payload } of waiting) {
      if (count > 0 && bytes + payload.length > MAX_COMMIT_BYTES) break;
      bytes += payload.length;
      count += 1;
    }
    waitingBytes -= bytes;
    return waiting.splice(0, count);
  };

  const commit = async (group: readonly Append[]): Promise<void> => {
    const entries = group.map(({ payload }, i): JournalEntry => ({ seq: head + 1 + i, payload }));
    try {
      if (failure !== undefined) throw failure;
      const batch = kv.batch();
      for (const { seq, payload } of entries) batch.put(entryKey(seq), payload);
      await kv.write(batch, { sync: true });
    } catch (error) {
      // Whether a failed write is on disk is not known: to append after it could leave a gap or a duplicate.
      failure = error;
      for (const { done } of group) done.reject(error);
      return;
    }
    head += entries.length;
    if (subscribers.size > 0) tail.push(entries);
    observer?.committed(group.length);
    group.forEach(({ done, observed }, i) => {
      observed?.();
      done.resolve(entries[i]?.seq ?? head);
    });
    for (const subscriber of subscribers) subscriber.wake();
  };

  // --- delivering

  const subscribe: Journal['subscribe'] = (fromSeq, deliver, onError) => {
    const subscriber: Subscriber = { next: fromSeq, stopped: closed, wake: () => undefined };
    subscribers.add(subscriber);
    const delivery = follow(subscriber, deliver)
      .catch(onError)
      .finally(() => {
        subscribers.delete(subscriber);
        deliveries.delete(delivery);
      });
    deliveries.add(delivery);
    return {
      stop() {
        subscriber.stopped = true;
        subscriber.wake();
        return delivery;
      },
    } satisfies Subscription;
  };

  const follow = async (
    subscriber: Subscriber,
    deliver: (entries: readonly JournalEntry[]) => Promise<void>,
  ): Promise<void> => {
    if (subscriber.next > head + 1) {
      throw new TesseraError(
        'data_corrupt',
        `the journal ends at entry ${head}, but entries up to ${subscriber.next - 1} have been used: it has lost some`,
      );
    }
    // Nothing is delivered before `subscribe` has returned.
    await Promise.resolve();
    while (!subscriber.stopped) {
      if (subscriber.next > head) {
        await new Promise<void>((resolve) => {
          subscriber.wake = resolve;
        });
        continue;
      }
      const group = tail.from(subscriber.next) ?? (await readGroup(kv, subscriber.next, base, head));
      if (subscriber.stopped) return;
      await deliver(group);
      subscriber.next += group.length;
      tail.dropBelow(Math.min(...[...subscribers].map(({ next }) => next)));
    }
  };

  // --- forgetting

  const compact = async (seq: number): Promise<void> => {
    const behind = [...subscribers].map(({ next }) => next);
    const to = Math.min(seq, head + 1, ...behind);
    if (to > base) {
      base = to;
      await kv.write(kv.batch().put(BASE_KEY, encodeU64(to)), { sync: true });
    }
    while (first < base) {
      const end = Math.min(base, first + COMPACT_CHUNK);
      const batch = kv.batch();
      for (let i = first; i < end; i++) batch.del(entryKey(i));
      await kv.write(batch, { sync: false });
      first = end;
    }
  };

  return {
    get head() {
      return head;
    },
    append,
    subscribe,
    compact: (seq) => compaction.run(() => compact(seq)),
    async close() {
      closed = true;
      await committing;
      for (const subscriber of subscribers) {
        subscriber.stopped = true;
        subscriber.wake();
      }
      await Promise.all(deliveries);
      await compaction.run(() => undefined);
    },
  };
}

interface Bounds {
  readonly base: number;
  readonly head: number;
  /** Lowest number that may still be on disk: an interrupted compaction leaves some below `base`. */
  readonly first: number;
}

async function readBounds(kv: Kv): Promise<Bounds> {
  const stored = await kv.get(BASE_KEY);
  const base = stored === undefined ? 1 : readU64(stored, 0);
  const first = await edge(kv, false);
  const last = await edge(kv, true);
  if (first !== undefined && first > base) throw lost(base);
  return { base, head: Math.max(last ?? 0, base - 1), first: first ?? base };
}

async function edge(kv: Kv, reverse: boolean): Promise<number | undefined> {
  for await (const [key] of kv.entries({ ...ENTRIES, reverse, limit: 1 })) return readU64(key, 1);
  return undefined;
}

async function readGroup(kv: Kv, from: number, base: number, head: number): Promise<JournalEntry[]> {
  if (from < base) {
    throw new TesseraError(
      'data_corrupt',
      `entry ${from} of the journal has been forgotten; the first one left is ${base}`,
    );
  }
  const to = Math.min(head + 1, from + MAX_GROUP_ENTRIES);
  const group: JournalEntry[] = [];
  let bytes = 0;
  for await (const [key, payload] of kv.entries({ gte: entryKey(from), lt: entryKey(to) })) {
    const seq = from + group.length;
    if (readU64(key, 1) !== seq) throw lost(seq);
    group.push({ seq, payload });
    bytes += payload.length;
    if (bytes >= MAX_GROUP_BYTES) return group;
  }
  if (group.length < to - from) throw lost(from + group.length);
  return group;
}

function lost(seq: number): TesseraError {
  return new TesseraError(
    'data_corrupt',
    `entry ${seq} of the journal is missing: restore the data directory from a backup`,
  );
}
