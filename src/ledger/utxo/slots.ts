/**
 * The memory under the table of unspent outputs: fixed-size records in typed arrays, a hash index over their slot numbers,
 * and texts that are referred to by number. Nothing here knows what a record means.
 */

/** Slots of one chunk. Small, so that a table of a few thousand outputs wastes little. */
const CHUNK_BITS = 10;
const CHUNK_SIZE = 1 << CHUNK_BITS;
const CHUNK_MASK = CHUNK_SIZE - 1;
/** Slots in use may be at most this share of the index. */
const MAX_LOAD = 0.8;
const MIN_INDEX = 1024;

/** Texts with numbers, numbers reused when freed. */
export class TextPool {
  readonly #texts: (string | undefined)[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #uses: number[] = [];
  readonly #free: number[] = [];

  find(text: string): number | undefined {
    return this.#numbers.get(text);
  }

  add(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) {
      this.#uses[known] = (this.#uses[known] ?? 0) + 1;
      return known;
    }
    const number = this.#free.pop() ?? this.#texts.length;
    this.#texts[number] = text;
    this.#uses[number] = 1;
    this.#numbers.set(text, number);
    return number;
  }

  release(number: number): void {
    const uses = (this.#uses[number] ?? 0) - 1;
    this.#uses[number] = uses;
    if (uses > 0) return;
    this.#numbers.delete(this.text(number));
    this.#texts[number] = undefined;
    this.#free.push(number);
  }

  text(number: number): string {
    const text = this.#texts[number];
    if (text === undefined) throw new Error(`UTXO table: text ${number} is not in use`);
    return text;
  }
}

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

  /** Slots there is room for; every slot number is below it. */
  get capacity(): number {
    return this.#chunks.length * CHUNK_SIZE;
  }

  get bytes(): number {
    return this.capacity * this.#words * 4;
  }
}

/** Slot numbers by the hash of their key. The owner compares keys and computes hashes. */
export class SlotIndex {
  readonly #hashOf: (slot: number) => number;
  #slots = new Uint32Array(MIN_INDEX);
  #mask = MIN_INDEX - 1;
  size = 0;

  constructor(hashOf: (slot: number) => number) {
    this.#hashOf = hashOf;
  }

  get bytes(): number {
    return this.#slots.byteLength;
  }

  /** Entries that stand in a row: the most that a look-up passes. */
  get longestRun(): number {
    let longest = 0;
    let run = 0;
    for (const slot of this.#slots) {
      run = slot === 0 ? 0 : run + 1;
      longest = Math.max(longest, run);
    }
    return longest;
  }

  /** The first slot from the hash's place on for which `same` holds, or 0. */
  find(hash: number, same: (slot: number) => boolean): number {
    const slots = this.#slots;
    const mask = this.#mask;
    for (let i = hash & mask; ; i = (i + 1) & mask) {
      const slot = slots[i] as number;
      if (slot === 0 || same(slot)) return slot;
    }
  }

  reserve(count: number): void {
    let length = this.#slots.length;
    while (count > length * MAX_LOAD) length *= 2;
    if (length !== this.#slots.length) this.#resize(length);
  }

  add(hash: number, slot: number): void {
    this.reserve(this.size + 1);
    this.#place(hash, slot);
    this.size++;
  }

  remove(hash: number, slot: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let hole = hash & mask;
    while (slots[hole] !== slot) hole = (hole + 1) & mask;
    // Backward shift: move every later entry of the run that may stand in the hole.
    for (let i = (hole + 1) & mask; slots[i] !== 0; i = (i + 1) & mask) {
      const home = this.#hashOf(slots[i] as number) & mask;
      if (((i - home) & mask) >= ((i - hole) & mask)) {
        slots[hole] = slots[i] as number;
        hole = i;
      }
    }
    slots[hole] = 0;
    this.size--;
  }

  #place(hash: number, slot: number): void {
    const mask = this.#mask;
    let i = hash & mask;
    while (this.#slots[i] !== 0) i = (i + 1) & mask;
    this.#slots[i] = slot;
  }

  #resize(length: number): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(length);
    this.#mask = length - 1;
    for (const slot of old) if (slot !== 0) this.#place(this.#hashOf(slot), slot);
  }
}
