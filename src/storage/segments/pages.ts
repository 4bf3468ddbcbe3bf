/** Cache in memory of the pages of segments read last: transactions that are near each other take one read of the file. */

import { LRUCache } from 'lru-cache';
import type { ReadSegment } from './scan.js';

const PAGE_BYTES = 16 * 1024;
/** Number of pages in memory: 8 MiB, as LevelDB keeps of its tables. */
const KEPT = 512;
/** Number larger than the pages of any segment. */
const PAGES = 2 ** 20;

export class Pages {
  readonly #kept = new LRUCache<number, Promise<Buffer>>({ max: KEPT });

  /** Reads bytes of the segment that begins with height `first`; those before `end` do not change until `drop`. */
  async read(read: ReadSegment, first: number, offset: number, length: number, end: number): Promise<Buffer> {
    const from = Math.floor(offset / PAGE_BYTES);
    const to = Math.floor((offset + length - 1) / PAGE_BYTES);
    if (to - from > 1 || (to + 1) * PAGE_BYTES > end) return read(offset, length);
    const start = offset - from * PAGE_BYTES;
    const page = await this.#page(read, first, from);
    const bytes = from === to ? page : Buffer.concat([page, await this.#page(read, first, to)]);
    return bytes.subarray(start, start + length);
  }

  /** Forgets all pages: bytes have changed, or are damaged. */
  drop(): void {
    this.#kept.clear();
  }

  #page(read: ReadSegment, first: number, page: number): Promise<Buffer> {
    const key = first * PAGES + page;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const coming = read(page * PAGE_BYTES, PAGE_BYTES);
    this.#kept.set(key, coming);
    coming.catch(() => this.#kept.delete(key));
    return coming;
  }
}
