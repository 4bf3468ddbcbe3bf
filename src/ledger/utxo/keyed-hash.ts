/**
 * HalfSipHash-1-3 over 32-bit words, for the indexes. Strangers choose addresses and, with work, hashes; without a key
 * they could put thousands of entries into one run of an index.
 */

/** Bytes of a key. */
export const HASH_KEY_BYTES = 8;

// Initial state of HalfSipHash; half of it is the key.
const C2 = 0x6c79_6765;
const C3 = 0x7465_6462;

export class KeyedHash {
  readonly #k0: number;
  readonly #k1: number;

  /** `key` is `HASH_KEY_BYTES` random bytes. */
  constructor(key: Uint8Array) {
    if (key.length !== HASH_KEY_BYTES) throw new RangeError(`a hash key has ${HASH_KEY_BYTES} bytes`);
    const view = new DataView(key.buffer, key.byteOffset, key.byteLength);
    this.#k0 = view.getInt32(0, true);
    this.#k1 = view.getInt32(4, true);
  }

  ofText(text: string): number {
    const words = new Uint32Array((text.length + 1) >>> 1);
    for (let i = 0; i < text.length; i++) {
      const at = i >>> 1;
      words[at] = (words[at] as number) | (text.charCodeAt(i) << (16 * (i & 1)));
    }
    return this.of(words, 0, words.length, text.length);
  }

  /** The hash, as a signed 32-bit number, of `count` words from `from` on, followed by the word `last`. */
  of(words: Uint32Array, from: number, count: number, last: number): number {
    let v0 = this.#k0;
    let v1 = this.#k1;
    let v2 = C2 ^ v0;
    let v3 = C3 ^ v1;
    // Each word takes one round, and so does their number; three rounds finish.
    for (let i = 0; i <= count + 4; i++) {
      let m = 0;
      if (i < count) m = (words[from + i] as number) | 0;
      else if (i === count) m = last | 0;
      else if (i === count + 1) m = (count + 1) << 26;
      else if (i === count + 2) v2 ^= 0xff;
      v3 ^= m;
      v0 = (v0 + v1) | 0;
      v1 = (v1 << 5) | (v1 >>> 27);
      v1 ^= v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = (v3 << 8) | (v3 >>> 24);
      v3 ^= v2;
      v0 = (v0 + v3) | 0;
      v3 = (v3 << 7) | (v3 >>> 25);
      v3 ^= v0;
      v2 = (v2 + v1) | 0;
      v1 = (v1 << 13) | (v1 >>> 19);
      v1 ^= v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= m;
    }
    return v1 ^ v3;
  }
}
