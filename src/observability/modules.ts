/** Modules that most parts of a node are given. An interface of modules extends those that its class needs. */

import type { Clock } from '../lib/clock.js';
import type { Logger } from '../lib/logger.js';
import type { Random } from '../lib/random.js';
import type { Metrics } from './metrics.js';

export interface HasClock {
  readonly clock: Clock;
}

export interface HasLogger {
  readonly logger: Logger;
}

export interface HasMetrics {
  readonly metrics: Metrics;
}

export interface HasRandom {
  readonly random: Random;
}
