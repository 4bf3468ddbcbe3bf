/** The order of a wallet's coins, kept while they come and go: always that of a full sort, and never at the cost of one. */

import { describe, expect, it } from 'vitest';
import { atOnce } from '../../src/lib/pieces.js';
import { type Coin, compareCoins } from '../../src/wallet/coins/coin.js';
import { MergedCoins, SortedCoins } from '../../src/wallet/coins/sorted-coins.js';
import { fc, test } from '../support/property.js';

const coin = (arrival: number, n: number): Coin => ({
  key: `g${arrival}:${n}`,
  outPoint: { tHash: `g${arrival}`, n },
  value: { kind: 'token', amount: 1n },
  amount: 1n,
  assetId: '',
  address: 'a',
  arrival,
  locktime: 0n,
  state: 'unspent',
  inChain: true,
  by: null,
});

describe('sorted coins', () => {
  test.prop([
    fc.constantFrom(0, 300, 3_000, 6_200),
    fc.array(fc.tuple(fc.nat(20), fc.nat(3), fc.boolean(), fc.nat(4)), { maxLength: 120, size: 'max' }),
    fc.boolean(),
  ])('are in the order of a full sort after any changes', (others, changes, isFilled) => {
    const sorted = isFilled ? SortedCoins.filling(compareCoins) : new SortedCoins(compareCoins);
    const held = new Map<string, Coin>();
    const add = (one: Coin): void => {
      held.set(one.key, one);
      sorted.add(one);
    };
    for (let i = 0; i < others; i++) add(coin(i % 23, 10 + i));
    if (isFilled) atOnce(sorted.filled());
    const look = (): void => {
      expect(sorted.slice()).toEqual([...held.values()].sort(compareCoins));
      expect(sorted.length).toBe(held.size);
      expect(sorted.total).toBe(BigInt(held.size));
      expect([sorted.at(-1), sorted.at(held.size)]).toEqual([undefined, undefined]);
    };
    for (const [arrival, n, isAdded, looks] of changes) {
      const one = held.get(`g${arrival}:${n}`) ?? coin(arrival, n);
      if (isAdded === held.has(one.key)) continue;
      if (isAdded) add(one);
      else {
        held.delete(one.key);
        sorted.remove(one);
      }
      if (looks === 0 && others < 1_000) look();
    }
    look();
  });

  it('give up all pieces, and begin again', () => {
    const sorted = new SortedCoins(compareCoins);
    const coins = Array.from({ length: 2_000 }, (_, i) => coin(i, 0));
    for (const one of coins) sorted.add(one);
    for (const one of coins) sorted.remove(one);
    expect([sorted.length, sorted.slice()]).toEqual([0, []]);
    sorted.add(coin(1, 1));
    expect(sorted.at(0)?.key).toBe('g1:1');
  });

  it('take one more coin in without looking at all of them, and a thousand without comparing all with all', () => {
    let compared = 0;
    const sorted = new SortedCoins((a, b) => {
      compared += 1;
      return compareCoins(a, b);
    });
    for (let i = 0; i < 50_000; i++) sorted.add(coin(i, 0));
    compared = 0;
    sorted.add(coin(25_000, 1));
    expect(sorted.at(25_001)?.outPoint.n).toBe(1);
    expect(compared).toBeLessThan(25);
    for (let i = 0; i < 1_000; i++) sorted.add(coin(50_000 + i, 0));
    expect(compared).toBeLessThan(25_000);
  });

  test.prop([fc.array(fc.nat(6), { maxLength: 40 }), fc.array(fc.nat(6), { maxLength: 40 })])(
    'two lists are one in the order of a stable sort',
    (first, second) => {
      const list = (amounts: readonly number[], name: number): Coin[] =>
        amounts
          .map((amount, i) => ({ ...coin(name, i), amount: BigInt(amount) }))
          .sort((a, b) => Number(a.amount - b.amount));
      const [a, b] = [list(first, 1), list(second, 2)];
      const merged = new MergedCoins(a, b);
      const expected = [...a, ...b].sort((x, y) => Number(x.amount - y.amount));
      expect(merged.slice()).toEqual(expected);
      expect([merged.length, merged.at(expected.length)]).toEqual([expected.length, undefined]);
    },
  );
});
