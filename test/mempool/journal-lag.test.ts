/** The lag that a mempool node shows: how long an entry of the journal waits for the state. */

import { describe, expect, it } from 'vitest';
import { JournalLag } from '../../src/mempool/mempool.js';
import { ManualClock } from '../support/manual-clock.js';

describe('the lag behind the journal', () => {
  it('is 0 while everything is applied, and at the first look', () => {
    const lag = new JournalLag(new ManualClock());
    expect([lag.seconds(0, 0), lag.seconds(7, 7), lag.seconds(9, 7)]).toEqual([0, 0, 0]);
  });

  it('grows while nothing is applied, whatever comes meanwhile', () => {
    const clock = new ManualClock();
    const lag = new JournalLag(clock);
    lag.seconds(9, 7);
    clock.advance(15_000);
    expect(lag.seconds(50, 7)).toBe(15);
    clock.advance(15_000);
    expect(lag.seconds(50, 8)).toBe(30);
  });

  it('is that of the oldest entry: a node that works, a little behind, is little behind', () => {
    const clock = new ManualClock();
    const lag = new JournalLag(clock);
    for (let seq = 10; seq < 1_000; seq += 10) {
      expect(lag.seconds(seq, seq - 10)).toBeLessThanOrEqual(15);
      clock.advance(15_000);
    }
    expect(lag.seconds(1_000, 1_000)).toBe(0);
  });
});
