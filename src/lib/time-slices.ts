/**
 * Keeps long work from blocking the event loop: it asks for a turn before each of its pieces, and gets one at once until the
 * time slice is used up; then the loop runs once before the next. Turns are given in the order of the requests.
 */

import { setImmediate } from 'node:timers/promises';
import type { Clock } from './clock.js';

/** Milliseconds of work between two iterations of the event loop. */
const SLICE_MS = 8;
const NOW = Promise.resolve();

export class TimeSlices {
  readonly #clock: Clock;
  #sliceEnd = Number.NEGATIVE_INFINITY;
  #tail: Promise<void> = NOW;
  /** Those that asked and have no turn yet. */
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the caller may run its next piece of work. */
  turn(): Promise<void> {
    // Asked for several times for each transaction of a block: what nobody has to wait for is not put in line.
    if (this.#waiting === 0 && this.#clock.monotonic() < this.#sliceEnd) return NOW;
    this.#waiting++;
    this.#tail = this.#tail.then(() => this.#next());
    return this.#tail;
  }

  async #next(): Promise<void> {
    if (this.#clock.monotonic() >= this.#sliceEnd) {
      await setImmediate();
      this.#sliceEnd = this.#clock.monotonic() + SLICE_MS;
    }
    this.#waiting--;
  }
}
