/** Waits for an event that others report, or for a time limit. */

import type { Clock } from '../../lib/clock.js';

export class Waiting {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves at the next `end`, or after `ms` milliseconds. */
  begin(ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : this.#clock.after(ms, () => done());
      const done = (): void => {
        timer?.cancel();
        this.#waiting.delete(done);
        resolve();
      };
      this.#waiting.add(done);
    });
  }

  end(): void {
    for (const done of [...this.#waiting]) done();
  }
}
