import { expect, it } from 'vitest';
import { compareBytes } from '../../src/lib/bytes.js';
import {
  amountOfKey,
  blockKey,
  heightOfBlockKey,
  holderKey,
  movementKey,
  movementsOf,
  outputOfKey,
  placeInList,
  unspentKey,
} from '../../src/storage/chain-index/layout.js';
import { fc } from '../support/property.js';

/** Numbers near those where one more byte is needed, and any others. */
const number = (most: number) =>
  fc.oneof(
    fc.nat({ max: most }),
    fc
      .tuple(fc.nat({ max: 41 }), fc.integer({ min: -1, max: 1 }))
      .map(([bits, more]) => Math.min(most, Math.max(0, 2 ** bits + more))),
  );
const height = number(2 ** 40 - 1);
const address = number(2 ** 42 - 1);
const place = fc.record({ height, txNum: number(2 ** 24 - 1) });
const sign = (a: number | bigint, b: number | bigint): number => (a < b ? -1 : Number(a > b));

it('keys give back their numbers, and sort by them', async () => {
  await fc.assert(
    fc.property(height, height, (a, b) => {
      expect(heightOfBlockKey(blockKey(a))).toBe(a);
      expect(Math.sign(compareBytes(blockKey(a), blockKey(b)))).toBe(sign(a, b));
    }),
  );
});

it('lists have the keys of their address and no others, in the order of places', async () => {
  await fc.assert(
    fc.property(address, address, place, place, fc.integer(), (one, other, a, b, n) => {
      const key = movementKey(one, a);
      expect(placeInList(key)).toEqual(a);
      expect(outputOfKey(unspentKey(one, a, n))).toEqual({ place: a, index: n >>> 0 });
      const { gte, lt } = movementsOf(other);
      expect(compareBytes(key, gte) >= 0 && compareBytes(key, lt) < 0).toBe(one === other);
      expect(Math.sign(compareBytes(key, movementKey(one, b)))).toBe(
        sign(a.height, b.height) || sign(a.txNum, b.txNum),
      );
    }),
  );
});

it('holders have the larger amount first', async () => {
  const amount = fc.oneof(fc.bigInt({ min: 1n, max: 2n ** 128n - 1n }), fc.bigInt({ min: 1n, max: 70_000n }));
  await fc.assert(
    fc.property(amount, amount, address, (a, b, one) => {
      expect(amountOfKey(holderKey(7, a, one))).toBe(a);
      expect(Math.sign(compareBytes(holderKey(7, a, one), holderKey(7, b, one)))).toBe(sign(b, a));
    }),
  );
});
