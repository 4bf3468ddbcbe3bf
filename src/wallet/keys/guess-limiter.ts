/**
 * Slows the guessing of a passphrase. After a wrong one every further attempt, right or wrong, waits before it is looked
 * at: 250 ms, doubled with each failure, at most 30 s. The wait comes before the look, and attempts wait in line, so
 * nothing is won by asking many times at once or by giving up early. Failures are forgotten after 15 quiet minutes, not by
 * a success: a busy wallet would otherwise wipe them for the guesser.
 */

import type { Clock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { createMutex } from '../../lib/mutex.js';

/** Milliseconds. */
const FIRST_DELAY = 250;
/** Milliseconds. */
const MAX_DELAY = 30_000;
/** Milliseconds without a failure after which all are forgotten. */
const FORGET_AFTER = 15 * 60 * 1_000;
/** Attempts that may wait; more are turned away. */
const MAX_WAITING = 32;

export interface GuessLimiter {
  /** Runs `check` when it may run; false counts as a failure. Throws `rate_limited` when too many wait already. */
  attempt(check: () => Promise<boolean> | boolean): Promise<boolean>;
  /** Lets everything that waits fail with `shutting_down`. */
  close(): void;
}

export function createGuessLimiter(clock: Clock): GuessLimiter {
  const line = createMutex();
  let failures = 0;
  let lastFailure = Number.NEGATIVE_INFINITY;
  let waiting = 0;
  let closed = false;
  let wake: (() => void) | undefined;

  function delayLeft(): number {
    if (failures === 0) return 0;
    const since = clock.monotonic() - lastFailure;
    if (since >= FORGET_AFTER) {
      failures = 0;
      return 0;
    }
    return Math.max(0, Math.min(FIRST_DELAY * 2 ** (failures - 1), MAX_DELAY) - since);
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = clock.after(ms, resolve);
      wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  async function inTurn(check: () => Promise<boolean> | boolean): Promise<boolean> {
    for (let ms = delayLeft(); ms > 0 && !closed; ms = delayLeft()) await pause(ms);
    if (closed) throw new TesseraError('shutting_down', 'the wallet is being closed');
    const right = await check();
    if (!right) {
      failures += 1;
      lastFailure = clock.monotonic();
    }
    return right;
  }

  return {
    async attempt(check) {
      if (failures > 0 && waiting >= MAX_WAITING) {
        throw new TesseraError('rate_limited', 'too many attempts after a wrong passphrase; wait half a minute');
      }
      waiting += 1;
      try {
        return await line.run(() => inTurn(check));
      } finally {
        waiting -= 1;
      }
    },
    close() {
      closed = true;
      wake?.();
    },
  };
}
