/** Tells when the event loop is behind, so that requests are refused at once instead of waiting without end (rule P6). */

import type { Clock, Timer } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';

export interface OverloadGuard {
  /** Throws `overloaded` while the loop is behind. */
  check(): void;
  stop(): void;
}

/** How often the lag is measured, in ms. */
const INTERVAL_MS = 100;
/** A turn of the loop this much late, in ms, counts as late. */
const LATE_MS = 500;
/** Late turns in a row from which on requests are refused: one alone may be a garbage collection. */
const LATE_TURNS = 3;

export function createOverloadGuard(clock: Clock): OverloadGuard {
  let lateTurns = 0;
  let timer: Timer;

  const measure = (): void => {
    const due = clock.monotonic() + INTERVAL_MS;
    timer = clock.after(INTERVAL_MS, () => {
      lateTurns = clock.monotonic() - due > LATE_MS ? lateTurns + 1 : 0;
      measure();
    });
  };
  measure();

  return {
    check() {
      if (lateTurns >= LATE_TURNS) throw new TesseraError('overloaded', 'The node is behind with its work; try again.');
    },
    stop: () => timer.cancel(),
  };
}
