/**
 * Pages of the lists in the index. The cursor of a page is the key of its last entry: the next page begins behind it, whatever
 * was added or removed meanwhile, and a cursor of another list is refused.
 */

import type { Kv, KvEntry, KvRange } from '../../db/kv.js';
import { compareBytes } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import type { Page, PageQuery } from './service.js';

const CURSOR = /^[A-Za-z0-9_-]+$/;

/** A page of the list, one entry at a time; `limit` is positive. */
export async function readPage(
  kv: Pick<Kv, 'entries'>,
  list: KvRange,
  { limit, cursor }: PageQuery,
): Promise<Page<KvEntry>> {
  const entries: KvEntry[] = [];
  for await (const entry of kv.entries({ ...behind(list, cursor), limit: limit + 1 })) entries.push(entry);
  const shown = entries.slice(0, limit);
  const last = shown.at(-1);
  return { entries: shown, next: entries.length > limit && last !== undefined ? cursorOf(last[0]) : null };
}

/** A list in memory, in any order, that is read like one of a database. */
export class ShortList {
  readonly #entries: readonly KvEntry[];

  constructor(entries: readonly KvEntry[]) {
    this.#entries = entries;
  }

  async *entries({ gte, lt, reverse = false, limit }: KvRange): AsyncGenerator<KvEntry> {
    const inside = this.#entries.filter(([key]) => compareBytes(key, gte) >= 0 && compareBytes(key, lt) < 0);
    yield* inside.sort(([a], [b]) => (reverse ? compareBytes(b, a) : compareBytes(a, b))).slice(0, limit);
  }
}

export function cursorOf(key: Uint8Array): string {
  return Buffer.from(key).toString('base64url');
}

/** The key that a cursor names. Throws `invalid_request` when the key is not of the list. */
export function keyOfCursor(cursor: string, { gte, lt }: KvRange): Uint8Array {
  const key = CURSOR.test(cursor) ? Buffer.from(cursor, 'base64url') : undefined;
  const isOfList =
    key !== undefined && cursorOf(key) === cursor && compareBytes(key, gte) >= 0 && compareBytes(key, lt) < 0;
  if (!isOfList) throw new TesseraError('invalid_request', 'query/cursor is not a cursor of this list.');
  return key;
}

/** Rest of the list behind a cursor. */
function behind(list: KvRange, cursor: string | undefined): KvRange {
  if (cursor === undefined) return list;
  const key = keyOfCursor(cursor, list);
  return list.reverse ? { ...list, lt: key } : { ...list, gte: Buffer.concat([key, Uint8Array.of(0)]) };
}
