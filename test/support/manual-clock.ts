/** The clock of the tests: it stands still until a test moves it. */

import type { Clock, Timer } from '../../src/lib/clock.js';

class StillClock implements Clock {
  #time: number;
  readonly #timers = new Set<{ readonly at: number; readonly run: () => void }>();

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#time = start;
  }

  readonly now = (): number => this.#time;
  readonly monotonic = (): number => this.#time;

  readonly after = (ms: number, run: () => void): Timer => {
    const timer = { at: this.#time + ms, run };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  };

  /** Moves time on without running anything, as it passes for a process that is suspended. */
  passOver(ms: number): void {
    this.#time += ms;
  }

  /** Timers that wait. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Milliseconds until each waiting timer, in order. */
  get due(): readonly number[] {
    return [...this.#timers].map(({ at }) => at - this.#time).sort((a, b) => a - b);
  }

  /** Runs the next timer that is due by `end`; without one, moves there and gives false. */
  protected runNext(end: number): boolean {
    const next = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
    this.#time = Math.max(this.#time, next?.at ?? end);
    if (next === undefined) return false;
    this.#timers.delete(next);
    next.run();
    return true;
  }
}

/** A clock that a test moves by hand. */
export class ManualClock extends StillClock {
  /** Moves time on and runs what is due, in order. */
  advance(ms: number): void {
    const end = this.now() + ms;
    while (this.runNext(end));
  }
}

/** The same for work in promises, which settle after each timer. */
export class SettlingClock extends StillClock {
  async advance(ms: number): Promise<void> {
    const end = this.now() + ms;
    while (this.runNext(end)) await settle();
    await settle();
  }
}

/** Runs everything that needs no time: promises, and the frames of the memory transport. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}
