/** The list of outputs of each address, latest first, linked in the words of the outputs; unusual addresses are kept as texts. */

import { mix, mixText } from '../../lib/set-digest.js';
import type { KeyedHash } from './keyed-hash.js';
import {
  ADDRESS,
  ADDRESS_KIND,
  ADDRESS_WORDS,
  GROUP,
  hexOf,
  KIND_HEX32,
  KIND_HEX64,
  KIND_ODD,
  KIND_P2SH,
  KINDS,
  NEXT,
  PREVIOUS,
  readHexWords,
  SLOT_MASK,
} from './output-words.js';
import { SlotIndex } from './slot-index.js';
import type { SlotStore } from './slots.js';
import { TextPool } from './text-pool.js';

export class AddressLists {
  readonly #outs: SlotStore;
  readonly #hash: KeyedHash;
  readonly #index: SlotIndex;
  readonly #oddTexts: TextPool;
  // The address of the current look-up, kept here so that a look-up allocates nothing.
  readonly #key = new Uint32Array(ADDRESS_WORDS);
  #kind = 0;
  // Hashes and first places of the group of outputs that is being added.
  readonly #hashes = new Int32Array(GROUP);
  readonly #firsts = new Uint32Array(GROUP);
  readonly #isKey = (slot: number): boolean => {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    if (((c[b + KINDS] as number) & ADDRESS_KIND) !== this.#kind) return false;
    for (let i = 0; i < ADDRESS_WORDS; i++) if (c[b + ADDRESS + i] !== this.#key[i]) return false;
    return true;
  };

  constructor(outs: SlotStore, hash: KeyedHash) {
    this.#outs = outs;
    this.#hash = hash;
    this.#oddTexts = new TextPool(hash);
    this.#index = new SlotIndex((slot) => this.#hashOf(slot));
  }

  get bytes(): number {
    return this.#index.bytes;
  }

  /** Most entries that a look-up passes; counted on demand. */
  get longestRun(): number {
    return this.#index.longestRun;
  }

  reserve(count: number): void {
    this.#index.reserve(count);
  }

  first(address: string): number {
    return this.#readKey(address, false) ? this.#index.find(this.#keyHash(), this.#isKey) : 0;
  }

  next(slot: number): number {
    return (this.#outs.chunk(slot)[this.#outs.base(slot) + NEXT] as number) & SLOT_MASK;
  }

  /** Writes the address of a new output, whose other words are written, and puts the output in front of its list. */
  add(slot: number, address: string | null): void {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    if (address === null) {
      this.#key.fill(0);
      this.#kind = KIND_ODD;
    } else this.#readKey(address, true);
    c.set(this.#key, b + ADDRESS);
    c[b + KINDS] = (c[b + KINDS] as number) | this.#kind;
    if (address !== null) this.#link(slot, this.#keyHash());
  }

  /** Puts outputs, `GROUP` at most, whose words are written in front of the lists of their addresses. */
  addAll(slots: Uint32Array, count: number): void {
    for (let i = 0; i < count; i++) this.#hashes[i] = this.#hashOf(slots[i] as number);
    this.#index.approach(this.#hashes, count, this.#firsts);
    for (let i = 0; i < count; i++) {
      const slot = slots[i] as number;
      if (!this.has(slot)) continue;
      const c = this.#outs.chunk(slot);
      const b = this.#outs.base(slot);
      for (let k = 0; k < ADDRESS_WORDS; k++) this.#key[k] = c[b + ADDRESS + k] as number;
      this.#kind = (c[b + KINDS] as number) & ADDRESS_KIND;
      this.#link(slot, this.#hashes[i] as number);
    }
  }

  /** Takes an output out of its list; the address goes with its last output. */
  remove(slot: number): void {
    if (!this.has(slot)) return;
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    const next = this.next(slot);
    const previous = c[b + PREVIOUS] as number;
    if (next !== 0) this.#outs.chunk(next)[this.#outs.base(next) + PREVIOUS] = previous;
    if (previous !== 0) this.#setNext(previous, next);
    else if (next !== 0) this.#index.replace(this.#hashOf(slot), slot, next);
    else this.#index.remove(this.#hashOf(slot), slot);
    if (((c[b + KINDS] as number) & ADDRESS_KIND) === KIND_ODD) this.#oddTexts.release(c[b + ADDRESS] as number);
  }

  /** True if an output has an address. */
  has(slot: number): boolean {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    return ((c[b + KINDS] as number) & ADDRESS_KIND) !== KIND_ODD || c[b + ADDRESS] !== 0;
  }

  isOdd(slot: number): boolean {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    return ((c[b + KINDS] as number) & ADDRESS_KIND) === KIND_ODD && c[b + ADDRESS] !== 0;
  }

  text(slot: number): string | null {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    switch ((c[b + KINDS] as number) & ADDRESS_KIND) {
      case KIND_HEX64:
        return hexOf(c, b + ADDRESS, 64);
      case KIND_HEX32:
        return hexOf(c, b + ADDRESS, 32);
      case KIND_P2SH:
        return `H${hexOf(c, b + ADDRESS, 63)}`;
      default:
        return c[b + ADDRESS] === 0 ? null : this.#oddTexts.text(c[b + ADDRESS] as number);
    }
  }

  /** Mixes the address of an output into a digest: equal texts give equal digests. */
  mixInto(x: number, slot: number): number {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    const kind = (c[b + KINDS] as number) & ADDRESS_KIND;
    if (kind === KIND_ODD) {
      const number = c[b + ADDRESS] as number;
      return number === 0 ? x : mixText(mix(x, kind), this.#oddTexts.text(number));
    }
    let mixed = mix(x, kind);
    for (let i = ADDRESS; i < ADDRESS + ADDRESS_WORDS; i++) mixed = mix(mixed, c[b + i] as number);
    return mixed;
  }

  /** Puts an output in front of the list of the address in the key, which is its own. */
  #link(slot: number, hash: number): void {
    const first = this.#index.find(hash, this.#isKey);
    this.#setNext(slot, first);
    this.#outs.chunk(slot)[this.#outs.base(slot) + PREVIOUS] = 0;
    if (first === 0) {
      this.#index.add(hash, slot);
      return;
    }
    this.#outs.chunk(first)[this.#outs.base(first) + PREVIOUS] = slot;
    this.#index.replace(hash, first, slot);
  }

  #setNext(slot: number, next: number): void {
    const c = this.#outs.chunk(slot);
    const at = this.#outs.base(slot) + NEXT;
    c[at] = ((c[at] as number) & ~SLOT_MASK) | next;
  }

  /** Puts an address into the key. With `add`, an odd text gets one more use; without it, false means an unknown address. */
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
    return this.#hash.of(this.#key, 0, ADDRESS_WORDS, this.#kind);
  }

  #hashOf(slot: number): number {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    return this.#hash.of(c, b + ADDRESS, ADDRESS_WORDS, (c[b + KINDS] as number) & ADDRESS_KIND);
  }
}
