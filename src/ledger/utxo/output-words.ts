/** The words of an output in memory: outpoint, value and address side by side, for one access to memory. Slot 0 means none. */

/** First word of the hash: 31 hex digits behind the `g` of the transaction's hash; `KINDS` are the last four bits. */
export const HASH = 0;
export const HASH_WORDS = 4;
/** Last word of the hash, with the kinds of hash and address. */
export const KINDS = 3;
/** Index of the output in its transaction, as a signed number. */
export const N = 4;
export const AMOUNT_LOW = 5;
export const AMOUNT_HIGH = 6;
export const LOCKTIME = 7;
export const ADDRESS = 8;
export const ADDRESS_WORDS = 8;
/** Slot of the next output of the same address, or the next free slot; with the flags of an item and of a claim. */
export const NEXT = 16;
/** Slot of the previous output in the list of the address. */
export const PREVIOUS = 17;
export const OUT_WORDS = 18;

/** Words of an output that mean the same in every table: the words before `NEXT`. */
export const ROW_WORDS = ADDRESS + ADDRESS_WORDS;

/** Bits of KINDS that say how the address is packed: as 64 hex digits, 32 hex digits, `H` and 63 hex digits, or a text. */
export const ADDRESS_KIND = 0x3;
export const KIND_HEX64 = 0;
export const KIND_HEX32 = 1;
export const KIND_P2SH = 2;
/** Kind of an address that is a text: the first word is the number of the text, or 0 where there is no address. */
export const KIND_ODD = 3;
/** Bits of KINDS that say how the hash is kept: 0 for hex digits, ODD_HASH for the number of a text in the first word, FREE for a free slot. */
export const HASH_KIND = 0xc;
export const ODD_HASH = 0x8;
export const FREE = 0x4;

export const ITEM_FLAG = 0x8000_0000;
export const CLAIMED_FLAG = 0x4000_0000;
export const SLOT_MASK = 0x3fff_ffff;

/** Value of LOCKTIME for a locktime that does not fit the word and is kept elsewhere. */
export const LARGE_LOCKTIME = 0xffff_ffff;

/** Outputs that are handled together, step by step: the processor waits for several at a time, and the cache keeps fetched words. */
export const GROUP = 64;

const NIBBLE = new Int8Array(128).fill(-1);
for (let i = 0; i < 10; i++) NIBBLE[48 + i] = i;
for (let i = 0; i < 6; i++) NIBBLE[97 + i] = 10 + i;

const scratch = Buffer.allocUnsafe(32);

/** Packs `digits` characters from `start` on; false when any of them is not a lower-case hex digit. */
export function readHexWords(text: string, start: number, digits: number, into: Uint32Array): boolean {
  let word = 0;
  let at = 0;
  for (let i = 0; i < digits; i++) {
    const code = text.charCodeAt(start + i);
    const nibble = code < 128 ? (NIBBLE[code] as number) : -1;
    if (nibble < 0) return false;
    word = (word << 4) | nibble;
    if ((i & 7) === 7) {
      into[at++] = word;
      word = 0;
    }
  }
  const rest = digits & 7;
  if (rest !== 0) into[at] = word << (4 * (8 - rest));
  return true;
}

/** The first `digits` hex digits of the words from `base` on; at most 64. */
export function hexOf(words: Uint32Array, base: number, digits: number): string {
  const count = (digits + 7) >>> 3;
  for (let i = 0; i < count; i++) scratch.writeUInt32BE(words[base + i] as number, i * 4);
  const text = scratch.toString('hex', 0, count * 4);
  return text.length === digits ? text : text.slice(0, digits);
}
