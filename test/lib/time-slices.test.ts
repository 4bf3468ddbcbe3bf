import { describe, expect, it } from 'vitest';
import { NOW } from '../../src/lib/pieces.js';
import { TimeSlices } from '../../src/lib/time-slices.js';
import { ManualClock } from '../support/manual-clock.js';

describe('time slices', () => {
  it('let the event loop go round when a slice is used up, and not before', async () => {
    const clock = new ManualClock();
    const slices = new TimeSlices(clock);
    const pieces: string[] = [];
    let round = 0;
    const nextRound = (): void => {
      round += 1;
      if (pieces.length < 12) setImmediate(nextRound);
    };
    setImmediate(nextRound);
    await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        await slices.turn();
        pieces.push(`${i}`);
        clock.advance(3);
      }),
    );
    expect(pieces).toEqual(Array.from({ length: 12 }, (_, i) => `${i}`));
    // 36 ms of work in slices of 8.
    expect(round).toBeGreaterThanOrEqual(3);
    expect(round).toBeLessThan(12);
  });

  it('say when there is something to wait for: when the slice is over, or others wait already', async () => {
    const clock = new ManualClock();
    const slices = new TimeSlices(clock);
    expect(slices.isUsedUp).toBe(true);
    await slices.turn();
    expect(slices.isUsedUp).toBe(false);
    expect(slices.turn()).toBe(NOW);
    clock.advance(8);
    expect(slices.isUsedUp).toBe(true);
    const first = slices.turn();
    expect(first).not.toBe(NOW);
    // Who comes later must not be earlier.
    const second = slices.turn();
    expect(slices.isUsedUp).toBe(true);
    await Promise.all([first, second]);
    expect(slices.isUsedUp).toBe(false);
  });

  it('are shared by all long work of a process, so that two kinds of it hold the loop no longer than one', async () => {
    const clock = new ManualClock();
    let inThisRound = 0;
    let most = 0;
    let working = 2;
    const nextRound = (): void => {
      most = Math.max(most, inThisRound);
      inThisRound = 0;
      if (working > 0) setImmediate(nextRound);
    };
    setImmediate(nextRound);
    const work = async (): Promise<void> => {
      const slices = new TimeSlices(clock);
      for (let piece = 0; piece < 20; piece++) {
        await slices.turn();
        clock.advance(2);
        inThisRound += 2;
      }
      working--;
    };
    await Promise.all([work(), work()]);
    // A slice of 8, and the piece that ends it.
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(10);
  });

  it('give small pieces as much time as large ones', async () => {
    const clock = new ManualClock();
    let isWorking = true;
    let others = 0;
    const large = async (): Promise<void> => {
      const slices = new TimeSlices(clock);
      while (isWorking) {
        await slices.turn();
        clock.advance(4);
        others += 4;
      }
    };
    const small = async (): Promise<void> => {
      const slices = new TimeSlices(clock);
      for (let piece = 0; piece < 640; piece++) {
        await slices.turn();
        clock.advance(0.125);
      }
      isWorking = false;
    };
    await Promise.all([large(), large(), small()]);
    // 80 ms of work in slices of 8 beside two others.
    expect(others).toBeGreaterThanOrEqual(160);
    expect(others).toBeLessThanOrEqual(200);
  });
});
