/** The worker threads that search for nonces: started once, given one header after the other, and replaced when one dies. */

import { Worker } from 'node:worker_threads';
import type { BlockHeader } from '../chain/types.js';
import { fileError } from '../db/database-error.js';
import type { Timer } from '../lib/clock.js';
import { createDeferred, type Deferred } from '../lib/deferred.js';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';
import { programFile } from '../lib/program-files.js';
import type { HasClock, HasLogger } from '../observability/modules.js';
import { MAX_RANGES, searchJobOf } from './nonce-search.js';
import type { PowReport, PowTask, PowWorkerData } from './pow-worker.js';

const REPLACE_AFTER_MS = 1_000;
/** The flag's value when there is nothing to search. */
const NO_JOB = 0;

export type PowPoolModules = HasClock & HasLogger;

export interface PowPoolOptions {
  readonly threads: number;
  /** Bytes of a nonce; 8 by default, fewer on networks of original nodes. */
  readonly nonceLength?: number | undefined;
}

export class PowPool {
  readonly #modules: PowPoolModules;
  readonly #count: number;
  readonly #nonceLength: number | undefined;
  readonly #currentJob = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  readonly #flag = new Int32Array(this.#currentJob);
  readonly #hashes = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
  readonly #tried = new BigInt64Array(this.#hashes);
  readonly #workers = new Set<Worker>();
  readonly #replacements = new Set<Timer>();
  #task: PowTask | undefined;
  #found: Deferred<Uint8Array | null> | undefined;
  #lastJob = 0;
  #stopped = false;

  constructor({ threads, nonceLength }: PowPoolOptions, modules: PowPoolModules) {
    this.#modules = modules;
    this.#count = Math.min(threads, MAX_RANGES);
    this.#nonceLength = nonceLength;
  }

  get threads(): number {
    return this.#workers.size;
  }

  /** Nonces tried so far. */
  get hashes(): number {
    return Number(Atomics.load(this.#tried, 0));
  }

  /** Resolves when every thread is ready. Throws `database_failed` when the system does not give a thread its
   * files, `internal_error` when a thread cannot be started for another reason. */
  async start(): Promise<void> {
    const starts = await Promise.allSettled(Array.from({ length: this.#count }, (_, range) => this.#spawn(range)));
    const failed = starts.find((start) => start.status === 'rejected');
    if (!failed) return;
    await this.stop();
    throw failed.reason;
  }

  /** Searches for a nonce, and abandons the previous search. Null when abandoned: by `abandon`, `stop`, or another search. */
  async search(header: BlockHeader): Promise<Uint8Array | null> {
    if (this.#stopped) return null;
    const search = searchJobOf(header, this.#nonceLength);
    this.#finish(null);
    this.#lastJob += 1;
    this.#task = { job: this.#lastJob, search };
    this.#found = createDeferred();
    Atomics.store(this.#flag, 0, this.#lastJob);
    for (const worker of this.#workers) worker.postMessage(this.#task);
    return await this.#found.promise;
  }

  abandon(): void {
    this.#finish(null);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#finish(null);
    for (const timer of this.#replacements) timer.cancel();
    this.#replacements.clear();
    await Promise.all([...this.#workers].map((worker) => worker.terminate()));
  }

  #finish(nonce: Uint8Array | null): void {
    Atomics.store(this.#flag, 0, NO_JOB);
    this.#task = undefined;
    this.#found?.resolve(nonce);
    this.#found = undefined;
  }

  async #spawn(range: number): Promise<void> {
    const ready = createDeferred<void>();
    const workerData: PowWorkerData = { currentJob: this.#currentJob, range, hashes: this.#hashes };
    const worker = new Worker(programFile('pow-worker.js'), { workerData, execArgv: [] });
    let failure: unknown;
    let isReady = false;
    this.#workers.add(worker);
    worker.on('message', (report: PowReport) => {
      if ('ready' in report) {
        isReady = true;
        ready.resolve();
        if (this.#task) worker.postMessage(this.#task);
      } else if (report.job === this.#task?.job) this.#finish(report.nonce);
    });
    worker.on('error', (error) => {
      failure = error;
    });
    worker.on('exit', () => {
      this.#workers.delete(worker);
      const reason = failure === undefined ? 'it exited' : errorMessage(failure);
      if (isReady && !this.#stopped) this.#replaceLater(range, reason);
      const named = fileError(failure);
      const code = isTesseraError(named) ? named.code : 'internal_error';
      ready.reject(new TesseraError(code, `a mining thread did not start: ${reason}`, { cause: failure }));
    });
    await ready.promise;
  }

  #replaceLater(range: number, reason: string): void {
    const { clock, logger } = this.#modules;
    logger.error({ range }, `a mining thread ended and will be replaced: ${reason}`);
    const timer = clock.after(REPLACE_AFTER_MS, () => {
      this.#replacements.delete(timer);
      this.#spawn(range).catch((error: unknown) => this.#replaceLater(range, errorMessage(error)));
    });
    this.#replacements.add(timer);
  }
}
