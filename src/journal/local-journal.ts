/** The journal of one machine: a store of its own, group commit, and delivery from disk, then live. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { databaseError } from '../db/database-error.js';
import { encodeU64, prefixKey, prefixRange, readU64, u64Key } from '../db/keys.js';
import type { Kv } from '../db/kv.js';
import type { Clock } from '../lib/clock.js';
import { createDeferred, type Deferred } from '../lib/deferred.js';
import { TesseraError } from '../lib/errors.js';
import { Mutex } from '../lib/mutex.js';
import { inPieces } from '../lib/pieces.js';
import { type HistogramHandle, type Metrics, startTimer } from '../observability/metrics.js';
import { EntryCache } from './entry-cache.js';
import type { Appended, Journal, JournalEntry, Subscription } from './journal.js';

/** Bytes of recent entries kept in memory for subscribers; a subscriber that is further behind reads from disk. */
const DEFAULT_CACHE_BYTES = 8 * 1024 * 1024;
const MAX_GROUP_ENTRIES = 1_000;
const MAX_GROUP_BYTES = 4 * 1024 * 1024;
const COMPACT_CHUNK = 1_000;

export interface LocalJournalOptions {
  /** Bytes of recent entries kept in memory; 8 MiB by default. */
  readonly cacheBytes?: number;
}

export interface LocalJournalModules {
  /** A database for the journal alone. It stays open when the journal is closed: its opener closes it. */
  readonly kv: Kv;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

type Deliver = (entries: readonly JournalEntry[]) => Promise<void>;

interface Subscriber {
  next: number;
  stopped: boolean;
  /** Ends the subscriber's wait for new entries. */
  wake(): void;
}

export class LocalJournal implements Journal {
  readonly #kv: Kv;
  readonly #writer: GroupCommit;
  readonly #cache: EntryCache;
  readonly #subscribers = new Set<Subscriber>();
  readonly #deliveries = new Set<Promise<void>>();
  readonly #compaction = new Mutex();
  readonly #stopMetrics: () => void;
  #base: number;
  /** Lowest number whose entry may still be on disk. */
  #first: number;
  #closed = false;

  /** Opens the journal in `kv`. Throws `data_corrupt` when entries are missing in the middle. */
  static async open(options: LocalJournalOptions, modules: LocalJournalModules): Promise<LocalJournal> {
    return new LocalJournal(options, modules, await readBounds(modules.kv));
  }

  private constructor(options: LocalJournalOptions, { kv, clock, metrics }: LocalJournalModules, bounds: Bounds) {
    this.#kv = kv;
    this.#base = bounds.base;
    this.#first = bounds.first;
    this.#cache = new EntryCache(options.cacheBytes ?? DEFAULT_CACHE_BYTES);
    this.#writer = new GroupCommit(bounds.head, {
      kv,
      clock,
      metrics,
      committed: (entries) => this.#onCommitted(entries),
    });
    const head = metrics.gauge('tessera_journal_head');
    metrics.gauge('tessera_journal_reachable').set(1);
    this.#stopMetrics = metrics.beforeScrape(() => head.set(this.head));
  }

  /** Always null: a disk that refuses an entry rejects its append. */
  readonly problem = null;
  readonly isShared = false;

  /** Does nothing: `open` has read the head. */
  async start(): Promise<void> {}

  get head(): number {
    return this.#writer.head;
  }

  async sync(): Promise<number> {
    return this.head;
  }

  append(payload: Uint8Array): Appended {
    return this.#writer.append(payload);
  }

  subscribe(fromSeq: number, deliver: Deliver, onError: (error: unknown) => void): Subscription {
    const subscriber: Subscriber = { next: fromSeq, stopped: this.#closed, wake: () => undefined };
    this.#subscribers.add(subscriber);
    const delivery = this.#follow(subscriber, deliver)
      .catch(onError)
      .finally(() => {
        this.#subscribers.delete(subscriber);
        this.#deliveries.delete(delivery);
      });
    this.#deliveries.add(delivery);
    return {
      stop() {
        subscriber.stopped = true;
        subscriber.wake();
        return delivery;
      },
    };
  }

  before(seq: number, count: number): number {
    return seq - count;
  }

  compact(seq: number): Promise<void> {
    return this.#compaction.run(async () => {
      try {
        await this.#forgetBelow(seq);
      } catch (error) {
        throw databaseError('the journal', error);
      }
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopMetrics();
    await this.#writer.close();
    for (const subscriber of this.#subscribers) {
      subscriber.stopped = true;
      subscriber.wake();
    }
    await Promise.all(this.#deliveries);
    await this.#compaction.run(() => undefined);
  }

  #onCommitted(entries: readonly JournalEntry[]): void {
    if (this.#subscribers.size > 0) this.#cache.push(entries);
    for (const subscriber of this.#subscribers) subscriber.wake();
  }

  async #follow(subscriber: Subscriber, deliver: Deliver): Promise<void> {
    if (subscriber.next > this.head + 1) {
      throw new TesseraError(
        'data_corrupt',
        `the journal ends at entry ${this.head}, but entries up to ${subscriber.next - 1} have been used: it has lost some`,
      );
    }
    // Deliveries begin after `subscribe` has returned.
    await Promise.resolve();
    while (!subscriber.stopped) {
      if (subscriber.next > this.head) {
        await new Promise<void>((resolve) => {
          subscriber.wake = resolve;
        });
        continue;
      }
      const group = this.#cache.from(subscriber.next) ?? (await this.#read(subscriber.next));
      if (subscriber.stopped) return;
      await deliver(group);
      subscriber.next += group.length;
      this.#cache.dropBelow(Math.min(...[...this.#subscribers].map(({ next }) => next)));
    }
  }

  async #read(from: number): Promise<JournalEntry[]> {
    if (from < this.#base) {
      throw new TesseraError(
        'data_corrupt',
        `entry ${from} of the journal has been forgotten; the first one left is ${this.#base}: journal and state are not of one backup, so run tessera rebuild`,
      );
    }
    try {
      return await readGroup(this.#kv, from, Math.min(this.head + 1, from + MAX_GROUP_ENTRIES));
    } catch (error) {
      throw databaseError('the journal', error);
    }
  }

  async #forgetBelow(seq: number): Promise<void> {
    const wanted = [...this.#subscribers].map(({ next }) => next);
    const to = Math.min(seq, this.head + 1, ...wanted);
    if (to > this.#base) await this.#setBase(to);
    while (this.#first < this.#base) {
      const end = Math.min(this.#base, this.#first + COMPACT_CHUNK);
      const batch = this.#kv.batch();
      for (let i = this.#first; i < end; i++) batch.del(keys.entry(i));
      // Deletions are synced like all writes of the journal: a power failure may take its very end then, nothing before it.
      await this.#kv.write(batch, { sync: true });
      this.#first = end;
    }
  }

  /** Sets the base, in memory first, so that nobody asks meanwhile for entries below it. */
  async #setBase(to: number): Promise<void> {
    const before = this.#base;
    this.#base = to;
    try {
      await this.#kv.write(this.#kv.batch().put(keys.base, encodeU64(to)), { sync: true });
    } catch (error) {
      this.#base = before;
      throw error;
    }
  }
}

interface Bounds {
  readonly base: number;
  readonly head: number;
  /** Lowest number whose entry may still be on disk: an interrupted compaction leaves some entries below `base`. */
  readonly first: number;
}

async function readBounds(kv: Kv): Promise<Bounds> {
  const stored = await kv.get(keys.base);
  const base = stored === undefined ? 1 : readU64(stored, 0);
  const first = await edge(kv, false);
  const last = await edge(kv, true);
  if (first !== undefined && first > base) throw lost(base);
  return { base, head: Math.max(last ?? 0, base - 1), first: first ?? base };
}

async function edge(kv: Kv, reverse: boolean): Promise<number | undefined> {
  for await (const [key] of kv.entries({ ...ranges.entries, reverse, limit: 1 })) return seqOfKey(key);
  return undefined;
}

/** Entries from `from` up to, not including, `to`, or fewer when they are large. */
async function readGroup(kv: Kv, from: number, to: number): Promise<JournalEntry[]> {
  const group: JournalEntry[] = [];
  let bytes = 0;
  for await (const [key, payload] of kv.entries(ranges.between(from, to))) {
    const seq = from + group.length;
    if (seqOfKey(key) !== seq) throw lost(seq);
    group.push({ seq, id: seq, payload });
    bytes += payload.length;
    if (bytes >= MAX_GROUP_BYTES) return group;
  }
  if (group.length < to - from) throw lost(from + group.length);
  return group;
}

function lost(seq: number): TesseraError {
  return new TesseraError(
    'data_corrupt',
    `entry ${seq} of the journal is missing: run tessera rebuild, or restore the data directory from a backup`,
  );
}

/** Bytes of appends that may wait for the disk; more are refused with `overloaded`. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const MAX_COMMIT_BYTES = 8 * 1024 * 1024;

/** Bytes of payload from which on entries get turns of the event loop of their own. */
const LARGE_BYTES = 1024 * 1024;

interface Waiting {
  readonly seq: number;
  readonly payload: Uint8Array;
  readonly durable: Deferred<number>;
  readonly stopTimer: () => void;
}

export interface GroupCommitModules {
  readonly kv: Kv;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Called with each group that has become durable, in order. */
  readonly committed: (entries: readonly JournalEntry[]) => void;
}

export class GroupCommit {
  readonly #kv: Kv;
  readonly #clock: Clock;
  readonly #committed: GroupCommitModules['committed'];
  readonly #appendSeconds: HistogramHandle;
  readonly #groupEntries: HistogramHandle;
  #head: number;
  /** Number of the next entry; entries between the head and it wait or are being written. */
  #next: number;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #committing: Promise<void> | undefined;
  /** The error of a damaged database, to which nothing is appended any more. */
  #failure: TesseraError | undefined;
  #closed = false;

  /** `head` is the number of the last entry on disk. */
  constructor(head: number, { kv, clock, metrics, committed }: GroupCommitModules) {
    this.#head = head;
    this.#next = head + 1;
    this.#kv = kv;
    this.#clock = clock;
    this.#committed = committed;
    this.#appendSeconds = metrics.histogram('tessera_journal_append_duration_seconds');
    this.#groupEntries = metrics.histogram('tessera_journal_group_entries');
  }

  get head(): number {
    return this.#head;
  }

  append(payload: Uint8Array): Appended {
    if (this.#closed) throw new TesseraError('shutting_down', 'the journal is closed');
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#waitingBytes + payload.length > MAX_WAITING_BYTES && this.#waiting.length > 0) {
      throw new TesseraError('overloaded', 'the journal cannot write as fast as entries arrive; try again');
    }
    const seq = this.#next++;
    const durable = createDeferred<number>();
    this.#waiting.push({ seq, payload, durable, stopTimer: startTimer(this.#appendSeconds, this.#clock) });
    this.#waitingBytes += payload.length;
    this.#committing ??= this.#commitAll();
    return { id: seq, durable: durable.promise };
  }

  /** Takes no more entries; resolves when the appended ones are written, or have failed. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#committing;
  }

  async #commitAll(): Promise<void> {
    // Appends of the same turn of the loop go into the same batch.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      // A block of storage may have 30 MiB: encoding it took long, and so does making its record.
      if (this.#waitingBytes > LARGE_BYTES) await nextTurn();
      await this.#commit(this.#takeGroup());
    }
    this.#committing = undefined;
  }

  #takeGroup(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { payload } of this.#waiting) {
      if (count > 0 && bytes + payload.length > MAX_COMMIT_BYTES) break;
      bytes += payload.length;
      count++;
    }
    this.#waitingBytes -= bytes;
    return this.#waiting.splice(0, count);
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    try {
      if (this.#failure !== undefined) throw this.#failure;
      const batch = this.#kv.batch();
      for (const { seq, payload } of group) {
        if (payload.length <= LARGE_BYTES) batch.put(keys.entry(seq), payload);
        else await inPieces(batch.putInPieces(keys.entry(seq), [payload]), nextTurn);
      }
      await this.#kv.write(batch, { sync: true });
    } catch (error) {
      this.#giveUp(group, databaseError('the journal', error));
      return;
    }
    this.#head += group.length;
    this.#groupEntries.observe(group.length);
    for (const { seq, durable, stopTimer } of group) {
      stopTimer();
      durable.resolve(seq);
    }
    this.#committed(group.map(({ seq, payload }) => ({ seq, id: seq, payload })));
  }

  /** Rejects the group, none of which is on disk, and all entries behind it; their numbers are assigned again. */
  #giveUp(group: readonly Waiting[], failure: TesseraError): void {
    if (failure.code !== 'database_failed') this.#failure ??= failure;
    const lost = [...group, ...this.#waiting.splice(0)];
    this.#waitingBytes = 0;
    this.#next = this.#head + 1;
    for (const { durable } of lost) durable.reject(failure);
  }
}

export const keys = {
  entry: (seq: number): Uint8Array => u64Key('e', seq),
  base: prefixKey('b'),
};

export const ranges = {
  entries: prefixRange('e'),
  between: (from: number, to: number) => ({ gte: keys.entry(from), lt: keys.entry(to) }),
};

/** The sequence number of an `entry` key. */
function seqOfKey(key: Uint8Array): number {
  return readU64(key, 1);
}
