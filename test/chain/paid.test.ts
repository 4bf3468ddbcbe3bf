/** What a transaction has paid, without change. */

import { describe, expect, it } from 'vitest';
import { paidOf } from '../../src/chain/transaction.js';

describe('what was paid', () => {
  it.each<[what: string, spends: boolean, amounts: readonly bigint[], paid: bigint]>([
    ['a payment with change', true, [1n, 9_999n], 1n],
    ['a payment to several, with change', true, [1n, 2n, 9_999n], 3n],
    ['a payment without change', true, [7n], 7n],
    ['a payment of items', true, [], 0n],
    ['what spends nothing and has no change', false, [5n, 6n], 11n],
  ])('is told of %s', (_what, spends, amounts, paid) => {
    expect(paidOf(spends, amounts)).toBe(paid);
  });
});
