/**
 * Slows down guessing of API keys, whether `api.rate_limit` is on or not: after too many wrong keys, an address is refused
 * for a while. Others are not affected. Over loopback a valid key is still accepted, because behind a proxy all clients
 * share that address.
 */

import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { addressGroup, isLoopback } from '../../lib/ip-address.js';

/** Wrong keys that an address may send in a window. */
const MAX_FAILURES = 20;
const WINDOW_MS = 60_000;
/** Maximum number of remembered addresses; the one that was quiet the longest makes room. */
const MAX_ADDRESSES = 10_000;

interface Failures {
  count: number;
  /** When they are forgotten, by `clock.monotonic()`. */
  readonly until: number;
}

export class KeyGuesses {
  readonly #clock: Clock;
  readonly #failures = new LRUCache<string, Failures>({ max: MAX_ADDRESSES });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws `rate_limited` when the address must wait before its next attempt. */
  assertMayTry(address: string): void {
    if (!isLoopback(address)) this.#assertBelow(address);
  }

  /** Counts a wrong key. Throws `rate_limited`, in place of the usual refusal, when there are too many. */
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
