import { describe, expect, it } from 'vitest';
import { TurnBudget } from '../../src/lib/turn-budget.js';

/** The turn of the loop in which each piece of work begins, in the order of their beginnings; 0 is the turn of the calls. */
async function turnsOf(budget: TurnBudget, work: readonly (readonly [name: string, units: number])[]) {
  let turn = 0;
  let counting = true;
  const count = (): void => {
    turn++;
    if (counting) setImmediate(count);
  };
  // Scheduled before the budget's own turns, so that it counts before they begin.
  setImmediate(count);
  const begun: [name: string, turn: number][] = [];
  await Promise.all(
    work.map(async ([name, units]) => {
      const later = budget.take(units, name);
      if (later !== undefined) await later;
      begun.push([name, turn]);
    }),
  );
  counting = false;
  return begun;
}

describe('the budget of a turn', () => {
  it('lets what fits run at once, and the rest in later turns, in the order of the calls', async () => {
    const work = ['a', 'b', 'c', 'd', 'e'].map((name) => [name, 4] as const);
    expect(await turnsOf(new TurnBudget(8), work)).toEqual([
      ['a', 0],
      ['b', 0],
      ['c', 1],
      ['d', 1],
      ['e', 2],
    ]);
  });

  it('makes up for a piece that was larger than a turn', async () => {
    expect(
      await turnsOf(new TurnBudget(8), [
        ['large', 30],
        ['next', 1],
      ]),
    ).toEqual([
      ['large', 0],
      ['next', 3],
    ]);
  });

  it('is given to the senders in turn: one that brings much keeps nobody waiting', async () => {
    const flood = Array.from({ length: 100 }, () => ['flood', 8] as const);
    const begun = await turnsOf(new TurnBudget(8), [...flood, ['honest', 8]]);
    expect(begun.find(([name]) => name === 'honest')).toEqual(['honest', 2]);
  });

  it('is whole again when nothing was done for a while', async () => {
    const budget = new TurnBudget(8);
    await budget.take(30, 'large');
    for (let turn = 0; turn < 6; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(
      await turnsOf(budget, [
        ['a', 4],
        ['b', 4],
      ]),
    ).toEqual([
      ['a', 0],
      ['b', 0],
    ]);
  });
});
