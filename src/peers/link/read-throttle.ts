/** Books the work that a peer causes; one that asks for more than its share is not read until it has paid. */

import type { Clock, Timer } from '../../lib/clock.js';
import type { Connection } from '../transport/transport.js';
import type { PeerLimits } from './limits.js';
import { TokenBucket } from './rate-limit.js';
import type { StrangerBudget } from './stranger-budget.js';

export interface ReadThrottleModules {
  readonly clock: Clock;
  readonly connection: Pick<Connection, 'pause' | 'resume'>;
  /** Set for a stranger, which also draws on what all strangers share. */
  readonly strangers: Pick<StrangerBudget, 'charge'> | undefined;
}

export class ReadThrottle {
  readonly #modules: ReadThrottleModules;
  readonly #share: TokenBucket;
  #until = 0;
  #pause: Timer | undefined;

  constructor({ costPerSecond, costBurst }: PeerLimits, modules: ReadThrottleModules) {
    this.#modules = modules;
    this.#share = new TokenBucket(costPerSecond, costBurst, modules.clock);
  }

  get isPaused(): boolean {
    return this.#pause !== undefined;
  }

  charge(cost: number): void {
    const { clock, connection, strangers } = this.#modules;
    const waitMs = Math.max(this.#share.charge(cost), strangers?.charge(cost) ?? 0);
    if (waitMs === 0) return;
    const until = clock.monotonic() + waitMs;
    if (until <= this.#until) return;
    this.#until = until;
    this.#pause?.cancel();
    connection.pause();
    this.#pause = clock.after(waitMs, () => {
      this.#pause = undefined;
      connection.resume();
    });
  }

  stop(): void {
    this.#pause?.cancel();
  }
}
