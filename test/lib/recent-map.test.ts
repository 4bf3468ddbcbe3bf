import { describe, expect, it } from 'vitest';
import { RecentMap } from '../../src/lib/recent-map.js';

const filled = (least: number, count: number): RecentMap<number> => {
  const map = new RecentMap<number>(least);
  for (let i = 0; i < count; i++) map.set(`${i}`, i);
  return map;
};
/** Each is looked for in a map of its own, for what is looked for counts as used. */
const kept = (least: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => i).filter((i) => filled(least, count).get(`${i}`) === i);

describe('a map of recent entries', () => {
  it('has the last ones, and at most twice as many', () => {
    for (const count of [1, 9, 10, 11, 19, 20, 21, 95, 100]) {
      const found = kept(10, count);
      expect(found.slice(-10)).toEqual(
        Array.from({ length: Math.min(10, count) }, (_, i) => Math.max(0, count - 10) + i),
      );
      expect(found.length).toBeLessThanOrEqual(20);
    }
  });

  it('keeps what is used', () => {
    const map = filled(10, 5);
    for (let i = 5; i < 500; i++) {
      expect(map.get('3')).toBe(3);
      map.set(`${i}`, i);
    }
    expect(map.get('4')).toBeUndefined();
  });

  it('has the last value of a key', () => {
    const map = filled(3, 4);
    map.set('2', 7);
    expect(map.get('2')).toBe(7);
  });
});
