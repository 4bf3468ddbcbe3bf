/** A token bucket that lends: what is asked for is always given, and whoever asked waits until the debt is paid. */

import type { Clock } from '../../lib/clock.js';

export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #clock: Clock;
  #level: number;
  #last: number;

  /** Refills `perSecond` tokens a second up to `burst`, and starts full. */
  constructor(perSecond: number, burst: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#clock = clock;
    this.#level = burst;
    this.#last = clock.monotonic();
  }

  /** Takes tokens, if need be on credit; returns the milliseconds until there is no debt, 0 when there is none. */
  charge(tokens: number): number {
    const now = this.#clock.monotonic();
    this.#level = Math.min(this.#burst, this.#level + ((now - this.#last) / 1_000) * this.#perSecond) - tokens;
    this.#last = now;
    return this.#level >= 0 ? 0 : Math.ceil((-this.#level / this.#perSecond) * 1_000);
  }
}
