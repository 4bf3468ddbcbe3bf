/**
 * Slows the guessing of a passphrase. After a wrong one every further attempt, right or wrong, waits before it is checked:
 * 250 ms, doubled with each failure, at most 30 s. The wait comes before the check, and attempts queue up, so nothing is won
 * by asking many times at once or by giving up early. Failures are forgotten after 15 quiet minutes, not by a success: a
 * busy wallet would otherwise wipe them for the guesser.
 */

import type { Clock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { Mutex } from '../../lib/mutex.js';

/** Milliseconds. */
const FIRST_DELAY = 250;
/** Milliseconds. */
const MAX_DELAY = 30_000;
/** Milliseconds without a failure after which all are forgotten. */
const FORGET_AFTER = 15 * 60 * 1_000;
/** Attempts that may wait; more are turned away. */
const MAX_WAITING = 32;

export class PassphraseLimiter {
  readonly #clock: Clock;
  readonly #line = new Mutex();
  #failures = 0;
  #lastFailure = Number.NEGATIVE_INFINITY;
  #waiting = 0;
  #closed = false;
  #wake: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs `check` when it may run; false counts as a failure. Throws `rate_limited` when too many wait already. */
  async attempt(check: () => Promise<boolean> | boolean): Promise<boolean> {
    if (this.#failures > 0 && this.#waiting >= MAX_WAITING) {
      throw new TesseraError('rate_limited', 'too many attempts after a wrong passphrase; wait half a minute');
    }
    this.#waiting += 1;
    try {
      return await this.#line.run(() => this.#inTurn(check));
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Makes everything that waits fail with `shutting_down`. */
  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  async #inTurn(check: () => Promise<boolean> | boolean): Promise<boolean> {
    for (let ms = this.#delayLeft(); ms > 0 && !this.#closed; ms = this.#delayLeft()) await this.#pause(ms);
    if (this.#closed) throw new TesseraError('shutting_down', 'the wallet is being closed');
    const isRight = await check();
    if (!isRight) {
      this.#failures += 1;
      this.#lastFailure = this.#clock.monotonic();
    }
    return isRight;
  }

  #delayLeft(): number {
    if (this.#failures === 0) return 0;
    const since = this.#clock.monotonic() - this.#lastFailure;
    if (since >= FORGET_AFTER) {
      this.#failures = 0;
      return 0;
    }
    return Math.max(0, Math.min(FIRST_DELAY * 2 ** (this.#failures - 1), MAX_DELAY) - since);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(ms, resolve);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}
