/**
 * Keeps long work from blocking the event loop: the work asks for a turn before each piece, and waits when its time
 * slice is used up. One slice begins in each round of the loop, so several kinds of work hold the loop no longer than
 * one. Within a kind of work, askers take turns.
 */

import { setImmediate } from 'node:timers/promises';
import type { Clock } from './clock.js';
import { FairQueue } from './fair-queue.js';
import { NOW } from './pieces.js';

/** Milliseconds of work between two iterations of the event loop. */
const SLICE_MS = 8;

/** The rounds of an event loop in which slices begin, in the order of the requests; a loop is known by its clock. */
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
  /** Waiters without a turn yet, by asker. */
  readonly #waiting = new FairQueue<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#rounds = roundsOf(clock);
  }

  /** True when a turn must be waited for. Ask this first where pieces are cheaper than a promise. */
  get isUsedUp(): boolean {
    return this.#waiting.length > 0 || this.#clock.monotonic() >= this.#sliceEnd;
  }

  /** Resolves when the caller may run its next piece of work; `NOW` itself when nobody waits. */
  turn(asker = ''): Promise<void> {
    if (!this.isUsedUp) return NOW;
    const turn = new Promise<void>((resolve) => this.#waiting.push(asker, resolve));
    // The piece of the last turn runs before the next turn is given.
    this.#tail = this.#tail.then(() => this.#give());
    return turn;
  }

  async #give(): Promise<void> {
    if (this.#clock.monotonic() >= this.#sliceEnd) {
      await this.#rounds.next();
      this.#sliceEnd = this.#clock.monotonic() + SLICE_MS;
    }
    this.#waiting.shift()?.();
  }
}
