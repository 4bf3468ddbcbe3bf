/** The worker threads of the verifier. One that ends is replaced; failed starts are repeated at growing intervals. */

import { Worker } from 'node:worker_threads';
import { fileError } from '../../db/database-error.js';
import { type Clock, systemClock, type Timer } from '../../lib/clock.js';
import { createDeferred, type Deferred } from '../../lib/deferred.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { type Logger, silentLogger } from '../../lib/logger.js';
import { workerUrl } from '../../lib/worker-url.js';
import type { VerifyReport } from './verify-worker.js';

/** Milliseconds until the place of a thread is filled again; twice as many after each start that fails, up to the last. */
const REPLACE_AFTER_MS = 1_000;
const MAX_REPLACE_AFTER_MS = 60_000;

export interface VerifyThreadsModules {
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Program of the threads; for tests. */
  readonly program?: URL;
}

/** Hears of what the threads do. */
export interface VerifyThreadsEvents {
  readonly ready: () => void;
  readonly outcomes: (batch: number, outcomes: Uint8Array) => void;
  /** The thread that had these batches is gone. */
  readonly lost: (batches: readonly number[], error: TesseraError) => void;
}

/** A thread that is ready. */
export class VerifyThread {
  readonly batches = new Set<number>();
  readonly #worker: Worker;

  constructor(worker: Worker) {
    this.#worker = worker;
  }

  post(id: number, bytes: Uint8Array<ArrayBuffer>): void {
    // Somebody waits for the answer.
    this.#worker.ref();
    this.batches.add(id);
    this.#worker.postMessage({ id, bytes }, [bytes.buffer]);
  }

  answered(id: number): void {
    this.batches.delete(id);
    if (this.batches.size === 0) this.#worker.unref();
  }
}

export class VerifyThreads {
  readonly #modules: Required<VerifyThreadsModules>;
  readonly #events: VerifyThreadsEvents;
  readonly #ready = new Set<VerifyThread>();
  readonly #workers = new Set<Worker>();
  readonly #replacements = new Set<Timer>();
  /** Starts that have failed since the last that did not. */
  #failedStarts = 0;
  #reason = '';
  #isClosed = false;

  constructor(events: VerifyThreadsEvents, modules: VerifyThreadsModules = {}) {
    const program = workerUrl('verify-worker');
    this.#modules = { clock: systemClock, logger: silentLogger, program, ...modules };
    this.#events = events;
  }

  get ready(): ReadonlySet<VerifyThread> {
    return this.#ready;
  }

  /** True when there is a thread, or there will be one. */
  get any(): boolean {
    return this.#workers.size + this.#replacements.size > 0;
  }

  /** Why no thread takes work, once one was needed; null when one does. */
  get problem(): string | null {
    if (this.#ready.size > 0 || this.#reason === '') return null;
    return `no thread that runs scripts can be started, which is tried again: ${this.#reason}`;
  }

  /** Resolves when `count` more threads are ready. Throws `database_failed` when the system gives one no files, else `internal_error`. */
  async start(count: number): Promise<void> {
    const starts = await Promise.allSettled(Array.from({ length: count }, () => this.#spawn()));
    const failed = starts.find((start) => start.status === 'rejected');
    if (failed === undefined) return;
    await this.close();
    throw failed.reason;
  }

  /** Starts one more; if it cannot be started, it is tried again. */
  add(): void {
    this.#spawn().catch((error: unknown) => this.#replaceLater(error));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#replacements) timer.cancel();
    this.#replacements.clear();
    await Promise.all([...this.#workers].map((worker) => worker.terminate()));
  }

  async #spawn(): Promise<void> {
    const up = createDeferred<void>();
    let failure: unknown;
    let thread: VerifyThread | undefined;
    const worker = new Worker(this.#modules.program, { execArgv: [] });
    this.#workers.add(worker);
    worker.on('message', (report: VerifyReport) => {
      if ('ready' in report) thread = this.#onReady(worker, up);
      else {
        thread?.answered(report.id);
        this.#events.outcomes(report.id, report.outcomes);
      }
    });
    worker.on('error', (error) => {
      failure = error;
    });
    worker.on('exit', () => {
      this.#workers.delete(worker);
      if (thread === undefined) up.reject(startError(failure));
      else this.#onEnd(thread, failure);
    });
    await up.promise;
  }

  #onReady(worker: Worker, up: Deferred<void>): VerifyThread {
    const thread = new VerifyThread(worker);
    worker.unref();
    this.#ready.add(thread);
    this.#failedStarts = 0;
    this.#reason = '';
    up.resolve();
    this.#events.ready();
    return thread;
  }

  #onEnd(thread: VerifyThread, failure: unknown): void {
    this.#ready.delete(thread);
    if (this.#isClosed) return;
    const error = new TesseraError('internal_error', `a verify thread ended: ${reasonOf(failure)}`, { cause: failure });
    this.#events.lost([...thread.batches], error);
    this.#replaceLater(error);
  }

  #replaceLater(error: unknown): void {
    if (this.#isClosed) return;
    const { clock, logger } = this.#modules;
    this.#reason = errorMessage(error);
    const ms = Math.min(REPLACE_AFTER_MS * 2 ** this.#failedStarts, MAX_REPLACE_AFTER_MS);
    logger.error({ err: error }, `${this.#reason}; another one is started in ${ms / 1_000} s`);
    const timer = clock.after(ms, () => {
      this.#replacements.delete(timer);
      this.#failedStarts++;
      this.add();
    });
    this.#replacements.add(timer);
  }
}

function startError(failure: unknown): TesseraError {
  const named = fileError(failure);
  const code = isTesseraError(named) ? named.code : 'internal_error';
  return new TesseraError(code, `a verify thread did not start: ${reasonOf(failure)}`, { cause: failure });
}

function reasonOf(failure: unknown): string {
  return failure === undefined ? 'it exited' : errorMessage(failure);
}
