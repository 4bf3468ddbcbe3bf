/** Two lists of coins in ascending order of amount as one, without a copy of either. */

import type { Coin } from './coin.js';
import type { CoinList } from './coin-selection.js';

export class MergedCoins implements CoinList<Coin> {
  readonly #first: CoinList<Coin>;
  readonly #second: CoinList<Coin>;
  readonly length: number;

  /** Of coins of the same amount those of `first` come first. */
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

  /** How many of the coins before a place are of the second list. */
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
