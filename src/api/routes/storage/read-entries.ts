/** Reads many entries for one answer, a few at a time and up to a limit in bytes. */

import { TesseraError } from '../../../lib/errors.js';
import type { StoredEntry } from '../../../storage/service.js';
import type { LongAnswers } from '../../http/long-answers.js';

/** Concurrent reads for one request: a few until it is known whether the answer is a long one. */
const FIRST_READS = 4;
const READS_AT_ONCE = 32;
/** Maximum size of the entries in one answer, in bytes. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** An answer of this many bytes or more counts as a long one. */
const LONG_BYTES = 256 * 1024;

type Read<K, E> = (key: K) => Promise<E | undefined>;

/**
 * The entries under the keys, in their order. Throws `invalid_request` when they are too large for one answer, and
 * `overloaded` when too many long answers are in progress.
 */
export async function readEntries<K, E extends StoredEntry>(
  keys: readonly K[],
  read: Read<K, E>,
  long: LongAnswers,
): Promise<(E | undefined)[]> {
  const found: (E | undefined)[] = [];
  let bytes = 0;
  const readSome = async (): Promise<void> => {
    const count = Math.min(READS_AT_ONCE, FIRST_READS + found.length);
    const some = await Promise.all(keys.slice(found.length, found.length + count).map(read));
    found.push(...some);
    for (const entry of some) bytes += entry?.json.length ?? 0;
    if (bytes > MAX_ANSWER_BYTES) throw tooMuch();
  };
  while (found.length < keys.length && bytes <= LONG_BYTES) await readSome();
  if (bytes <= LONG_BYTES) return found;
  return long.make(async () => {
    while (found.length < keys.length) await readSome();
    return found;
  });
}

function tooMuch(): TesseraError {
  return new TesseraError(
    'invalid_request',
    `These entries have more than ${MAX_ANSWER_BYTES} bytes together; ask for fewer at once.`,
  );
}
