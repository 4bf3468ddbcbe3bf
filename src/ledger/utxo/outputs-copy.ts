/** Outputs of one address, copied at one moment and decoded one by one, so that a long list can be answered in slices. */

import { withFixedHash } from '../../chain/assets.js';
import type { Asset, OutPoint } from '../../chain/types.js';
import { compareUtf8 } from '../../lib/bytes.js';
import { AMOUNT_HIGH, AMOUNT_LOW, HASH_WORDS, hexOf, N } from './output-words.js';

/** An unspent output as balances show it: the creating transaction's hash replaces a null genesis hash (decision V6). */
export interface Holding {
  readonly outPoint: OutPoint;
  readonly value: Asset;
  readonly locktime: bigint;
}

/** The unspent outputs of an address at one moment, by hash and index. The iteration decodes them one by one. */
export interface Holdings extends Iterable<Holding> {
  readonly count: number;
  readonly tokens: bigint;
  /** Amounts by genesis hash. */
  readonly items: ReadonlyMap<string, bigint>;
}

/** Data of an item besides its amount. */
export interface ItemRest {
  readonly genesisHash: string | null;
  readonly metadata: string | null;
}

/** Parts that do not fit the words of an output. */
interface Rest {
  /** The transaction hash, when it is not `g` and 31 hex digits. */
  readonly hash: string | undefined;
  readonly item: ItemRest | undefined;
  readonly locktime: bigint;
}

/** Words that are copied of an output: those of its slot in the table up to the amount. */
const WORDS = AMOUNT_HIGH + 1;

export class OutputsCopy implements Holdings {
  readonly count: number;
  /** False when the address has more outputs than were asked for. */
  readonly isWhole: boolean;
  readonly items = new Map<string, bigint>();
  readonly #words: Uint32Array;
  readonly #rests: (Rest | undefined)[];
  #low = 0;
  #high = 0;

  constructor(count: number, isWhole: boolean) {
    this.count = count;
    this.isWhole = isWhole;
    this.#words = new Uint32Array(count * WORDS);
    this.#rests = new Array(count);
  }

  get tokens(): bigint {
    return (BigInt(this.#high) << 32n) + BigInt(this.#low);
  }

  /** Sets the output at an index to the words from `base` on; the table calls this once for each output. */
  set(index: number, words: Uint32Array, base: number, rest?: Rest): void {
    for (let i = 0; i < WORDS; i++) this.#words[index * WORDS + i] = words[base + i] as number;
    this.#rests[index] = rest;
    if (rest?.item !== undefined) {
      const id = rest.item.genesisHash ?? this.#hash(index);
      this.items.set(id, (this.items.get(id) ?? 0n) + this.#amount(index));
      return;
    }
    // Sums of 32 bits each are exact: an answer has far fewer than two million outputs.
    this.#low += words[base + AMOUNT_LOW] as number;
    this.#high += words[base + AMOUNT_HIGH] as number;
  }

  /** The outputs by hash and index. A heap gives the next one when it is asked for, so that no step of the loop is long. */
  *[Symbol.iterator](): Generator<Holding> {
    const heap = Uint32Array.from({ length: this.count }, (_, index) => index);
    for (let i = (this.count >>> 1) - 1; i >= 0; i--) this.#sink(heap, i, this.count);
    for (let size = this.count; size > 0; size--) {
      const first = heap[0] as number;
      heap[0] = heap[size - 1] as number;
      this.#sink(heap, 0, size - 1);
      yield this.#holding(first);
    }
  }

  #holding(index: number): Holding {
    const outPoint: OutPoint = { tHash: this.#hash(index), n: this.#n(index) };
    return {
      outPoint,
      value: withFixedHash(this.#asset(index), outPoint),
      locktime: this.#rests[index]?.locktime ?? 0n,
    };
  }

  #hash(index: number): string {
    return this.#rests[index]?.hash ?? `g${hexOf(this.#words, index * WORDS, 31)}`;
  }

  #n(index: number): number {
    return (this.#words[index * WORDS + N] as number) | 0;
  }

  #amount(index: number): bigint {
    const at = index * WORDS;
    return (BigInt(this.#words[at + AMOUNT_HIGH] as number) << 32n) | BigInt(this.#words[at + AMOUNT_LOW] as number);
  }

  #asset(index: number): Asset {
    const item = this.#rests[index]?.item;
    const amount = this.#amount(index);
    return item === undefined ? { kind: 'token', amount } : { kind: 'item', amount, ...item };
  }

  #isBefore(a: number, b: number): boolean {
    const order = this.#compareHashes(a, b);
    return order === 0 ? this.#n(a) < this.#n(b) : order < 0;
  }

  #compareHashes(a: number, b: number): number {
    if (this.#rests[a]?.hash !== undefined || this.#rests[b]?.hash !== undefined) {
      return compareUtf8(this.#hash(a), this.#hash(b));
    }
    for (let i = 0; i < HASH_WORDS; i++) {
      const order = (this.#words[a * WORDS + i] as number) - (this.#words[b * WORDS + i] as number);
      if (order !== 0) return order;
    }
    return 0;
  }

  #sink(heap: Uint32Array, from: number, size: number): void {
    let parent = from;
    for (;;) {
      let first = parent;
      for (let child = 2 * parent + 1; child <= 2 * parent + 2 && child < size; child++) {
        if (this.#isBefore(heap[child] as number, heap[first] as number)) first = child;
      }
      if (first === parent) return;
      const moved = heap[parent] as number;
      heap[parent] = heap[first] as number;
      heap[first] = moved;
      parent = first;
    }
  }
}
