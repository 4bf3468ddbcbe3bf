/** Which queued transactions mempool nodes were given, and what they said. In memory only: earlier runs count as unknown. */

import type { Clock } from '../lib/clock.js';

/** Milliseconds in which a mempool node may still be working on what it has not answered. */
const STILL_WORKING = 60_000;

/** `fresh`: nobody was given it. `refused`: not admitted, and every attempt was answered. `out`: a mempool node may have it. */
export type Exposed = 'fresh' | 'refused' | 'out';

interface Attempts {
  exposed: Exclude<Exposed, 'fresh'>;
  underWay: number;
  /** Time when the last attempt ended without an answer, by the clock of intervals. */
  lostAt: number;
}

export class Exposure {
  readonly #clock: Clock;
  /** Attempts by hash; transactions without one are fresh. */
  readonly #attempts = new Map<string, Attempts>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(hash: string): Exposed {
    const attempts = this.#attempts.get(hash);
    if (attempts === undefined) return 'fresh';
    return attempts.underWay > 0 ? 'out' : attempts.exposed;
  }

  isUnderWay(hash: string): boolean {
    return (this.#attempts.get(hash)?.underWay ?? 0) > 0;
  }

  /** Notes one that was queued before this run, and may have been sent just before that ended. */
  unknown(hash: string): void {
    this.#of(hash).lostAt = this.#clock.monotonic();
  }

  begin(hash: string): void {
    this.#of(hash).underWay += 1;
  }

  /** `isRefused`: the answer was that it is not admitted. */
  end(hash: string, isRefused: boolean): void {
    const attempts = this.#attempts.get(hash);
    // The payment was settled while the answer was on its way.
    if (attempts === undefined) return;
    attempts.underWay -= 1;
    const now = this.#clock.monotonic();
    if (!isRefused) attempts.lostAt = now;
    attempts.exposed = isRefused && now - attempts.lostAt > STILL_WORKING ? 'refused' : 'out';
  }

  /** Forgets one that is settled. */
  forget(hash: string): void {
    this.#attempts.delete(hash);
  }

  #of(hash: string): Attempts {
    const known = this.#attempts.get(hash);
    if (known !== undefined) return known;
    const attempts: Attempts = { exposed: 'out', underWay: 0, lostAt: Number.NEGATIVE_INFINITY };
    this.#attempts.set(hash, attempts);
    return attempts;
  }
}
