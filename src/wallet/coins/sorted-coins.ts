/** Coins in order, in pieces of some hundred: a change moves one piece only, and nothing sorts all of them. */

import type { Pieces } from '../../lib/pieces.js';
import type { Coin } from './coin.js';
import type { CoinList } from './coin-selection.js';

/** Coins of a piece, which is split when it has twice as many. */
const PIECE = 256;

/** Coins of a run, which is sorted at once while a list is filled, and coins that one step of merging runs handles. */
const RUN = 2_048;

/** Order of coins; no two coins of a list may be equal. */
type Compare = (a: Coin, b: Coin) => number;

export class SortedCoins implements CoinList<Coin> {
  readonly #compare: Compare;
  /** Pieces of the list, none of them empty. */
  readonly #pieces: Coin[][] = [];
  /** Number of coins before each piece, as far as `#counted`. */
  readonly #before: number[] = [];
  #counted = 0;
  #length = 0;
  #total = 0n;
  #last = 0;
  /** Coins added while the list is filled, in runs: all but the last one are sorted. */
  #runs: Coin[][] | undefined;

  constructor(compare: Compare) {
    this.#compare = compare;
  }

  /** A list for many coins, which are sorted together; it is not read before `filled`. */
  static filling(compare: Compare): SortedCoins {
    const coins = new SortedCoins(compare);
    coins.#runs = [];
    return coins;
  }

  /** Ends the filling. */
  *filled(): Pieces<void> {
    let runs = this.#runs ?? [];
    this.#runs = undefined;
    runs.at(-1)?.sort(this.#compare);
    while (runs.length > 1) {
      const joined: Coin[][] = [];
      for (let i = 0; i < runs.length; i += 2) joined.push(yield* this.#join(runs[i] ?? [], runs[i + 1] ?? []));
      runs = joined;
    }
    const [all = []] = runs;
    for (let from = 0; from < all.length; from += PIECE) this.#pieces.push(all.slice(from, from + PIECE));
  }

  get length(): number {
    return this.#length;
  }

  get total(): bigint {
    return this.#total;
  }

  add(coin: Coin): void {
    this.#length++;
    this.#total += coin.amount;
    if (this.#runs !== undefined) {
      this.#addToRun(coin, this.#runs);
      return;
    }
    const at = Math.max(this.#pieceOf(coin), 0);
    const piece = this.#pieces[at];
    if (piece === undefined) {
      this.#pieces.push([coin]);
      return;
    }
    piece.splice(this.#placeIn(piece, coin), 0, coin);
    if (piece.length >= 2 * PIECE) this.#pieces.splice(at + 1, 0, piece.splice(PIECE));
    this.#changed(at);
  }

  remove(coin: Coin): void {
    const at = this.#pieceOf(coin);
    const piece = this.#pieces[at];
    const place = piece === undefined ? -1 : this.#placeIn(piece, coin);
    if (piece?.[place] !== coin) throw new Error(`broken invariant: the coin ${coin.key} is not in its list`);
    this.#length--;
    this.#total -= coin.amount;
    piece.splice(place, 1);
    if (piece.length === 0) this.#pieces.splice(at, 1);
    this.#changed(at);
  }

  at(index: number): Coin | undefined {
    if (index < 0 || index >= this.#length) return undefined;
    this.#count();
    const isHere = (piece: number): boolean =>
      index >= (this.#before[piece] ?? this.#length) && index < (this.#before[piece + 1] ?? this.#length);
    if (!isHere(this.#last)) this.#last = lastWhere(this.#before.length, (i) => (this.#before[i] ?? 0) <= index);
    return this.#pieces[this.#last]?.[index - (this.#before[this.#last] ?? 0)];
  }

  slice(from = 0, to = this.#length): Coin[] {
    const coins: Coin[] = [];
    for (let i = from; i < Math.min(to, this.#length); i++) {
      const coin = this.at(i);
      if (coin !== undefined) coins.push(coin);
    }
    return coins;
  }

  #addToRun(coin: Coin, runs: Coin[][]): void {
    const run = runs.at(-1);
    if (run !== undefined && run.length < RUN) run.push(coin);
    else {
      run?.sort(this.#compare);
      runs.push([coin]);
    }
  }

  *#join(a: readonly Coin[], b: readonly Coin[]): Pieces<Coin[]> {
    const joined: Coin[] = [];
    for (let [i, j] = [0, 0]; i < a.length || j < b.length; ) {
      const [one, other] = [a[i], b[j]];
      const isFirst = one !== undefined && (other === undefined || this.#compare(one, other) < 0);
      const next = isFirst ? one : other;
      if (next !== undefined) joined.push(next);
      if (isFirst) i++;
      else j++;
      if (joined.length % RUN === 0) yield;
    }
    return joined;
  }

  /** The last piece that begins with the coin or before it; -1 when there is none. */
  #pieceOf(coin: Coin): number {
    return lastWhere(this.#pieces.length, (i) => this.#compare(this.#pieces[i]?.[0] ?? coin, coin) <= 0);
  }

  #placeIn(piece: readonly Coin[], coin: Coin): number {
    return 1 + lastWhere(piece.length, (i) => this.#compare(piece[i] ?? coin, coin) < 0);
  }

  #changed(piece: number): void {
    this.#counted = Math.min(this.#counted, piece);
  }

  #count(): void {
    if (this.#counted === this.#pieces.length && this.#before.length === this.#counted) return;
    let sum = this.#counted === 0 ? 0 : (this.#before[this.#counted - 1] ?? 0);
    if (this.#counted > 0) sum += this.#pieces[this.#counted - 1]?.length ?? 0;
    this.#before.length = this.#counted;
    for (const { length } of this.#pieces.slice(this.#counted)) {
      this.#before.push(sum);
      sum += length;
    }
    this.#counted = this.#pieces.length;
  }
}

/** The last index for which `holds` is true, as it is for all before it; -1 when for none. */
function lastWhere(length: number, holds: (index: number) => boolean): number {
  let [from, to] = [0, length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (holds(middle)) from = middle + 1;
    else to = middle;
  }
  return from - 1;
}

/** Two lists in ascending order of amount, read as one, without a copy of either. */
export class MergedCoins implements CoinList<Coin> {
  readonly #first: CoinList<Coin>;
  readonly #second: CoinList<Coin>;
  readonly length: number;

  /** Merges two lists; of coins of the same amount those of `first` come first. */
  constructor(first: CoinList<Coin>, second: CoinList<Coin>) {
    this.#first = first;
    this.#second = second;
    this.length = first.length + second.length;
  }

  get total(): bigint | undefined {
    const { total: one } = this.#first;
    const { total: other } = this.#second;
    return one === undefined || other === undefined ? undefined : one + other;
  }

  at(index: number): Coin | undefined {
    const taken = this.#ofSecond(index);
    const [one, other] = [this.#first.at(index - taken), this.#second.at(taken)];
    if (one === undefined || other === undefined) return one ?? other;
    return other.amount < one.amount ? other : one;
  }

  slice(from = 0, to = this.length): Coin[] {
    const coins: Coin[] = [];
    for (let i = from; i < Math.min(to, this.length); i++) {
      const coin = this.at(i);
      if (coin !== undefined) coins.push(coin);
    }
    return coins;
  }

  /** Number of coins of the second list before a place. */
  #ofSecond(index: number): number {
    let low = Math.max(0, index - this.#first.length);
    let high = Math.min(index, this.#second.length);
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      const one = this.#first.at(index - middle);
      const other = this.#second.at(middle - 1);
      if (one === undefined || (other !== undefined && other.amount < one.amount)) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
