/**
 * The ordered log that feeds the mempool. What a command means is not known here. The local implementation writes to
 * LevelDB with group commit; one over etcd can take its place without a change above this folder.
 */

export interface JournalEntry {
  /** 1 for the first entry, then without gaps. */
  readonly seq: number;
  readonly payload: Uint8Array;
}

export interface Subscription {
  /** Resolves when the delivery under way has ended; nothing is delivered afterwards. */
  stop(): Promise<void>;
}

export interface Journal {
  /** Sequence number of the last durable entry; 0 when empty. */
  readonly head: number;
  /**
   * Adds an entry after all that were added before. Resolves with its sequence number when it is on disk (synced);
   * what arrives during one sync shares the next.
   */
  append(payload: Uint8Array): Promise<number>;
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
  /** Forgets entries below `seq`, which no subscriber will ask for again. */
  compact(seq: number): Promise<void>;
  close(): Promise<void>;
}
