/** The clock of a dev network: that of the machine, moved. Intervals and timers stay those of the machine. */

import { type Clock, systemClock, type Timer } from '../../lib/clock.js';

const MS_PER_SECOND = 1_000;

export class DevClock implements Clock {
  readonly #machine: Clock;
  #ahead = 0;

  constructor(machine: Clock = systemClock) {
    this.#machine = machine;
  }

  /** Milliseconds that it is ahead of the clock of the machine. */
  get ahead(): number {
    return this.#ahead;
  }

  setAhead(ms: number): void {
    this.#ahead = ms;
  }

  /** Sets it to the beginning of a second (Unix time); it goes on from there. */
  set(seconds: number): void {
    this.#ahead = seconds * MS_PER_SECOND - this.#machine.now();
  }

  now(): number {
    return this.#machine.now() + this.#ahead;
  }

  monotonic(): number {
    return this.#machine.monotonic();
  }

  after(ms: number, run: () => void): Timer {
    return this.#machine.after(ms, run);
  }
}
