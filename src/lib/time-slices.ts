/**
 * Shares the event loop: work that comes in many pieces asks for a turn before each of them, and gets it at once until the
 * slice is used up; then the loop goes round before the next. Turns are given in the order in which they were asked for.
 */

import { setImmediate } from 'node:timers/promises';
import type { Clock } from './clock.js';

/** Milliseconds of work between two rounds of the loop. */
const SLICE_MS = 8;

export class TimeSlices {
  readonly #clock: Clock;
  #sliceEnd = Number.NEGATIVE_INFINITY;
  #tail: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when a piece of work may run; the piece is what the caller does before it waits again. */
  turn(): Promise<void> {
    this.#tail = this.#tail.then(() => this.#next());
    return this.#tail;
  }

  async #next(): Promise<void> {
    if (this.#clock.monotonic() < this.#sliceEnd) return;
    await setImmediate();
    this.#sliceEnd = this.#clock.monotonic() + SLICE_MS;
  }
}
