import { describe, expect, it } from 'vitest';
import { NOW } from '../../src/lib/pieces.js';
import { TimeSlices } from '../../src/lib/time-slices.js';
import { ManualClock } from '../support/manual-clock.js';
import { fc, test } from '../support/property.js';

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

  const work = fc.record({
    kind: fc.nat(1),
    asker: fc.constantFrom('a', 'b', 'c'),
    pieces: fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 8 }),
  });
  test.prop([fc.array(work, { maxLength: 10 })])(
    'end all work, hold the loop no longer than a slice and its last piece, and keep the order of each asker',
    async (works) => {
      const clock = new ManualClock();
      const kinds = [new TimeSlices(clock), new TimeSlices(clock)];
      let held = 0;
      let most = 0;
      let left = works.length;
      const nextRound = (): void => {
        most = Math.max(most, held);
        held = 0;
        if (left > 0) setImmediate(nextRound);
      };
      setImmediate(nextRound);
      const begun = new Map<string, number[]>();
      await Promise.all(
        works.map(async ({ kind, asker, pieces }, number) => {
          for (const [i, ms] of pieces.entries()) {
            await kinds[kind]?.turn(asker);
            const name = `${kind}${asker}`;
            if (i === 0) begun.set(name, [...(begun.get(name) ?? []), number]);
            clock.advance(ms);
            held += ms;
          }
          left--;
        }),
      );
      // A round as it is counted here may see the end of one slice and the beginning of the next.
      expect(Math.max(most, held)).toBeLessThanOrEqual(2 * (8 + 12));
      for (const numbers of begun.values()) expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    },
  );

  it('are given to the askers in turn: one that asks for much keeps nobody waiting', async () => {
    const clock = new ManualClock();
    const slices = new TimeSlices(clock);
    const served: string[] = [];
    const one = async (asker: string): Promise<void> => {
      await slices.turn(asker);
      served.push(asker);
      clock.advance(8);
    };
    await Promise.all([...Array.from({ length: 100 }, () => 'flood'), 'honest'].map(one));
    expect(served.indexOf('honest')).toBeLessThanOrEqual(2);
  });
});
