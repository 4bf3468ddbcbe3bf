/** The most recent entries of a journal in memory, up to a number of bytes; the oldest entries are dropped first. */

import type { JournalEntry } from './journal.js';

/** Dropped entries stay in the array until they are this many and half of it: moving the others is not free. */
const MIN_SHIFT = 1_024;

export class EntryCache {
  readonly #maxBytes: number;
  #entries: JournalEntry[] = [];
  #start = 0;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Adds entries. Entries that do not follow the last one replace everything: the cache has no gaps. */
  push(added: readonly JournalEntry[]): void {
    const last = this.#entries.at(-1);
    if (last !== undefined && added[0]?.seq !== last.seq + 1) this.#clear();
    for (const entry of added) {
      this.#entries.push(entry);
      this.#bytes += entry.payload.length;
    }
    while (this.#bytes > this.#maxBytes) this.#dropFirst();
    this.#shift();
  }

  /** All entries from `seq` on; undefined when the cache does not reach back so far. */
  from(seq: number): readonly JournalEntry[] | undefined {
    const first = this.#entries[this.#start]?.seq;
    if (first === undefined || seq < first) return undefined;
    const found = this.#entries.slice(this.#start + seq - first);
    return found.length > 0 ? found : undefined;
  }

  dropBelow(seq: number): void {
    while ((this.#entries[this.#start]?.seq ?? seq) < seq) this.#dropFirst();
    this.#shift();
  }

  #dropFirst(): void {
    this.#bytes -= this.#entries[this.#start]?.payload.length ?? 0;
    this.#start++;
  }

  #shift(): void {
    if (this.#start < this.#entries.length && (this.#start < MIN_SHIFT || this.#start * 2 < this.#entries.length)) {
      return;
    }
    this.#entries = this.#entries.slice(this.#start);
    this.#start = 0;
  }

  #clear(): void {
    this.#entries = [];
    this.#start = 0;
    this.#bytes = 0;
  }
}
