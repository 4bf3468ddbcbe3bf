/** The order of a wallet's coins, kept while they come and go: always that of a full sort, and never at the cost of one. */

import { describe, expect, it } from 'vitest';
import { type Coin, compareCoins } from '../../src/wallet/coins/coin.js';
import { SortedCoins } from '../../src/wallet/coins/sorted-coins.js';
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
  test.prop([fc.array(fc.tuple(fc.nat(20), fc.nat(3), fc.boolean(), fc.nat(4)), { maxLength: 120, size: 'max' })])(
    'are in the order of a full sort after any changes',
    (changes) => {
      const sorted = new SortedCoins(compareCoins);
      const held = new Map<string, Coin>();
      for (const [arrival, n, isAdded, looks] of changes) {
        const one = held.get(`g${arrival}:${n}`) ?? coin(arrival, n);
        if (isAdded === held.has(one.key)) continue;
        if (isAdded) {
          held.set(one.key, one);
          sorted.add(one);
        } else {
          held.delete(one.key);
          sorted.remove(one);
        }
        if (looks > 0) continue;
        expect(sorted.sorted()).toEqual([...held.values()].sort(compareCoins));
      }
      expect(sorted.sorted()).toEqual([...held.values()].sort(compareCoins));
      expect(sorted.size).toBe(held.size);
    },
  );

  it('take one more coin in without looking at all of them, and a thousand without comparing all with all', () => {
    let compared = 0;
    const sorted = new SortedCoins((a, b) => {
      compared += 1;
      return compareCoins(a, b);
    });
    for (let i = 0; i < 50_000; i++) sorted.add(coin(i, 0));
    sorted.sorted();
    compared = 0;
    sorted.add(coin(25_000, 1));
    expect(sorted.sorted()[25_001]?.outPoint.n).toBe(1);
    expect(compared).toBeLessThan(20);
    for (let i = 0; i < 1_000; i++) sorted.add(coin(50_000 + i, 0));
    sorted.sorted();
    expect(compared).toBeLessThan(120_000);
  });
});
