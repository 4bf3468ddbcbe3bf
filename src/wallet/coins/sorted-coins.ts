/**
 * Coins in an order that is kept while they come and go. Changes are collected and merged when the order is next asked for:
 * a block with a thousand coins costs one merge, and no change costs a sort of all.
 */

import type { Coin } from './coin.js';

/** Changes up to which single insertions are cheaper than a merge. */
const FEW = 32;

type Compare = (a: Coin, b: Coin) => number;

export class SortedCoins {
  readonly #compare: Compare;
  #order: Coin[] = [];
  readonly #added = new Set<Coin>();
  readonly #removed = new Set<Coin>();

  constructor(compare: Compare) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#order.length + this.#added.size - this.#removed.size;
  }

  add(coin: Coin): void {
    if (!this.#removed.delete(coin)) this.#added.add(coin);
  }

  remove(coin: Coin): void {
    if (!this.#added.delete(coin)) this.#removed.add(coin);
  }

  /** In their order; valid until the next change. */
  sorted(): readonly Coin[] {
    if (this.#added.size + this.#removed.size > FEW) this.#merge();
    else {
      for (const coin of this.#removed) this.#takeOut(coin);
      for (const coin of this.#added) this.#order.splice(this.#placeOf(coin), 0, coin);
    }
    this.#added.clear();
    this.#removed.clear();
    return this.#order;
  }

  #merge(): void {
    const added = [...this.#added].sort(this.#compare);
    this.#order = [...this.#order.filter((coin) => !this.#removed.has(coin)), ...added];
    // Two sorted runs: the built-in sort merges them without comparing everything with everything.
    this.#order.sort(this.#compare);
  }

  #takeOut(coin: Coin): void {
    const at = this.#order.indexOf(coin, this.#placeOf(coin));
    if (at >= 0) this.#order.splice(at, 1);
  }

  /** Index of the first coin that does not come before it. */
  #placeOf(coin: Coin): number {
    let [from, to] = [0, this.#order.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      const other = this.#order[middle];
      if (other !== undefined && this.#compare(other, coin) < 0) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
