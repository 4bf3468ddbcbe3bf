/**
 * A clock whose intervals are processor time of this process. Who measures with it how far the event loop is behind sees work, and
 * nothing of a machine that had no processor for it: no request of a test is refused for that (rule P6).
 */

import { type Clock, systemClock } from '../../src/lib/clock.js';

export const processorClock: Clock = {
  ...systemClock,
  monotonic() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
};
