/**
 * Slows the guessing of a passphrase. After a wrong one, further attempts of the caller wait before the check: 250 ms, doubled each time,
 * at most 30 s, in a queue. Failures are forgotten after 15 quiet minutes, not by a success. A caller is an API key at an address. All
 * failures count together too, four minutes behind that schedule (half with one key, a quarter for callers who failed); then all callers
 * wait except those who were right before and have not failed since.
 */

import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import type { PassphraseCaller } from '../service.js';

/** Milliseconds of delay after the first failure. */
const FIRST_DELAY = 250;
/** The most milliseconds of delay after a failure. */
const MAX_DELAY = 30_000;
/** Milliseconds by which the failures of all callers may run ahead. */
const MAX_AHEAD = 8 * MAX_DELAY;
/** Milliseconds without a failure after which all failures are forgotten. */
const FORGET_AFTER = 15 * 60 * 1_000;
/** The most attempts with one key that may wait; more are refused. */
const MAX_WAITING = 32;
/** The most callers that are remembered: those who were right, and those who were wrong, which takes half a minute each. */
const MAX_CALLERS = 10_000;

/** Caller without an API key: this program itself, and every client of an open node. */
const NOBODY: PassphraseCaller = { key: '', address: '' };

/** Failures that count together: of one caller, of all with one key, or of all. */
class Share {
  failures = 0;
  waiting = 0;
  isKnown = false;
  #due = Number.NEGATIVE_INFINITY;
  #last = Number.NEGATIVE_INFINITY;

  /** Milliseconds that the failures still have to last. */
  debt(now: number): number {
    if (now - this.#last >= FORGET_AFTER) this.failures = 0;
    return this.failures === 0 ? 0 : Math.max(0, this.#due - now);
  }

  /** Adds a failure; gives the milliseconds that it lasts: by this share's own count, or `counted` by another share. */
  fail(now: number, counted?: number): number {
    const debt = this.debt(now);
    const ms = counted ?? Math.min(FIRST_DELAY * 2 ** this.failures, MAX_DELAY);
    this.#due = now + debt + ms;
    this.#last = now;
    this.failures += 1;
    return ms;
  }
}

export class PassphraseLimiter {
  readonly #clock: Clock;
  readonly #all = new Share();
  readonly #keys = new Map<string, Share>();
  readonly #callers = new LRUCache<string, Share>({ maxSize: MAX_CALLERS, sizeCalculation: () => 1 });
  readonly #wakers = new Set<() => void>();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs `check` when the caller may; false counts as a failure. Throws `rate_limited` when too many attempts wait already. */
  async attempt(check: () => boolean, { key, address }: PassphraseCaller = NOBODY): Promise<boolean> {
    const caller = JSON.stringify([key, address]);
    const ofKey = this.#keys.get(key) ?? new Share();
    this.#keys.set(key, ofKey);
    let ms = this.#delay(ofKey, caller);
    if (ms > 0 && ofKey.waiting >= MAX_WAITING) {
      throw new TesseraError('rate_limited', 'too many attempts after a wrong passphrase; wait half a minute');
    }
    ofKey.waiting += 1;
    // No other check may come between the last look at the delay and this check.
    for (; ms > 0 && !this.#closed; ms = this.#delay(ofKey, caller)) await this.#pause(ms);
    ofKey.waiting -= 1;
    if (this.#closed) throw new TesseraError('shutting_down', 'the wallet is being closed');
    const isRight = check();
    const own = this.#callers.get(caller) ?? new Share();
    this.#callers.set(caller, own);
    if (isRight) own.isKnown = true;
    else this.#fail(ofKey, own);
    return isRight;
  }

  /** Makes all waiting attempts fail with `shutting_down`. */
  close(): void {
    this.#closed = true;
    for (const wake of this.#wakers) wake();
  }

  #fail(ofKey: Share, own: Share): void {
    const now = this.#clock.monotonic();
    own.fail(now);
    ofKey.fail(now, this.#all.fail(now));
  }

  /** Milliseconds until the caller may try; 0 for now. */
  #delay(ofKey: Share, caller: string): number {
    const now = this.#clock.monotonic();
    const own = this.#callers.get(caller);
    const ownDelay = own?.debt(now) ?? 0;
    const hasFailed = own !== undefined && own.failures > 0;
    if (own?.isKnown && !hasFailed) return 0;
    const ofKeyDelay = ofKey.debt(now) - (hasFailed ? MAX_AHEAD / 4 : MAX_AHEAD / 2);
    return Math.max(ownDelay, ofKeyDelay, this.#all.debt(now) - MAX_AHEAD, 0);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        timer.cancel();
        this.#wakers.delete(wake);
        resolve();
      };
      const timer = this.#clock.after(ms, wake);
      this.#wakers.add(wake);
    });
  }
}
