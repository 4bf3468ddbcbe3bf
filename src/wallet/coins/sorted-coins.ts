/**
 * The spendable coins of one asset in ascending order of amount, so that a payment finds its coins by bisection. Changes
 * are collected and merged when the order is next asked for: a block with a thousand coins costs one merge.
 */

import type { Coin } from './coin.js';
import { lowerBound } from './coin-selection.js';

/** Changes up to which single insertions are cheaper than a merge. */
const FEW = 32;

export class SortedCoins {
  #order: Coin[] = [];
  readonly #added = new Set<Coin>();
  readonly #removed = new Set<Coin>();

  get size(): number {
    return this.#order.length + this.#added.size - this.#removed.size;
  }

  add(coin: Coin): void {
    if (!this.#removed.delete(coin)) this.#added.add(coin);
  }

  remove(coin: Coin): void {
    if (!this.#added.delete(coin)) this.#removed.add(coin);
  }

  /** Ascending by amount; valid until the next change. */
  sorted(): readonly Coin[] {
    if (this.#added.size + this.#removed.size > FEW) this.#merge();
    else {
      for (const coin of this.#removed) this.#takeOut(coin);
      for (const coin of this.#added) this.#order.splice(lowerBound(this.#order, coin.amount), 0, coin);
    }
    this.#added.clear();
    this.#removed.clear();
    return this.#order;
  }

  #merge(): void {
    this.#order = [...this.#order.filter((coin) => !this.#removed.has(coin)), ...this.#added];
    this.#order.sort((a, b) => (a.amount < b.amount ? -1 : Number(a.amount > b.amount)));
  }

  #takeOut(coin: Coin): void {
    const first = lowerBound(this.#order, coin.amount);
    const at = this.#order.indexOf(coin, first);
    if (at >= 0) this.#order.splice(at, 1);
  }
}
