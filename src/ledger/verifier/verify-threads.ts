/** The worker threads of the verifier. A thread that ends is replaced; failed starts are repeated at growing intervals. */

import { Worker } from 'node:worker_threads';
import { systemClock, type Timer } from '../../lib/clock.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { silentLogger } from '../../lib/logger.js';
import { programFile } from '../../lib/program-files.js';
import type { HasClock, HasLogger } from '../../observability/modules.js';
import type { VerifyReport } from './verify-worker.js';

/** Milliseconds until a thread that ended is replaced; twice as many after each failed start, up to the maximum. */
const REPLACE_AFTER_MS = 1_000;
const MAX_REPLACE_AFTER_MS = 60_000;

export interface VerifyThreadsModules extends Partial<HasClock & HasLogger> {
  /** Program of the threads; for tests. */
  readonly program?: URL;
}

/** Callbacks for the events of the threads. */
export interface VerifyThreadsEvents {
  readonly ready: () => void;
  readonly outcomes: (batch: number, outcomes: Uint8Array) => void;
  /** Called when the thread that had these batches is gone. */
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
    // A referenced worker keeps the process alive for its answer.
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
  /** Failed starts since the last successful one. */
  #failedStarts = 0;
  #reason = '';
  #isClosed = false;

  constructor(events: VerifyThreadsEvents, modules: VerifyThreadsModules = {}) {
    const program = programFile('verify-worker.js');
    this.#modules = { clock: systemClock, logger: silentLogger, program, ...modules };
    this.#events = events;
  }

  get ready(): ReadonlySet<VerifyThread> {
    return this.#ready;
  }

  /** Number of threads, those that will be started again included. */
  get size(): number {
    return this.#workers.size + this.#replacements.size;
  }

  /** The reason why no thread takes work, once one was needed; null when a thread does. */
  get problem(): string | null {
    if (this.#ready.size > 0 || this.#reason === '') return null;
    return `no thread that runs scripts can be started, which is tried again: ${this.#reason}`;
  }

  /** Starts one more thread; a failed start is repeated. */
  add(): void {
    try {
      this.#spawn();
    } catch (error) {
      this.#replaceLater(threadError('did not start', error));
    }
  }

  #spawn(): void {
    let failure: unknown;
    let thread: VerifyThread | undefined;
    const worker = new Worker(this.#modules.program, { execArgv: [] });
    this.#workers.add(worker);
    worker.on('message', (report: VerifyReport) => {
      if ('ready' in report) thread = this.#onReady(worker);
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
      if (thread === undefined) this.#replaceLater(threadError('did not start', failure));
      else this.#onEnd(thread, failure);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#replacements) timer.cancel();
    this.#replacements.clear();
    await Promise.all([...this.#workers].map((worker) => worker.terminate()));
  }

  #onReady(worker: Worker): VerifyThread {
    const thread = new VerifyThread(worker);
    worker.unref();
    this.#ready.add(thread);
    this.#failedStarts = 0;
    this.#reason = '';
    this.#events.ready();
    return thread;
  }

  #onEnd(thread: VerifyThread, failure: unknown): void {
    this.#ready.delete(thread);
    if (this.#isClosed) return;
    const error = threadError('ended', failure);
    this.#events.lost([...thread.batches], error);
    this.#replaceLater(error);
  }

  #replaceLater(error: TesseraError): void {
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

function threadError(what: string, failure: unknown): TesseraError {
  const reason = failure === undefined ? 'it exited' : errorMessage(failure);
  return new TesseraError('internal_error', `a verify thread ${what}: ${reason}`, { cause: failure });
}
