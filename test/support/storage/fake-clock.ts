/** A clock that stands still until a test moves it. */

import type { Clock } from '../../../src/lib/clock.js';

export interface FakeClock extends Clock {
  /** Moves on by `ms`, firing what falls due in order. */
  advance(ms: number): void;
  readonly pending: number;
}

export function createFakeClock(): FakeClock {
  let now = 1_700_000_000_000;
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  return {
    now: () => now,
    monotonic: () => now,
    after(ms, run) {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return { cancel: () => timers.delete(timer) };
    },
    advance(ms) {
      now += ms;
      for (const timer of [...timers].filter(({ at }) => at <= now).sort((a, b) => a.at - b.at)) {
        if (timers.delete(timer)) timer.run();
      }
    },
    get pending() {
      return timers.size;
    },
  };
}
