import { describe, expect, it } from 'vitest';
import { type Selectable, selectCoins } from '../../src/wallet/coins/coin-selection.js';
import { fc, test } from '../support/property.js';

const coinsOf = (...amounts: bigint[]): Selectable[] =>
  amounts.sort((a, b) => (a < b ? -1 : Number(a > b))).map((amount) => ({ amount }));
const amountsOf = (coins: readonly Selectable[]): bigint[] => coins.map(({ amount }) => amount);
const limits = { maxInputs: 500, dust: 10n };

function chosen(coins: readonly Selectable[], target: bigint, with_ = limits) {
  const selection = selectCoins(coins, target, with_);
  if (selection.kind !== 'found') throw new Error(selection.kind);
  return selection;
}

describe('coin selection', () => {
  it('takes a sum without change where there is one', () => {
    const { coins, change } = chosen(coinsOf(5n, 70n, 31n, 24n, 1_000n), 60n);
    expect(amountsOf(coins).sort()).toEqual([24n, 31n, 5n].sort());
    expect(change).toBe(0n);
  });

  it('takes the smallest single coin that leaves sound change', () => {
    expect(amountsOf(chosen(coinsOf(40n, 105n, 150n, 9_000n), 100n).coins)).toEqual([150n]);
  });

  it('takes the largest coins first when none suffices alone', () => {
    const { coins, change } = chosen(coinsOf(30n, 40n, 50n, 60n, 2n), 95n);
    expect(amountsOf(coins)).toEqual([60n, 50n]);
    expect(change).toBe(15n);
  });

  it('adds a coin when the change would be dust', () => {
    const { coins, change } = chosen(coinsOf(20n, 60n, 50n), 105n);
    expect(amountsOf(coins)).toEqual([60n, 50n, 20n]);
    expect(change).toBe(25n);
  });

  it('leaves dust where nothing else is possible', () => {
    expect(chosen(coinsOf(105n), 100n).change).toBe(5n);
  });

  it('says what there is when the funds do not suffice', () => {
    expect(selectCoins(coinsOf(3n, 4n), 8n, limits)).toEqual({ kind: 'short', total: 7n });
    expect(selectCoins([], 1n, limits)).toEqual({ kind: 'short', total: 0n });
  });

  it('says what is reachable when too many inputs were needed', () => {
    const selection = selectCoins(coinsOf(...new Array<bigint>(10).fill(5n)), 45n, { maxInputs: 8, dust: 1n });
    expect(selection).toEqual({ kind: 'scattered', reachable: 40n });
  });

  const amounts = fc.array(fc.bigInt({ min: 1n, max: 1_000n }), { maxLength: 60, size: 'max' });
  test.prop([amounts, fc.bigInt({ min: 1n, max: 20_000n }), fc.integer({ min: 1, max: 20 })])(
    'pays in full, with different coins, within the limit, and fails only for a reason',
    (list, target, maxInputs) => {
      const coins = coinsOf(...list);
      const total = list.reduce((sum, amount) => sum + amount, 0n);
      const selection = selectCoins(coins, target, { maxInputs, dust: 10n });
      const largest = amountsOf(coins)
        .slice(-maxInputs)
        .reduce((sum, amount) => sum + amount, 0n);
      if (selection.kind === 'short') expect(total < target).toBe(true);
      else if (selection.kind === 'scattered') expect(total >= target && largest < target).toBe(true);
      else {
        const sum = amountsOf(selection.coins).reduce((a, b) => a + b, 0n);
        expect(new Set(selection.coins).size).toBe(selection.coins.length);
        expect(selection.coins.length).toBeLessThanOrEqual(maxInputs);
        expect(sum - target).toBe(selection.change);
        expect(selection.change >= 0n).toBe(true);
      }
    },
  );

  test.prop(
    [fc.array(fc.bigInt({ min: 1n, max: 100n }), { minLength: 1, maxLength: 8 }), fc.bigInt({ min: 1n, max: 200n })],
    { numRuns: 30000 },
  )('leaves dust only when no choice avoids it', (list, target) => {
    const selection = selectCoins(coinsOf(...list), target, { maxInputs: 8, dust: 10n });
    if (selection.kind !== 'found' || selection.change === 0n || selection.change >= 10n) return;
    let sums = [0n];
    for (const amount of list) sums = sums.concat(sums.map((sum) => sum + amount));
    expect(sums.some((sum) => sum === target || sum >= target + 10n)).toBe(false);
  });

  it('stays fast among a hundred thousand coins of which no sum fits', () => {
    const many = coinsOf(...Array.from({ length: 100_000 }, (_, i) => BigInt(2 * i + 2)));
    for (let i = 0; i < 50; i++) expect(selectCoins(many, 1_000_001n, limits).kind).toBe('found');
  });
});
