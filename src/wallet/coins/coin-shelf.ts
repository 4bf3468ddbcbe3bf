/**
 * The spendable coins of one asset in ascending order of amount, so that a payment finds its coins by bisection. Changes
 * are collected and merged when the order is next asked for: a block with a thousand coins costs one merge.
 */

import type { Coin } from './coin.js';
import { lowerBound } from './coin-selection.js';

/** Changes up to which single insertions are cheaper than a merge. */
const FEW = 32;

export interface CoinShelf {
  add(coin: Coin): void;
  remove(coin: Coin): void;
  /** Ascending by amount; valid until the next change. */
  sorted(): readonly Coin[];
  readonly size: number;
}

export function createCoinShelf(): CoinShelf {
  let order: Coin[] = [];
  const added = new Set<Coin>();
  const removed = new Set<Coin>();

  function settle(): void {
    if (added.size + removed.size === 0) return;
    if (added.size + removed.size <= FEW) {
      for (const coin of removed) takeOut(coin);
      for (const coin of added) order.splice(lowerBound(order, coin.amount), 0, coin);
    } else {
      order = [...order.filter((coin) => !removed.has(coin)), ...added];
      order.sort((a, b) => (a.amount < b.amount ? -1 : Number(a.amount > b.amount)));
    }
    added.clear();
    removed.clear();
  }

  function takeOut(coin: Coin): void {
    const at = order.indexOf(coin, lowerBound(order, coin.amount));
    if (at >= 0) order.splice(at, 1);
  }

  return {
    add(coin) {
      if (!removed.delete(coin)) added.add(coin);
    },
    remove(coin) {
      if (!added.delete(coin)) removed.add(coin);
    },
    sorted() {
      settle();
      return order;
    },
    get size() {
      return order.length + added.size - removed.size;
    },
  };
}
