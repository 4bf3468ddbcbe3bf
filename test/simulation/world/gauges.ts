/** Gauges of a node of a world, as a scrape would read them. */

import { type Metrics, noMetrics } from '../../../src/observability/metrics.js';

export class Gauges {
  readonly #values = new Map<string, number>();
  readonly #updates = new Set<() => void | Promise<void>>();
  /** What the node gets. */
  readonly metrics: Metrics = {
    ...noMetrics,
    gauge: (name: string, ..._labels: readonly unknown[]) => ({
      inc: () => undefined,
      dec: () => undefined,
      set: (value: number) => void this.#values.set(name, value),
    }),
    beforeScrape: (update) => {
      this.#updates.add(update);
      return () => void this.#updates.delete(update);
    },
  };

  /** Value of a gauge now. */
  read(name: string): number | undefined {
    for (const update of this.#updates) void update();
    return this.#values.get(name);
  }
}
