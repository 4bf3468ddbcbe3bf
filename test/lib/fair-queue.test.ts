import { describe, expect, it } from 'vitest';
import { FairQueue } from '../../src/lib/fair-queue.js';
import { fc, test } from '../support/property.js';

describe('a fair queue', () => {
  it('serves its parties in turn, each in its own order', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) queue.push(item.slice(0, 1), item);
    expect(queue.take(4)).toEqual(['a1', 'b1', 'c1', 'a2']);
    queue.push('d', 'd1');
    expect(queue.take(9)).toEqual(['c2', 'a3', 'd1']);
    expect(queue.length).toBe(0);
    expect(queue.shift()).toBeUndefined();
  });

  it('drops the last of the party that has most, and of those with as many the one whose turn is farthest', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'b1', 'b2', 'b3', 'c1', 'c2']) queue.push(item.slice(0, 1), item);
    expect(queue.shift()).toBe('a1');
    expect([queue.drop(), queue.drop(), queue.drop(), queue.length]).toEqual(['b3', 'c2', 'b2', 3]);
    expect(queue.take(9)).toEqual(['b1', 'c1', 'a2']);
    expect(queue.drop()).toBeUndefined();
  });

  test.prop([fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.boolean()), { maxLength: 60 })])(
    'gives everything back once, and no party waits for more than one item of each of the others',
    (steps) => {
      const queue = new FairQueue<string>();
      const expected = new Map<string, string[]>();
      let count = 0;
      const takeOne = (): void => {
        const waiting = [...expected].filter(([, items]) => items.length > 0).map(([party]) => party);
        const item = queue.shift();
        if (item === undefined) {
          expect(waiting).toEqual([]);
          return;
        }
        const [party = ''] = item;
        expect(expected.get(party)?.shift()).toBe(item);
        served.push(party);
      };
      const served: string[] = [];
      for (const [party, isPush] of steps) {
        if (!isPush) {
          takeOne();
          continue;
        }
        const item = `${party}${count++}`;
        queue.push(party, item);
        expected.set(party, [...(expected.get(party) ?? []), item]);
      }
      while (queue.length > 0) {
        const parties = [...expected].filter(([, items]) => items.length > 0).length;
        served.length = 0;
        for (let i = 0; i < parties; i++) takeOne();
        expect(new Set(served).size).toBe(parties);
      }
      expect([...expected.values()].flat()).toEqual([]);
    },
  );
});
