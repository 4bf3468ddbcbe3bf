/** The writing end of the local journal: what is appended during one synced write shares the next. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { databaseError } from '../db/database-error.js';
import type { Kv } from '../db/kv.js';
import type { Clock } from '../lib/clock.js';
import { createDeferred, type Deferred } from '../lib/deferred.js';
import { TesseraError } from '../lib/errors.js';
import { inPieces } from '../lib/pieces.js';
import { type HistogramHandle, type Metrics, startTimer } from '../observability/metrics.js';
import type { Appended, JournalEntry } from './journal.js';
import { keys } from './layout.js';

/** Bytes of appends that may wait for the disk; more are refused with `overloaded`. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** Bytes that one synced batch takes at most. */
const MAX_COMMIT_BYTES = 8 * 1024 * 1024;

/** Bytes whose records get a turn of the event loop of their own. */
const LARGE_BYTES = 1024 * 1024;

interface Waiting {
  readonly seq: number;
  readonly payload: Uint8Array;
  readonly durable: Deferred<number>;
  /** Ends the measurement of the append. */
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
  /** Number of the next entry; those between the head and it wait or are being written. */
  #next: number;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #committing: Promise<void> | undefined;
  /** The database is damaged: nothing is appended any more. */
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

  /** Number of the last durable entry. */
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

  /** Takes nothing more; resolves when what was appended is written, or has failed. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#committing;
  }

  async #commitAll(): Promise<void> {
    // Appends of the same turn of the loop go into the same batch.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      // To encode it has taken its time, and so does its record: a block of storage may have some 30 MiB.
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

  /** Nothing of the group is on disk, and nothing that came after it may be: their numbers are assigned again. */
  #giveUp(group: readonly Waiting[], failure: TesseraError): void {
    if (failure.code !== 'database_failed') this.#failure ??= failure;
    const lost = [...group, ...this.#waiting.splice(0)];
    this.#waitingBytes = 0;
    this.#next = this.#head + 1;
    for (const { durable } of lost) durable.reject(failure);
  }
}
