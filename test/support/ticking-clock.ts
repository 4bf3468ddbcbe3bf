/** A clock that moves on a little whenever it is looked at: the same work takes as many time slices on any machine. */

import { type Clock, systemClock } from '../../src/lib/clock.js';

/** Milliseconds between two looks: two to four pieces of work are a slice. */
const STEP_MS = 2;

/** `pass` moves it on by what a piece of work takes. */
export function tickingClock(): Clock & { pass(ms: number): void } {
  let time = 0;
  return {
    ...systemClock,
    monotonic: () => (time += STEP_MS),
    pass(ms) {
      time += ms;
    },
  };
}
