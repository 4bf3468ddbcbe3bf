/** The memory under the table of unspent outputs: fixed-size records in typed arrays, and values that few records have. */

/** Bits of a slot's number inside its chunk, which has over a megabyte. A chunk is found faster among few. */
const CHUNK_BITS = 14;
const CHUNK_SIZE = 1 << CHUNK_BITS;
const CHUNK_MASK = CHUNK_SIZE - 1;

/** Slots of a fixed number of words, in chunks that are never moved. */
export class SlotStore {
  readonly #words: number;
  readonly #chunks: Uint32Array[] = [];
  #used = 1;
  #free = 0;
  readonly #link: number;

  constructor(words: number, link: number) {
    this.#words = words;
    this.#link = link;
  }

  chunk(slot: number): Uint32Array {
    return this.#chunks[slot >>> CHUNK_BITS] as Uint32Array;
  }

  base(slot: number): number {
    return (slot & CHUNK_MASK) * this.#words;
  }

  /** Fetches the first and last words of many slots into the cache; the array is overwritten. */
  approach(slots: Uint32Array, count: number): void {
    for (let i = 0; i < count; i++) {
      const slot = slots[i] as number;
      if (slot === 0) continue;
      const chunk = this.chunk(slot);
      const base = this.base(slot);
      // The words are stored, or the compiler would leave out loads that nobody uses.
      slots[i] = (chunk[base] as number) ^ (chunk[base + this.#words - 1] as number);
    }
  }

  take(): number {
    if (this.#free !== 0) {
      const slot = this.#free;
      this.#free = this.chunk(slot)[this.base(slot) + this.#link] as number;
      return slot;
    }
    const slot = this.#used++;
    if (slot >>> CHUNK_BITS >= this.#chunks.length) this.#chunks.push(new Uint32Array(CHUNK_SIZE * this.#words));
    return slot;
  }

  giveBack(slot: number): void {
    this.chunk(slot)[this.base(slot) + this.#link] = this.#free;
    this.#free = slot;
  }

  /** One more than the highest slot that was ever taken. */
  get end(): number {
    return this.#used;
  }

  /** Bytes of all slots that were ever taken. */
  get bytes(): number {
    return this.#used * this.#words * 4;
  }
}

/** Bits of a slot's number inside its Map: a Map doubles in one go, and holds 16.7 million entries at most. */
const SHARED_BITS = 13;

/** Values that few slots have. */
export class SlotMap<T> {
  readonly #maps = new Map<number, Map<number, T>>();

  get(slot: number): T | undefined {
    return this.#maps.get(slot >>> SHARED_BITS)?.get(slot);
  }

  set(slot: number, value: T): void {
    const shared = this.#maps.get(slot >>> SHARED_BITS);
    if (shared === undefined) this.#maps.set(slot >>> SHARED_BITS, new Map([[slot, value]]));
    else shared.set(slot, value);
  }

  delete(slot: number): void {
    const shared = this.#maps.get(slot >>> SHARED_BITS);
    shared?.delete(slot);
    if (shared?.size === 0) this.#maps.delete(slot >>> SHARED_BITS);
  }
}
