/**
 * Slows the guessing of API keys, whether `api.rate_limit` is on or not: an address that showed too many wrong keys is not
 * listened to for a while. Others are not affected. Behind a proxy all come from one address: over loopback a right key is
 * let in.
 */

import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { addressGroup, isLoopback } from '../../lib/ip-address.js';

/** Wrong keys of one address in a window. */
const MAX_FAILURES = 20;
const WINDOW_MS = 60_000;
/** Addresses that are remembered; the one that was quiet the longest makes room. */
const MAX_ADDRESSES = 10_000;

interface Failures {
  count: number;
  /** `clock.monotonic()` when they are forgotten. */
  readonly until: number;
}

export class KeyGuesses {
  readonly #clock: Clock;
  readonly #failures = new LRUCache<string, Failures>({ max: MAX_ADDRESSES });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws `rate_limited` when the address has to wait before its key is looked at. */
  assertMayTry(address: string): void {
    if (!isLoopback(address)) this.#assertBelow(address);
  }

  /** Counts a wrong key. Throws `rate_limited` in place of the refusal when there were too many before. */
  failed(address: string): void {
    this.#assertBelow(address);
    const group = addressGroup(address);
    const known = this.#current(group);
    if (known === undefined) this.#failures.set(group, { count: 1, until: this.#clock.monotonic() + WINDOW_MS });
    else known.count += 1;
  }

  #assertBelow(address: string): void {
    const known = this.#current(addressGroup(address));
    if (known === undefined || known.count < MAX_FAILURES) return;
    const retryAfter = Math.ceil((known.until - this.#clock.monotonic()) / 1_000);
    throw new TesseraError(
      'rate_limited',
      `${MAX_FAILURES} wrong API keys came from your address: wait ${retryAfter} s.`,
      {
        details: { retryAfter },
      },
    );
  }

  #current(group: string): Failures | undefined {
    const known = this.#failures.get(group);
    return known !== undefined && known.until > this.#clock.monotonic() ? known : undefined;
  }
}
