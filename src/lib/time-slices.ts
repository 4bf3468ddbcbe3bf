/**
 * Keeps long work from blocking the event loop: it asks for a turn before each of its pieces, and gets one at once until its
 * time slice is used up; then it waits for another one. One slice begins in each round of the loop, so several kinds of work that run at the
 * same time hold the loop no longer than one does, and each gets as much time as any other, however small its pieces are. Within
 * one kind turns are given in the order of the requests.
 */

import { setImmediate } from 'node:timers/promises';
import type { Clock } from './clock.js';
import { NOW } from './pieces.js';

/** Milliseconds of work between two iterations of the event loop. */
const SLICE_MS = 8;

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
  /** Number of those that asked and have no turn yet. */
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#rounds = roundsOf(clock);
  }

  /**
   * True when a turn has to be waited for. Work that asks a dozen times for each transaction of a block asks this first: a promise that
   * nobody has to wait for costs more than some of its pieces.
   */
  get isUsedUp(): boolean {
    return this.#waiting > 0 || this.#clock.monotonic() >= this.#sliceEnd;
  }

  /** Resolves when the caller may run its next piece of work; `NOW` itself when nobody has to wait for that. */
  turn(): Promise<void> {
    if (!this.isUsedUp) return NOW;
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
