/** Repeats calls that etcd does not answer, with growing pauses, and remembers the reason. */

import type { Clock } from '../../lib/clock.js';
import { createDeferred } from '../../lib/deferred.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import { EtcdError } from './etcd-client.js';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

export interface PatienceModules {
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Patience {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #waiting = new Set<object>();
  #problem: string | null = null;
  #closed = false;
  readonly #wake = new Set<() => void>();

  constructor({ clock, logger }: PatienceModules) {
    this.#clock = clock;
    this.#logger = logger;
  }

  get problem(): string | null {
    return this.#problem;
  }

  close(): void {
    this.#closed = true;
    for (const wake of this.#wake) wake();
  }

  /** Result of `attempt`, repeated until etcd answers. Throws other errors, `database_failed`, `shutting_down`. */
  async until<T>(attempt: () => Promise<T>): Promise<T> {
    const waiter = {};
    try {
      for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
        try {
          return await attempt();
        } catch (error) {
          if (!(error instanceof EtcdError)) throw error;
          if (error.isRefusal) throw new TesseraError('database_failed', errorMessage(error), { cause: error });
          this.#note(waiter, errorMessage(error));
        }
        await this.#pause(pause);
        if (this.#closed) throw new TesseraError('shutting_down', 'the journal is closed');
      }
    } finally {
      this.#forget(waiter);
    }
  }

  #note(waiter: object, problem: string): void {
    this.#waiting.add(waiter);
    if (this.#problem === null) this.#logger.warn({ problem }, `the journal waits for etcd: ${problem}`);
    this.#problem = `the journal waits for etcd: ${problem}`;
  }

  #forget(waiter: object): void {
    if (!this.#waiting.delete(waiter) || this.#waiting.size > 0) return;
    this.#problem = null;
    if (!this.#closed) this.#logger.info({}, 'the journal goes on: etcd answers');
  }

  async #pause(ms: number): Promise<void> {
    const over = createDeferred<void>();
    const timer = this.#clock.after(ms, over.resolve);
    this.#wake.add(over.resolve);
    if (this.#closed) over.resolve();
    await over.promise;
    this.#wake.delete(over.resolve);
    timer.cancel();
  }
}
