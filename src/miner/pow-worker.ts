/** The thread that searches for nonces: it works on a job, and reads no messages, while the shared flag holds the job's number. */

import { parentPort, workerData } from 'node:worker_threads';
import { NonceSearcher, type SearchJob } from './nonce-search.js';

/** Data that the thread gets at its start. */
export interface PowWorkerData {
  /** The shared flag, one Int32: the number of the job to work on. */
  readonly currentJob: SharedArrayBuffer;
  readonly range: number;
  /** Number of nonces tried, one BigInt64 that all threads share. */
  readonly hashes: SharedArrayBuffer;
}

export interface PowTask {
  /** Number of the job, at least 1. */
  readonly job: number;
  readonly search: SearchJob;
}

/** Messages of a thread: first that it is ready, then each nonce found. */
export type PowReport = { readonly ready: true } | { readonly job: number; readonly nonce: Uint8Array };

if (parentPort) {
  const port = parentPort;
  const { currentJob, range, hashes: counter } = workerData as PowWorkerData;
  const flag = new Int32Array(currentJob);
  const tried = new BigInt64Array(counter);
  const searcher = await NonceSearcher.create();
  port.on('message', ({ job, search: what }: PowTask) => {
    let counted = 0;
    const count = (hashes: number): void => {
      Atomics.add(tried, 0, BigInt(hashes - counted));
      counted = hashes;
    };
    const { nonce, hashes } = searcher.search(what, range, (done) => {
      count(done);
      return Atomics.load(flag, 0) !== job;
    });
    count(hashes);
    if (nonce) port.postMessage({ job, nonce } satisfies PowReport);
  });
  port.postMessage({ ready: true } satisfies PowReport);
}
