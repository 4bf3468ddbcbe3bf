/** A token bucket: how much one peer may ask of this node. */

import type { Clock } from '../../lib/clock.js';

export interface TokenBucket {
  /** Takes tokens if they are there; false takes none. */
  take(tokens: number): boolean;
}

/** Refills `perSecond` tokens a second up to `burst`, and starts full. */
export function createTokenBucket(perSecond: number, burst: number, clock: Clock): TokenBucket {
  let level = burst;
  let last = clock.monotonic();
  return {
    take(tokens) {
      const now = clock.monotonic();
      level = Math.min(burst, level + ((now - last) / 1_000) * perSecond);
      last = now;
      if (tokens > level) return false;
      level -= tokens;
      return true;
    },
  };
}
