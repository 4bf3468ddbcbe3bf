/** The words by which items are found: those of their metadata, and those of a search. */

import type { Kv } from '../../db/kv.js';
import { fromUtf8 } from '../../lib/bytes.js';
import { wordsFrom } from './layout.js';

/** The most words of one metadata, and of one search, that count. */
const MAX_WORDS = 32;
const MAX_ASKED = 8;
/** The most characters of a word that count. */
const MAX_LENGTH = 24;
/** The most records that are read for each word of a search. */
const MAX_READ = 1_000;

/** The words of a text, each once, in small letters; `é` is one character, however it was typed. */
export function wordsOf(text: string): readonly string[] {
  const words =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return [...new Set(words.map((word) => word.slice(0, MAX_LENGTH)))].slice(0, MAX_WORDS);
}

/** Genesis hashes of items for which each word of the text begins a word of the metadata. */
export async function itemsWith(text: string, kv: Kv): Promise<readonly string[]> {
  const words = wordsOf(text).slice(0, MAX_ASKED);
  let common: readonly string[] | undefined;
  for (const word of words) {
    const found = new Set<string>();
    for await (const [, hash] of kv.entries({ ...wordsFrom(word), limit: MAX_READ })) found.add(fromUtf8(hash));
    common = common?.filter((hash) => found.has(hash)) ?? [...found];
  }
  return common ?? [];
}
