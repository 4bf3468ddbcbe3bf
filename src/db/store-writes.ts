/** The writes of a store, one after the other until it is closed: their times, and the reason why the last one failed. */

import { basename } from 'node:path';
import type { Clock } from '../lib/clock.js';
import { errorMessage } from '../lib/errors.js';
import { failpoint } from '../lib/failpoints.js';
import { Mutex } from '../lib/mutex.js';
import { closedError } from './database-error.js';

const MS_PER_SECOND = 1_000;

interface Observable {
  observe(seconds: number): void;
}

export interface WriteMeasures {
  /** Times of writes that wait for the disk. */
  readonly synced: Observable;
  readonly unsynced: Observable;
  readonly clock: Clock;
}

export class StoreWrites {
  readonly #path: string;
  readonly #measures: WriteMeasures | undefined;
  readonly #mutex = new Mutex();
  #problem: string | null = null;
  #isClosed = false;

  constructor(path: string, measures: WriteMeasures | undefined) {
    this.#path = path;
    this.#measures = measures;
  }

  /** The reason why the store takes no writes; null when the last one succeeded. */
  get problem(): string | null {
    return this.#problem;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Throws `shutting_down` once closed. */
  assertOpen(): void {
    if (this.#isClosed) throw closedError(this.#path);
  }

  /** Runs a write when those before it are done, so that none follows one that fails. Throws `shutting_down` once closed. */
  async run(sync: boolean, work: () => Promise<void>): Promise<void> {
    const begun = this.#measures?.clock.monotonic() ?? 0;
    await this.#mutex.run(async () => {
      this.assertOpen();
      await work();
    });
    if (this.#measures === undefined) return;
    const { synced, unsynced, clock } = this.#measures;
    (sync ? synced : unsynced).observe((clock.monotonic() - begun) / MS_PER_SECOND);
  }

  async watched(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
      this.#problem = null;
    } catch (error) {
      this.#problem = errorMessage(error);
      throw error;
    }
  }

  /** Runs `mend` after a failed write, to see whether the disk allows writes again. */
  recover(mend: () => Promise<unknown>): Promise<void> {
    return this.#mutex.run(async () => {
      if (this.#isClosed || this.#problem === null) return;
      await this.watched(mend).catch(() => undefined);
    });
  }

  /** Closes the files and then the seal, once. */
  close(files: () => Promise<unknown>, seal: () => Promise<unknown>): Promise<void> {
    return this.#mutex.run(async () => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      const name = basename(this.#path);
      failpoint('db.close.before', name);
      await files();
      failpoint('db.close.after', name);
      await seal();
      failpoint('db.close.sealed', name);
    });
  }
}
