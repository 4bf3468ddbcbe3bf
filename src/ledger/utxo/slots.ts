/**
 * The memory under the table of unspent outputs: fixed-size records in typed arrays, and texts that are referred to by number.
 * Nothing here knows what a record means. What finds a slot by its key is `slot-index.ts`.
 */

/** Slots of one chunk. Small, so that a table of a few thousand outputs wastes little. */
const CHUNK_BITS = 10;
const CHUNK_SIZE = 1 << CHUNK_BITS;
const CHUNK_MASK = CHUNK_SIZE - 1;

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
