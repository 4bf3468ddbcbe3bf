/** The ordered log that feeds the mempool, in files or in etcd. The journal does not know what a command means. */

import { isTesseraError, TesseraError } from '../lib/errors.js';
import type { Service } from '../lib/service.js';
import type { Signal } from '../lib/signal.js';

/** Id that tells entries of one journal apart, also those of other nodes. */
export type EntryId = number | string;

export interface JournalEntry {
  /** Number of the entry, above 0; it rises from entry to entry. */
  readonly seq: number;
  /** Id that `append` gave to the node that appended it. */
  readonly id: EntryId;
  readonly payload: Uint8Array;
}

/** The last entry, in a journal that several nodes share, that a state has taken in. */
export interface LastEntry {
  /** Number of the entry; 0 for none. */
  readonly seq: number;
  /** Undefined where the id is not known: an earlier version did not note it, and a state made from blocks has none. */
  readonly id?: string | undefined;
  /** The etcd cluster that had the entry. */
  readonly cluster?: string | undefined;
}

/** An entry that is being written, behind all entries that this node appended before. */
export interface Appended {
  readonly id: EntryId;
  /** Resolves when synced. Rejects with `database_failed` (nothing is written), `mempool_unreachable` (not confirmed in time). */
  readonly durable: Promise<number>;
}

export interface Subscription {
  /** Resolves when the delivery under way has ended; nothing is delivered afterwards. */
  stop(): Promise<void>;
}

export interface CompactOptions {
  readonly isUrgent?: boolean | undefined;
  readonly waiting?: number | undefined;
  readonly blocks?: number | undefined;
  readonly storedBefore?: ((seq: number) => number | undefined) | undefined;
}

export interface Journal {
  /** Sequence number of the last durable entry; 0 when empty. Known once `start` has resolved. */
  readonly head: number;
  readonly problem: string | null;
  /** True when other processes append to the journal too. */
  readonly isShared: boolean;
  /** Cluster of a journal in etcd, once started. */
  readonly cluster?: string | undefined;
  /** Resolves when `head` is known, however long that takes; rejects with `shutting_down` once closed. */
  start(): Promise<void>;
  /** Adds an entry. Throws `overloaded` when too much waits for the disk, `shutting_down`, or the error of a failed write. */
  append(payload: Uint8Array): Appended;
  /**
   * Delivers all durable entries with `seq >= fromSeq`, in order and each once, in groups of all that are there; the
   * next group when the promise of the last has resolved. A rejection ends the subscription and goes to `onError`.
   */
  subscribe(
    fromSeq: number,
    deliver: (entries: readonly JournalEntry[]) => Promise<void>,
    onError: (error: unknown) => void,
  ): Subscription;
  /** The last entry that is durable now, whoever appended it. Throws `mempool_unreachable` when it is not known in time. */
  sync(): Promise<number>;
  /** A number from which on there are at least `count` entries up to `seq`, or all entries. */
  before(seq: number, count: number): number;
  /**
   * Forgets entries below `seq`. `isUrgent`: their room is free when the promise resolves; appends wait meanwhile. For a journal that several nodes
   * share: entries behind `waiting`, which comes before all that waits for a block, are kept until a second node has them in its state; `blocks` is
   * the number of blocks in storage; `storedBefore` gives the last block stored before an entry, where known.
   */
  compact(seq: number, options?: CompactOptions): Promise<void>;
  /** Ends every subscription; resolves when all appended entries are written, or rejected with `shutting_down`. */
  close(): Promise<void>;
}

/** Error of a reader of a shared journal when the entries that it needs next have been forgotten. */
export function forgotten(seq: number, base: number): TesseraError {
  return new TesseraError(
    'data_corrupt',
    `entry ${seq} of the journal in etcd has been forgotten; the first one left is ${base}: this node was away for too long, and needs the state of another mempool node, or tessera rebuild`,
    // An entry that is missing but was not forgotten is damage.
    { details: { isForgotten: seq < base } },
  );
}

/** True if the node must take over another state, with which the journal goes on. */
export function isForgotten(error: unknown): boolean {
  return isTesseraError(error, 'data_corrupt') && error.details.isForgotten === true;
}

export interface Leadership {
  /** True while this node makes the blocks. Asked again before each step, as leading ends by the clock. */
  readonly leads: boolean;
  readonly changed: Signal<void>;
  readonly problem: string | null;
  /** Lets another node lead, for a while at least. Absent where there is no other. */
  resign?(): void;
}

/** Leadership of the only node that writes to a journal. */
export const soleLeader: Leadership & Service = {
  leads: true,
  changed: { on: () => () => undefined },
  problem: null,
  failed: new Promise<never>(() => undefined),
  start: async () => undefined,
  stop: async () => undefined,
};
