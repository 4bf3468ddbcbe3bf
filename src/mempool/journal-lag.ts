/**
 * Lag of the journal: how long its entries wait until the state has applied them, as far as looks from time to time can tell,
 * one at each scrape.
 */

import type { Clock } from '../lib/clock.js';

/** Looks that are remembered: more of them say nothing new. */
const MAX_LOOKS = 1_000;

interface Look {
  readonly head: number;
  /** Time by the monotonic clock, in ms. */
  readonly at: number;
}

export class JournalLag {
  readonly #clock: Clock;
  /** Looks at which something had not been applied that has not been yet, the oldest first. */
  #looks: Look[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Seconds since a look that saw an entry which is not applied yet; 0 when all are, or none was seen before. */
  seconds(head: number, applied: number): number {
    const at = this.#clock.monotonic();
    this.#looks = this.#looks.filter((look) => look.head > applied);
    if (head > applied && this.#looks.length < MAX_LOOKS) this.#looks.push({ head, at });
    return (at - (this.#looks[0]?.at ?? at)) / 1_000;
  }
}
