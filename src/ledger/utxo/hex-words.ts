/**
 * Hex digits packed into 32-bit words, eight to a word, the first digit in the highest bits; the rest of a last word is 0.
 */

const NIBBLE = new Int8Array(128).fill(-1);
for (let i = 0; i < 10; i++) NIBBLE[48 + i] = i;
for (let i = 0; i < 6; i++) NIBBLE[97 + i] = 10 + i;

const scratch = Buffer.allocUnsafe(32);

/** Packs `digits` characters from `start` on; false when one of them is not a lower-case hex digit. */
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
