/**
 * The key map of the local journal.
 *
 *   e ‖ seq (u64 be) → payload
 *   b                → base (u64 be): entries below it are forgotten, whether they are still here or not
 */

import { prefixKey, prefixRange, readU64, u64Key } from '../db/keys.js';

export const keys = {
  entry: (seq: number): Uint8Array => u64Key('e', seq),
  base: prefixKey('b'),
};

export const ranges = {
  entries: prefixRange('e'),
  /** Entries from `from` up to, not including, `to`. */
  between: (from: number, to: number) => ({ gte: keys.entry(from), lt: keys.entry(to) }),
};

/** The sequence number of an `entry` key. */
export function seqOfKey(key: Uint8Array): number {
  return readU64(key, 1);
}
