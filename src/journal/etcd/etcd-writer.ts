/** Writes to the journal: appends during one write share the next. A write without an answer is repeated under the same key. */

import { utf8 } from '../../lib/bytes.js';
import type { Timer } from '../../lib/clock.js';
import { createDeferred, type Deferred } from '../../lib/deferred.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { type HistogramHandle, type Metrics, startTimer } from '../../observability/metrics.js';
import type { Appended } from '../journal.js';
import {
  encodeGroup,
  encodeInParts,
  entryId,
  MAX_GROUP_ENTRIES,
  MAX_VALUE_BYTES,
  type Names,
  partName,
  seqOf,
  sizeInGroup,
} from './entries.js';
import { type EtcdClient, EtcdError } from './etcd-client.js';
import { KV } from './generated/etcd-pb.js';
import type { History } from './history.js';
import { Patience, type PatienceModules } from './patience.js';

/** Bytes of appends that may wait; more are refused with `overloaded`. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** Target of etcd's `Compare`: the revision that created a key. */
const CREATE_REVISION = 1;

interface Put {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

interface Waiting {
  readonly count: number;
  readonly payload: Uint8Array;
  readonly durable: Deferred<number>;
  readonly timer: Timer;
  readonly stopTimer: () => void;
  /** Time of the append, by the monotonic clock. */
  readonly since: number;
}

export interface EtcdWriterModules extends PatienceModules {
  readonly client: EtcdClient;
  readonly names: Names;
  readonly history: Pick<History, 'condition' | 'check'>;
  readonly metrics: Metrics;
}

export interface EtcdWriterOptions {
  /** A name that no other process has or had. */
  readonly process: string;
  /** Milliseconds after which an append that etcd has not answered is given up; it may be in the journal all the same. */
  readonly timeout: number;
  /** Called with each entry that has become durable. */
  readonly committed: (entry: { readonly seq: number; readonly id: string }) => void;
}

export class EtcdWriter {
  readonly #options: EtcdWriterOptions;
  readonly #modules: EtcdWriterModules;
  readonly #patience: Patience;
  readonly #appendSeconds: HistogramHandle;
  readonly #groupEntries: HistogramHandle;
  #count = 0;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #oldest: Waiting | undefined;
  #committing: Promise<void> | undefined;
  #closed = false;

  constructor(options: EtcdWriterOptions, modules: EtcdWriterModules) {
    this.#options = options;
    this.#modules = modules;
    this.#patience = new Patience(modules);
    this.#appendSeconds = modules.metrics.histogram('tessera_journal_append_duration_seconds');
    this.#groupEntries = modules.metrics.histogram('tessera_journal_group_entries');
  }

  get problem(): string | null {
    return this.#patience.problem;
  }

  /** Milliseconds for which the oldest append has waited; 0 when none does. */
  get waitingMs(): number {
    const oldest = this.#oldest ?? this.#waiting[0];
    return oldest === undefined ? 0 : this.#modules.clock.monotonic() - oldest.since;
  }

  append(payload: Uint8Array): Appended {
    if (this.#closed) throw new TesseraError('shutting_down', 'the journal is closed');
    if (this.#waitingBytes + payload.length > MAX_WAITING_BYTES && this.#waiting.length > 0) {
      throw new TesseraError('overloaded', 'etcd cannot write as fast as entries arrive; try again');
    }
    const { timeout } = this.#options;
    const { clock } = this.#modules;
    const count = this.#count++;
    const durable = createDeferred<number>();
    const timer = clock.after(timeout, () => durable.reject(this.#tooLate()));
    const stopTimer = startTimer(this.#appendSeconds, clock);
    this.#waiting.push({ count, payload, durable, timer, stopTimer, since: clock.monotonic() });
    this.#waitingBytes += payload.length;
    this.#committing ??= this.#commitAll();
    return { id: entryId(this.#options.process, count), durable: durable.promise };
  }

  /** Takes no more entries; resolves when the group under way is written or not answered. Rejects the other entries. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#patience.close();
    await this.#committing;
  }

  #tooLate(): TesseraError {
    const why = this.problem ?? 'etcd is slow';
    return mayBeTaken(`the journal has not confirmed this within ${this.#options.timeout} ms (${why})`);
  }

  async #commitAll(): Promise<void> {
    // Appends of the same turn of the loop go into the same group.
    await Promise.resolve();
    do await this.#commit(this.#takeGroup());
    while (this.#waiting.length > 0 && !this.#closed);
    this.#committing = undefined;
    // Each of these entries might wait for an etcd that does not answer, and a stop for all of them.
    for (const { durable, timer } of this.#waiting.splice(0)) {
      timer.cancel();
      durable.reject(new TesseraError('shutting_down', 'the journal is closed: nothing was taken'));
    }
  }

  #takeGroup(): readonly Waiting[] {
    let size = 0;
    let bytes = 0;
    let count = 0;
    for (const { payload } of this.#waiting) {
      size += sizeInGroup(payload);
      if (count === MAX_GROUP_ENTRIES || (count > 0 && size > MAX_VALUE_BYTES)) break;
      bytes += payload.length;
      count++;
    }
    this.#waitingBytes -= bytes;
    return this.#waiting.splice(0, count);
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const [first] = group;
    if (first === undefined) return;
    this.#oldest = first;
    const id = entryId(this.#options.process, first.count);
    const key = utf8(`${this.#modules.names.log}${id}`);
    /** True if an answer of etcd leaves open whether the write was done. */
    let isUnknown = false;
    const note = (error: unknown): never => {
      isUnknown ||= error instanceof EtcdError && !error.hasDoneNothing;
      throw error;
    };
    try {
      const payloads = group.map(({ payload }) => payload);
      const isLarge = sizeInGroup(first.payload) > MAX_VALUE_BYTES;
      const value = isLarge ? await this.#putParts(id, key, first.payload) : encodeGroup(key, payloads);
      const revision = await this.#patience.until(() =>
        this.#create(key, value, this.#headOf(group.length)).catch(note),
      );
      this.#groupEntries.observe(group.length);
      for (const [place, { count, durable, stopTimer }] of group.entries()) {
        stopTimer();
        const seq = seqOf(revision, place);
        this.#options.committed({ seq, id: entryId(this.#options.process, count) });
        durable.resolve(seq);
      }
    } catch (error) {
      const failure = isUnknown ? mayBeTaken(errorMessage(error), error) : error;
      for (const { durable } of group) durable.reject(failure);
    } finally {
      this.#oldest = undefined;
      for (const { timer } of group) timer.cancel();
    }
  }

  /** Writes the parts of an entry that is larger than one value; returns the value that makes it an entry of the journal. */
  async #putParts(id: string, key: Uint8Array, payload: Uint8Array): Promise<Uint8Array> {
    let parts = 0;
    for (let at = 0; at < payload.length; at += MAX_VALUE_BYTES) {
      const name = utf8(partName(this.#modules.names, id, parts++));
      const value = encodeGroup(name, [payload.subarray(at, at + MAX_VALUE_BYTES)]);
      await this.#patience.until(() => this.#create(name, value, []));
    }
    return encodeInParts(key, parts);
  }

  /** The key that tells where the journal ends, whose revision is that of the last group. */
  #headOf(entries: number): readonly Put[] {
    return [{ key: utf8(this.#modules.names.head), value: utf8(String(entries)) }];
  }

  /** Writes the key unless it is there, and the others with it; returns the revision of that write. Throws as `History.check`. */
  async #create(key: Uint8Array, value: Uint8Array, others: readonly Put[]): Promise<bigint> {
    const { client, history } = this.#modules;
    const puts = [{ key, value }, ...others];
    const condition = history.condition();
    const { succeeded, header, responses } = await client.call(KV.method.txn, {
      compare: [{ target: CREATE_REVISION, key, targetUnion: { case: 'createRevision', value: 0n } }, ...condition],
      success: puts.map((put) => ({ request: { case: 'requestPut' as const, value: put } })),
      failure: [{ request: { case: 'requestRange', value: { key, keysOnly: true } } }],
    });
    if (succeeded) return header?.revision ?? 0n;
    const [answer] = responses;
    const found = answer?.response.case === 'responseRange' ? answer.response.value.kvs[0] : undefined;
    if (found !== undefined) return found.createRevision;
    if (condition.length === 0) throw new Error('broken invariant: a key of etcd that is there and is not');
    await history.check();
    return this.#create(key, value, others);
  }
}

function mayBeTaken(why: string, cause?: unknown): TesseraError {
  const details = { mayBeTaken: true };
  return new TesseraError('mempool_unreachable', `${why}: it may be taken yet`, { cause, details });
}
