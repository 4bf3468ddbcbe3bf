import { describe, expect, it } from 'vitest';
import { growthPerMinute } from './growth.js';

describe('growth a minute', () => {
  it('is the slope of a line', () => {
    const points = [0, 1, 2, 5].map((minute) => ({ minute, value: 7 + 3 * minute }));
    expect(growthPerMinute(points)).toBeCloseTo(3);
  });

  it('does not see what only goes up and down', () => {
    const points = [10, 20, 30, 20, 10].map((value, minute) => ({ minute, value }));
    expect(growthPerMinute(points)).toBeCloseTo(0);
  });

  it('is 0 where there is nothing to compare', () => {
    expect(growthPerMinute([])).toBe(0);
    expect(growthPerMinute([{ minute: 1, value: 5 }])).toBe(0);
  });
});
