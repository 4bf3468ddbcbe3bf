/** A clock that a test moves by hand. */

import type { Clock } from '../../src/lib/clock.js';

export interface ManualClock extends Clock {
  /** Moves time on and runs what is due, in order. */
  advance(ms: number): void;
  /** Timers that wait. */
  readonly waiting: number;
}

export function createManualClock(start = Date.UTC(2026, 0, 1)): ManualClock {
  let time = start;
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  return {
    now: () => time,
    monotonic: () => time,
    after(ms, run) {
      const timer = { at: time + ms, run };
      timers.add(timer);
      return { cancel: () => timers.delete(timer) };
    },
    advance(ms) {
      const end = time + ms;
      for (;;) {
        const due = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        if (due === undefined) break;
        timers.delete(due);
        time = Math.max(time, due.at);
        due.run();
      }
      time = end;
    },
    get waiting() {
      return timers.size;
    },
  };
}
