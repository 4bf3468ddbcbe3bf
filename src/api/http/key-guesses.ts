/** Limits the wrong API keys that an address may send. */

import type { Clock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { isLoopback } from '../../lib/ip-address.js';
import { AddressTally } from './address-tally.js';

/** Wrong keys that an address may send in a window. */
const MAX_FAILURES = 20;
const WINDOW_MS = 60_000;

/**
 * Slows down guessing of API keys, whether `api.rate_limit` is on or not: after too many wrong keys, an address is refused
 * for a while. Others are not affected. Over loopback a valid key is still accepted, because behind a proxy that
 * `api.trusted_proxies` does not name, all clients share that address.
 */
export class KeyGuesses {
  readonly #failures: AddressTally;

  constructor(clock: Clock) {
    this.#failures = new AddressTally(WINDOW_MS, clock);
  }

  /** Throws `rate_limited` when the address must wait before its next attempt. */
  assertMayTry(address: string): void {
    if (!isLoopback(address)) this.#assertBelow(address);
  }

  /** Counts a wrong key. Throws `rate_limited`, in place of the usual refusal, when there are too many. */
  failed(address: string): void {
    this.#assertBelow(address);
    this.#failures.add(address, 1);
  }

  #assertBelow(address: string): void {
    const { amount, seconds } = this.#failures.of(address);
    if (amount < MAX_FAILURES) return;
    throw new TesseraError(
      'rate_limited',
      `${MAX_FAILURES} wrong API keys came from your address: wait ${seconds} s.`,
      { details: { retryAfter: seconds } },
    );
  }
}
