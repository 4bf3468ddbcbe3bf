/** Refuses requests while the event loop is late. */

import type { Clock, Timer } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';

/** Interval of the measurements, in ms. */
const INTERVAL_MS = 100;
/** A measurement that comes this many ms after its time counts as late. */
const LATE_MS = 500;
/** Requests are refused after this many late measurements in a row: a single one may be a garbage collection. */
const LATE_TURNS = 3;

/** Measures how late the event loop is. */
export class OverloadGuard {
  readonly #clock: Clock;
  #lateTurns = 0;
  #timer: Timer;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#timer = this.#measure();
  }

  /** Throws `overloaded` while the loop is behind. */
  check(): void {
    if (this.#lateTurns < LATE_TURNS) return;
    throw new TesseraError('overloaded', 'The node is behind with its work; try again.');
  }

  stop(): void {
    this.#timer.cancel();
  }

  #measure(): Timer {
    const due = this.#clock.monotonic() + INTERVAL_MS;
    return this.#clock.after(INTERVAL_MS, () => {
      this.#lateTurns = this.#clock.monotonic() - due > LATE_MS ? this.#lateTurns + 1 : 0;
      this.#timer = this.#measure();
    });
  }
}
