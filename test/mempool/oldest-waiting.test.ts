/** How far the journal of a node that is alone may be cut: never past what waits for a block. */

import { describe, expect } from 'vitest';
import { OldestWaiting } from '../../src/mempool/state/retention.js';
import { fc, test } from '../support/property.js';

interface Group {
  readonly commands: number;
  readonly accepted: number;
}

const groups = fc.array(fc.record({ commands: fc.integer({ min: 1, max: 9 }), accepted: fc.nat({ max: 5 }) }), {
  maxLength: 200,
});

describe('the command behind which all came that waits', () => {
  test.prop([groups, fc.nat(), fc.nat({ max: 20 })])('is below that of the oldest that waits', (all, pick, before) => {
    const tracker = new OldestWaiting(10, { arrivals: before });
    let [seq, arrivals] = [10, before];
    /** The first command of the group that accepted it, by arrival number. */
    const first = new Map<number, number>();
    for (const { commands, accepted } of all as Group[]) {
      for (let n = 1; n <= accepted; n++) first.set(arrivals + n, seq + 1);
      seq += commands;
      arrivals += accepted;
      tracker.noteApplied(seq, { arrivals });
    }
    expect(tracker.before(undefined)).toBe(seq);
    const oldest = arrivals === 0 ? undefined : 1 + (pick % arrivals);
    if (oldest === undefined) return;
    const from = tracker.before(oldest);
    if (oldest <= before) expect(from).toBe(0);
    else expect(from).toBeLessThan(first.get(oldest) ?? 0);
    expect(from === 0 || oldest > before).toBe(true);
  });

  test.prop([fc.integer({ min: 5_000, max: 20_000 })])('is known after any number of commands', (count) => {
    const tracker = new OldestWaiting(0, { arrivals: 0 });
    for (let n = 1; n <= count; n++) tracker.noteApplied(n, { arrivals: n });
    for (const oldest of [1, count >> 1, count]) expect(tracker.before(oldest)).toBeLessThan(oldest);
    expect(tracker.before(count)).toBeGreaterThan(count / 2);
  });
});
