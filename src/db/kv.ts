/**
 * The key-value store of every service: LevelDB (`level-kv.ts`); tests have one in memory. Values carry a checksum over
 * key and value: a damaged record is `data_corrupt`, never a wrong value (rule P3).
 */

import type { Pieces } from '../lib/pieces.js';

/** Writes that happen together or not at all. */
export interface KvBatch {
  /** Adds a write; key and value are copied. No key begins with the byte 0xff. */
  put(key: Uint8Array, value: Uint8Array): KvBatch;
  /** Adds a write like `put`, in pieces, of a value of many megabytes given in parts. It is in the batch when all pieces are done. */
  putInPieces(key: Uint8Array, parts: readonly Uint8Array[]): Pieces<void>;
  del(key: Uint8Array): KvBatch;
  readonly size: number;
}

/** Keys from `gte` (inclusive) up to `lt` (exclusive), in byte order. */
export interface KvRange {
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
  readonly reverse?: boolean;
  readonly limit?: number;
}

export type KvEntry = readonly [key: Uint8Array, value: Uint8Array];

export interface Kv {
  get(key: Uint8Array): Promise<Uint8Array | undefined>;
  /** Values in the order of `keys`. */
  getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]>;
  batch(): KvBatch;
  /**
   * Writes in the order of the calls. With `sync` the batch survives power loss, else kill -9. Throws `database_failed`
   * when the system refuses the batch: nothing of it is there then, and later writes may succeed.
   */
  write(batch: KvBatch, options: { readonly sync: boolean }): Promise<void>;
  /** Entries in key order, in chunks, as of the beginning, unless a failed write made the store reopen its database. */
  entries(range: KvRange): AsyncIterable<KvEntry>;
  close(): Promise<void>;
}
