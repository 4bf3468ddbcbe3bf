/** The worker threads that search nonces: started once, given one header after the other, replaced when one dies. */

import { Worker } from 'node:worker_threads';
import type { BlockHeader } from '../chain/types.js';
import type { Clock, Timer } from '../lib/clock.js';
import { createDeferred, type Deferred } from '../lib/deferred.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import { workerUrl } from '../lib/worker-url.js';
import { MAX_RANGES, searchJobOf } from './nonce-search.js';
import type { PowReport, PowTask, PowWorkerData } from './pow-worker.js';

export interface PowPool {
  /** Resolves when every thread is ready. Throws `internal_error` when one cannot be started. */
  start(): Promise<void>;
  /**
   * Searches a nonce for the header, in place of the search before. Resolves with null when the search is abandoned: by
   * `abandon`, by `stop`, or for another header.
   */
  search(header: BlockHeader): Promise<Uint8Array | null>;
  abandon(): void;
  /** Ends the threads and resolves when they are gone. */
  stop(): Promise<void>;
  /** Threads that live. */
  readonly threads: number;
  /** Nonces tried so far. */
  readonly hashes: number;
}

/** Milliseconds until a thread that died is replaced. */
const REPLACE_AFTER_MS = 1_000;
/** The flag's value when there is nothing to search. */
const NO_JOB = 0;

export function createPowPool(
  options: { readonly threads: number },
  modules: { readonly clock: Clock; readonly logger: Logger },
): PowPool {
  const { clock, logger } = modules;
  const count = Math.min(options.threads, MAX_RANGES);
  const currentJob = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const flag = new Int32Array(currentJob);
  const hashes = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
  const workers = new Set<Worker>();
  const replacements = new Set<Timer>();
  let task: PowTask | undefined;
  let found: Deferred<Uint8Array | null> | undefined;
  let lastJob = 0;
  let stopped = false;

  const finish = (nonce: Uint8Array | null): void => {
    Atomics.store(flag, 0, NO_JOB);
    task = undefined;
    found?.resolve(nonce);
    found = undefined;
  };

  const replaceLater = (range: number, reason: string): void => {
    logger.error({ range }, `a mining thread ended and will be replaced: ${reason}`);
    const timer = clock.after(REPLACE_AFTER_MS, () => {
      replacements.delete(timer);
      spawn(range).catch((error: unknown) => replaceLater(range, errorMessage(error)));
    });
    replacements.add(timer);
  };

  const spawn = async (range: number): Promise<void> => {
    const ready = createDeferred<void>();
    const workerData: PowWorkerData = { currentJob, range, hashes };
    const worker = new Worker(workerUrl(import.meta.url, './pow-worker.js'), { workerData, execArgv: [] });
    let reason = 'it exited';
    let isReady = false;
    workers.add(worker);
    worker.on('message', (report: PowReport) => {
      if ('ready' in report) {
        isReady = true;
        ready.resolve();
        if (task) worker.postMessage(task);
      } else if (report.job === task?.job) finish(report.nonce);
    });
    worker.on('error', (error) => {
      reason = errorMessage(error);
    });
    worker.on('exit', () => {
      workers.delete(worker);
      if (!isReady) ready.reject(new TesseraError('internal_error', `a mining thread did not start: ${reason}`));
      else if (!stopped) replaceLater(range, reason);
    });
    await ready.promise;
  };

  const stop = async (): Promise<void> => {
    stopped = true;
    finish(null);
    for (const timer of replacements) timer.cancel();
    replacements.clear();
    await Promise.all([...workers].map((worker) => worker.terminate()));
  };

  return {
    async start() {
      const starts = await Promise.allSettled(Array.from({ length: count }, (_, range) => spawn(range)));
      const failed = starts.find((start) => start.status === 'rejected');
      if (!failed) return;
      await stop();
      throw failed.reason;
    },
    async search(header) {
      if (stopped) return null;
      const search = searchJobOf(header);
      finish(null);
      lastJob++;
      task = { job: lastJob, search };
      found = createDeferred();
      Atomics.store(flag, 0, lastJob);
      for (const worker of workers) worker.postMessage(task);
      return await found.promise;
    },
    abandon: () => finish(null),
    stop,
    get threads() {
      return workers.size;
    },
    get hashes() {
      return Number(Atomics.load(new BigInt64Array(hashes), 0));
    },
  };
}
