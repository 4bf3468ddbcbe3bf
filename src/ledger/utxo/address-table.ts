/**
 * The addresses that have unspent outputs: each has a slot of 9 words, found by its text, with the first output of its list.
 * An address is packed into 8 words; what does not fit them is kept as text.
 */

import { mix, mixText } from '../../lib/set-digest.js';
import { hexOf, readHexWords } from './hex-words.js';
import type { KeyedHash } from './keyed-hash.js';
import { SlotIndex } from './slot-index.js';
import { SlotStore } from './slots.js';
import { TextPool } from './text-pool.js';

// Words of a slot: 8 of text, then the first output with the kind in the upper two bits.
const WORDS = 9;
const HEAD = 8;
const HEAD_MASK = 0x3fff_ffff;
/** 64 hex digits in 8 words. */
const KIND_HEX64 = 0;
/** 32 hex digits in 4 words. */
const KIND_HEX32 = 1;
/** `H` and 63 hex digits; the last nibble is 0. */
const KIND_P2SH = 2;
/** Any other text: word 0 is its number in `#oddTexts`. */
const KIND_ODD = 3;

export class AddressTable {
  readonly #slots = new SlotStore(WORDS, 0);
  readonly #index: SlotIndex;
  readonly #oddTexts: TextPool;
  readonly #hash: KeyedHash;
  // The address that is looked for; filled by #readKey, so that a look-up allocates nothing.
  readonly #key = new Uint32Array(8);
  #kind = 0;
  readonly #isKey = (slot: number): boolean => {
    const c = this.#slots.chunk(slot);
    const b = this.#slots.base(slot);
    if ((c[b + HEAD] as number) >>> 30 !== this.#kind) return false;
    for (let i = 0; i < 8; i++) if (c[b + i] !== this.#key[i]) return false;
    return true;
  };

  constructor(hash: KeyedHash) {
    this.#hash = hash;
    this.#oddTexts = new TextPool(hash);
    this.#index = new SlotIndex((slot) => this.#hashOf(slot));
  }

  /** Bytes of the typed arrays. */
  get bytes(): number {
    return this.#slots.bytes + this.#index.bytes;
  }

  /** The most entries that a look-up passes; counted on demand. */
  get longestRun(): number {
    return this.#index.longestRun;
  }

  /** The slot of an address, 0 when it has no unspent output. */
  find(address: string): number {
    return this.#readKey(address, false) ? this.#index.find(this.#keyHash(), this.#isKey) : 0;
  }

  /** The slot of an address, made when it is new. */
  findOrAdd(address: string): number {
    const found = this.find(address);
    if (found !== 0) return found;
    this.#readKey(address, true);
    return this.#addKey(this.#keyHash());
  }

  /** Copies the words of an address, whose kind it returns; -1 for an odd text, which has none. */
  copyWords(slot: number, into: Uint32Array, at: number): number {
    const c = this.#slots.chunk(slot);
    const b = this.#slots.base(slot);
    const kind = (c[b + HEAD] as number) >>> 30;
    if (kind === KIND_ODD) return -1;
    for (let i = 0; i < HEAD; i++) into[at + i] = c[b + i] as number;
    return kind;
  }

  /** `findOrAdd` for what `copyWords` has copied. */
  findOrAddWords(kind: number, words: Uint32Array, at: number): number {
    for (let i = 0; i < HEAD; i++) this.#key[i] = words[at + i] as number;
    this.#kind = kind;
    const hash = this.#keyHash();
    const found = this.#index.find(hash, this.#isKey);
    return found === 0 ? this.#addKey(hash) : found;
  }

  /** Makes room for so many addresses at once. */
  reserve(count: number): void {
    this.#index.reserve(count);
  }

  #addKey(hash: number): number {
    const slot = this.#slots.take();
    const c = this.#slots.chunk(slot);
    const b = this.#slots.base(slot);
    c.set(this.#key, b);
    c[b + HEAD] = this.#kind << 30;
    this.#index.add(hash, slot);
    return slot;
  }

  remove(slot: number): void {
    const c = this.#slots.chunk(slot);
    const b = this.#slots.base(slot);
    this.#index.remove(this.#hashOf(slot), slot);
    if ((c[b + HEAD] as number) >>> 30 === KIND_ODD) this.#oddTexts.release(c[b] as number);
    this.#slots.giveBack(slot);
  }

  text(slot: number): string {
    const c = this.#slots.chunk(slot);
    const b = this.#slots.base(slot);
    switch ((c[b + HEAD] as number) >>> 30) {
      case KIND_HEX64:
        return hexOf(c, b, 64);
      case KIND_HEX32:
        return hexOf(c, b, 32);
      case KIND_P2SH:
        return `H${hexOf(c, b, 63)}`;
      default:
        return this.#oddTexts.text(c[b] as number);
    }
  }

  /** The first output of the list of an address. */
  firstOutput(slot: number): number {
    return (this.#slots.chunk(slot)[this.#slots.base(slot) + HEAD] as number) & HEAD_MASK;
  }

  setFirstOutput(slot: number, output: number): void {
    const c = this.#slots.chunk(slot);
    const head = this.#slots.base(slot) + HEAD;
    c[head] = ((c[head] as number) & ~HEAD_MASK) | output;
  }

  /** Mixes the address into a digest: the same for the same text, whatever its slot. */
  mixInto(x: number, slot: number): number {
    const c = this.#slots.chunk(slot);
    const b = this.#slots.base(slot);
    const kind = (c[b + HEAD] as number) >>> 30;
    let mixed = mix(x, kind);
    if (kind === KIND_ODD) return mixText(mixed, this.#oddTexts.text(c[b] as number));
    for (let i = 0; i < 8; i++) mixed = mix(mixed, c[b + i] as number);
    return mixed;
  }

  /** Puts an address into the key; with `add` an odd text gets a number, without it false means that nobody knows it. */
  #readKey(address: string, add: boolean): boolean {
    const key = this.#key;
    key.fill(0);
    this.#kind = KIND_ODD;
    if (address.length === 64) {
      if (address.charCodeAt(0) === 72) {
        if (readHexWords(address, 1, 63, key)) this.#kind = KIND_P2SH;
      } else if (readHexWords(address, 0, 64, key)) this.#kind = KIND_HEX64;
    } else if (address.length === 32 && readHexWords(address, 0, 32, key)) this.#kind = KIND_HEX32;
    if (this.#kind !== KIND_ODD) return true;
    const number = add ? this.#oddTexts.add(address) : this.#oddTexts.find(address);
    if (number === undefined) return false;
    key.fill(0);
    key[0] = number;
    return true;
  }

  #keyHash(): number {
    return this.#hash.of(this.#key, 0, HEAD, this.#kind);
  }

  #hashOf(slot: number): number {
    const c = this.#slots.chunk(slot);
    const b = this.#slots.base(slot);
    return this.#hash.of(c, b, HEAD, (c[b + HEAD] as number) >>> 30);
  }
}
