/**
 * Keeps long work from blocking the event loop: it asks for a turn before each of its pieces, and gets one at once until the
 * time slice is used up; then the loop runs once before the next. Turns are given in the order of the requests. All long work of a
 * process shares the slices: several kinds of it that run at the same time take no more of one turn of the loop than one does.
 */

import { setImmediate } from 'node:timers/promises';
import type { Clock } from './clock.js';

/** Milliseconds of work between two iterations of the event loop. */
const SLICE_MS = 8;
const NOW = Promise.resolve();

/** The slices of an event loop, which are those of its clock. */
class Loop {
  sliceEnd = Number.NEGATIVE_INFINITY;
  tail: Promise<void> = NOW;
  /** Those that asked and have no turn yet. */
  waiting = 0;
}

const loops = new WeakMap<Clock, Loop>();

function loopOf(clock: Clock): Loop {
  const loop = loops.get(clock) ?? new Loop();
  loops.set(clock, loop);
  return loop;
}

export class TimeSlices {
  readonly #clock: Clock;
  readonly #loop: Loop;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#loop = loopOf(clock);
  }

  /** Resolves when the caller may run its next piece of work. */
  turn(): Promise<void> {
    const loop = this.#loop;
    // Asked for several times for each transaction of a block: what nobody has to wait for is not put in line.
    if (loop.waiting === 0 && this.#clock.monotonic() < loop.sliceEnd) return NOW;
    loop.waiting++;
    loop.tail = loop.tail.then(() => this.#next());
    return loop.tail;
  }

  async #next(): Promise<void> {
    const loop = this.#loop;
    if (this.#clock.monotonic() >= loop.sliceEnd) {
      await setImmediate();
      loop.sliceEnd = this.#clock.monotonic() + SLICE_MS;
    }
    loop.waiting--;
  }
}
