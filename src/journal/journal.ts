/**
 * The ordered log that feeds the mempool. What a command means is not known here. The local implementation writes to
 * LevelDB with group commit; one over etcd can take its place without a change above this folder.
 */

export interface JournalEntry {
  /** 1 for the first entry, then without gaps. */
  readonly seq: number;
  readonly payload: Uint8Array;
}

/** An entry that has its place in the order and is being written. */
export interface Appended {
  readonly seq: number;
  /** Resolves when the entry is on disk (synced); rejects with the error that ended the journal. */
  readonly durable: Promise<void>;
}

export interface Subscription {
  /** Resolves when the delivery under way has ended; nothing is delivered afterwards. */
  stop(): Promise<void>;
}

export interface Journal {
  /** Sequence number of the last durable entry; 0 when empty. */
  readonly head: number;
  /**
   * Adds an entry after all that were added before and gives its number at once; what arrives during one sync shares the
   * next. Throws `overloaded` when too much waits for the disk, `shutting_down` once closed, and after a write that failed
   * the error of that write: nothing can be appended any more.
   */
  append(payload: Uint8Array): Appended;
  /**
   * Delivers all durable entries with `seq >= fromSeq`, in order and without gaps, first the old ones, then new ones as
   * they become durable, in groups as large as what is there. The next group waits until the promise of the last has
   * resolved. A rejection stops the delivery and is reported through `onError`.
   */
  subscribe(
    fromSeq: number,
    deliver: (entries: readonly JournalEntry[]) => Promise<void>,
    onError: (error: unknown) => void,
  ): Subscription;
  /**
   * Forgets entries below `seq`, which no subscriber will ask for again. With `isUrgent` their room on the disk is free when
   * it resolves, and not only some time later; appends wait meanwhile.
   */
  compact(seq: number, options?: { readonly isUrgent: boolean }): Promise<void>;
  /** Ends every subscription; resolves when what was appended is written. */
  close(): Promise<void>;
}
