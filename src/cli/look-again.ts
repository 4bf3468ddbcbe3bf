/**
 * Looks at accepted work until it has ended. What was accepted stays accepted, so a node that cannot answer for a while is asked
 * again. When nothing answers any more, the result is not known, which is no failure: exit status 3.
 */

import { mayAnswerLater, retryAfterMs } from '../client/repeat.js';
import { systemClock } from '../lib/clock.js';
import { errorMessage, isTesseraError } from '../lib/errors.js';
import { printable } from '../lib/printable.js';
import { type CliProcess, ExitError } from './command.js';
import { UNKNOWN } from './writes.js';

const LOOK_EVERY = 250;
/** Milliseconds without an answer after which the command gives up. */
const GIVES_UP_AFTER = 600_000;

export interface Looking {
  readonly clock: { monotonic(): number };
  readonly pause: (ms: number) => Promise<void>;
}

const LOOKING: Looking = {
  clock: systemClock,
  // Timers of `Clock` do not keep the process alive.
  pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** The result of the look, once there is one. Throws an error that no later look can mend, or the last one. */
export async function lookUntil<T>(
  look: () => Promise<T | undefined>,
  { stderr }: Pick<CliProcess, 'stderr'>,
  { clock, pause }: Looking = LOOKING,
): Promise<T> {
  for (let silentSince: number | undefined; ; ) {
    let wait = LOOK_EVERY;
    try {
      const found = await look();
      if (found !== undefined) return found;
      silentSince = undefined;
    } catch (error) {
      if (!isTesseraError(error) || !mayAnswerLater(error)) throw error;
      wait = Math.max(wait, retryAfterMs(error));
      if (silentSince === undefined) {
        silentSince = clock.monotonic();
        stderr.write(`no answer (${printable(error.message)}): looking again, for up to ${GIVES_UP_AFTER / 1_000} s\n`);
      }
      if (clock.monotonic() + wait - silentSince > GIVES_UP_AFTER) throw error;
    }
    await pause(wait);
  }
}

/** Turns an error into "unknown" while `what`, which was accepted, is waited for. A rejection is known, and is not changed. */
export function stillUnknown(error: unknown, what: string): unknown {
  if (isTesseraError(error, 'transaction_rejected')) return error;
  const code = isTesseraError(error) ? error.code : 'internal_error';
  return new ExitError(
    UNKNOWN,
    code,
    `${errorMessage(error)}; ${what} was accepted; whether a block has it is not known: look again later`,
  );
}
