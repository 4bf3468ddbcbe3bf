import { describe, expect, it } from 'vitest';
import { type Amount, Budget, type BudgetLimits, inTheWay } from '../../src/lib/budget.js';
import { fc, test } from '../support/property.js';

const HOLDERS = ['a', 'b', 'c', undefined] as const;
const refuse: BudgetLimits['refuse'] = (own, isShare) => new Error(`${isShare ? 'share' : 'total'} ${own.join()}`);

function anyAmount(max: number) {
  return fc.tuple(fc.integer({ min: 0, max }), fc.integer({ min: 1, max }));
}

/** What `take` throws for the holder, or what it gives. */
function tryTake(budget: Budget, holder: string | undefined, amount: Amount): (() => void) | string {
  try {
    return budget.take(holder, amount);
  } catch (error) {
    return (error as Error).message;
  }
}

describe('a budget', () => {
  const shares = fc.constantFrom<BudgetLimits['share']>(undefined, 'free', [5, 6]);
  const steps = fc.array(fc.tuple(fc.constantFrom(...HOLDERS), anyAmount(9), fc.nat(3)), { maxLength: 80 });

  test.prop([shares, fc.boolean(), steps])(
    'counts what its holders have, and refuses what is beyond the total or a share, and nothing else',
    (share, alsoFirst, list) => {
      const total = [20, 24];
      const budget = new Budget({ total, ...(share && { share }), alsoFirst, refuse });
      const held: { holder: string | undefined; amount: Amount; release: () => void }[] = [];
      const all = (holder?: string): number[] =>
        [0, 1].map((i) =>
          held.reduce((n, one) => n + (holder === undefined || one.holder === holder ? (one.amount[i] ?? 0) : 0), 0),
        );
      for (const [holder, amount, give] of list) {
        const [taken, own] = [all(), holder === undefined ? [0, 0] : all(holder)];
        const isFirst = own.every((one) => one === 0);
        const isFree = amount.every((one, i) => (taken[i] ?? 0) + one <= (total[i] ?? 0));
        const limits = share === 'free' ? total.map((max, i) => max - (taken[i] ?? 0) - (amount[i] ?? 0)) : share;
        const isShared =
          limits === undefined ||
          holder === undefined ||
          (isFirst && !alsoFirst) ||
          amount.every((one, i) => (own[i] ?? 0) + one <= (limits[i] ?? 0));
        const result = tryTake(budget, holder, amount);
        if (typeof result === 'string') expect(result).toBe(`${isShared ? 'total' : 'share'} ${own.join()}`);
        else held.push({ holder, amount, release: result });
        expect(typeof result !== 'string').toBe(isFree && isShared);
        // Some are given back, one of them twice.
        for (const { release } of held.splice(0, give)) {
          release();
          release();
        }
        expect(budget.taken).toEqual(all());
        expect(budget.of('a')).toEqual(all('a'));
      }
      for (const { release } of held) release();
      expect([budget.taken, budget.of('a')]).toEqual([
        [0, 0],
        [0, 0],
      ]);
    },
  );

  it('whose holders leave as much as they take gives one half, the next a quarter, and has room for many more', () => {
    const budget = new Budget({ total: [128], share: 'free', refuse });
    const fill = (holder: string): number => {
      for (let count = 0; ; count++) if (typeof tryTake(budget, holder, [1]) === 'string') return count;
    };
    expect(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(fill)).toEqual([64, 32, 16, 8, 4, 2, 1]);
    // Whoever has nothing may have the last; then all is taken.
    expect(tryTake(budget, 'h', [1])).toBeTypeOf('function');
    expect(tryTake(budget, 'i', [1])).toBe('total 0');
  });

  test.prop([fc.array(fc.tuple(fc.constantFrom('flood', 'b'), fc.integer({ min: 1, max: 9 })), { maxLength: 100 })])(
    'leaves room for whoever has nothing when each holder has some',
    (list) => {
      const budget = new Budget({ total: [64], share: 'free', alsoFirst: true, refuse });
      for (const [holder, amount] of list) tryTake(budget, holder, [amount]);
      expect(tryTake(budget, 'honest', [1])).toBeTypeOf('function');
    },
  );
});

describe('who is in the way', () => {
  const places = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 });
  test.prop([
    places,
    fc.constantFrom('a', 'b', 'c', 'd'),
    fc.integer({ min: 1, max: 6 }),
    fc.integer({ min: 1, max: 12 }),
  ])(
    'of a holder with its share its own, else those of whoever has most when all places are taken',
    (taken, holder, share, total) => {
      const found = inTheWay(taken, (one) => one, holder, { total, share });
      const countOf = (one: string): number => taken.filter((other) => other === one).length;
      if (countOf(holder) >= share) expect(new Set(found)).toEqual(new Set([holder]));
      else if (taken.length < total) expect(found).toEqual([]);
      else {
        const most = Math.max(...taken.map(countOf));
        expect(found).toEqual(taken.filter((one) => countOf(one) === most));
      }
    },
  );
});
