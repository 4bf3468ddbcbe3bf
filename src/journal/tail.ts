/** The most recent entries of a journal in memory, up to a number of bytes: the oldest go first. */

import type { JournalEntry } from './journal.js';

export interface Tail {
  /** Adds entries that follow the last ones. */
  push(entries: readonly JournalEntry[]): void;
  /** All entries from `seq` on; undefined when it is not held. */
  from(seq: number): readonly JournalEntry[] | undefined;
  /** Forgets entries below `seq`. */
  dropBelow(seq: number): void;
}

/** Dropped entries stay in the array until they are this many and half of it: moving the rest is not free. */
const MIN_SHIFT = 1_024;

export function createTail(maxBytes: number): Tail {
  let entries: JournalEntry[] = [];
  let start = 0;
  let bytes = 0;

  const dropFirst = (): void => {
    bytes -= entries[start]?.payload.length ?? 0;
    start += 1;
  };
  const shrink = (): void => {
    if (start < entries.length && (start < MIN_SHIFT || start * 2 < entries.length)) return;
    entries = entries.slice(start);
    start = 0;
  };

  return {
    push(added) {
      if (entries.at(-1)?.seq !== undefined && (added[0]?.seq ?? 0) !== (entries.at(-1)?.seq ?? 0) + 1) {
        // Entries came while nobody listened: what is held no longer joins up.
        entries = [];
        start = 0;
        bytes = 0;
      }
      for (const entry of added) {
        entries.push(entry);
        bytes += entry.payload.length;
      }
      while (bytes > maxBytes) dropFirst();
      shrink();
    },
    from(seq) {
      const first = entries[start]?.seq;
      if (first === undefined || seq < first) return undefined;
      const found = entries.slice(start + seq - first);
      return found.length > 0 ? found : undefined;
    },
    dropBelow(seq) {
      while ((entries[start]?.seq ?? seq) < seq) dropFirst();
      shrink();
    },
  };
}
