/**
 * Keeps long work from blocking the event loop: it asks for a turn before each of its pieces, and gets one at once until its
 * time slice is used up; then it waits for another one. One slice begins in each round of the loop, so several kinds of work that run at the
 * same time hold the loop no longer than one does, and each gets as much time as any other, however small its pieces are. Within
 * one kind turns are given in the order of the requests.
 */

import { setImmediate } from 'node:timers/promises';
import type { Clock } from './clock.js';

/** Milliseconds of work between two iterations of the event loop. */
const SLICE_MS = 8;
const NOW = Promise.resolve();

/** The rounds of an event loop in which slices begin, in the order in which they were asked for; a loop is known by its clock. */
class Rounds {
  #last: Promise<void> = NOW;

  /** Resolves in a round in which no other slice begins. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => setImmediate());
    return this.#last;
  }
}

const roundsByClock = new WeakMap<Clock, Rounds>();

function roundsOf(clock: Clock): Rounds {
  const rounds = roundsByClock.get(clock) ?? new Rounds();
  roundsByClock.set(clock, rounds);
  return rounds;
}

export class TimeSlices {
  readonly #clock: Clock;
  readonly #rounds: Rounds;
  #sliceEnd = Number.NEGATIVE_INFINITY;
  #tail: Promise<void> = NOW;
  /** Those that asked and have no turn yet. */
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#rounds = roundsOf(clock);
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
      await this.#rounds.next();
      this.#sliceEnd = this.#clock.monotonic() + SLICE_MS;
    }
    this.#waiting--;
  }
}
