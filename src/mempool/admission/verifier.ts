/**
 * Verifies signatures and runs scripts beside the event loop. Checks that arrive in one turn of the loop travel together:
 * a worker fed with batches is four times as fast as one fed one by one. The main thread takes its share, a little in each
 * turn, so that a machine with few cores is used in full.
 */

import { Worker } from 'node:worker_threads';
import { runCheck, type ScriptCheck } from '../../chain/validation.js';
import { createDeferred, type Deferred } from '../../lib/deferred.js';
import { TesseraError } from '../../lib/errors.js';
import { workerUrl } from '../../lib/worker-url.js';
import { encodeChecks } from './verify-batch.js';

/** Jobs of one batch. Larger ones gain nothing and delay the first answer. */
const MAX_BATCH = 64;
/** Jobs that make it worth while to send an idle worker a message. */
const WORTH_A_MESSAGE = 4;
/** Jobs that are sent after a batch which a worker is still busy with, so that it never waits for the main thread. */
const WORTH_QUEUEING = 16;
/** Batches at one worker: the one it runs and the one that it finds next. */
const MAX_BATCHES = 2;
/** Checks that the main thread runs in one turn of the loop: well under a millisecond. */
const MAIN_THREAD_SHARE = 4;

export interface Verifier {
  /** True when every check of the list holds; an empty list holds. Throws `shutting_down` once closed. */
  verify(checks: readonly ScriptCheck[]): Promise<boolean>;
  close(): Promise<void>;
  /** Checks run so far, by where. */
  readonly ran: { readonly worker: number; readonly main: number };
}

interface Job {
  readonly checks: readonly ScriptCheck[];
  readonly done: Deferred<boolean>;
}

interface Lane {
  readonly worker: Worker;
  readonly batches: Map<number, readonly Job[]>;
}

/** `threads` = 0 verifies on the main thread. */
export function createVerifier(options: { readonly threads: number }): Verifier {
  const lanes: Lane[] = [];
  let queue: Job[] = [];
  let scheduled = false;
  let closed = false;
  let nextId = 1;
  const ran = { worker: 0, main: 0 };

  for (let i = 0; i < options.threads; i++) lanes.push(startLane());

  function startLane(): Lane {
    const worker = new Worker(workerUrl(import.meta.url, './verify-worker.js'));
    const lane: Lane = { worker, batches: new Map() };
    worker.unref();
    worker.on('message', ({ id, outcomes }: { id: number; outcomes: Uint8Array }) => {
      ran.worker += outcomes.length;
      settle(lane.batches.get(id) ?? [], outcomes);
      lane.batches.delete(id);
      schedule();
    });
    worker.on('error', (error) => {
      for (const jobs of lane.batches.values()) {
        for (const job of jobs)
          job.done.reject(new TesseraError('internal_error', 'a verify worker died', { cause: error }));
      }
      lane.batches.clear();
      const at = lanes.indexOf(lane);
      if (at >= 0 && !closed) lanes[at] = startLane();
    });
    return lane;
  }

  function settle(jobs: readonly Job[], outcomes: Uint8Array): void {
    let at = 0;
    for (const { checks, done } of jobs) {
      let holds = true;
      for (let i = 0; i < checks.length; i++) if (outcomes[at++] !== 1) holds = false;
      done.resolve(holds);
    }
  }

  function schedule(): void {
    if (scheduled || queue.length === 0) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      feedLanes();
      helpOut();
    });
  }

  function feedLanes(): void {
    for (let depth = 0; depth < MAX_BATCHES; depth++) {
      const enough = depth === 0 ? WORTH_A_MESSAGE : WORTH_QUEUEING;
      for (const lane of lanes) {
        if (queue.length < enough) return;
        if (lane.batches.size === depth) post(lane);
      }
    }
  }

  /** Half of what waits goes to the worker, half stays for the main thread, which would wait for the answers anyway. */
  function post(lane: Lane): void {
    const jobs = queue.slice(0, Math.min(MAX_BATCH, Math.ceil(queue.length / 2)));
    queue = queue.slice(jobs.length);
    const bytes = encodeChecks(jobs.flatMap((job) => job.checks));
    const id = nextId++;
    lane.batches.set(id, jobs);
    lane.worker.postMessage({ id, bytes }, [bytes.buffer]);
  }

  /** A few checks on the main thread; the rest waits for the next turn, so that requests are read in between. */
  function helpOut(): void {
    let budget = MAIN_THREAD_SHARE;
    while (budget > 0) {
      const job = queue.shift();
      if (job === undefined) return;
      budget -= Math.max(1, job.checks.length);
      ran.main += job.checks.length;
      job.done.resolve(job.checks.every(runCheck));
    }
    schedule();
  }

  return {
    ran,
    async verify(checks) {
      if (closed) throw new TesseraError('shutting_down', 'the verifier is closed');
      if (checks.length === 0) return true;
      const done = createDeferred<boolean>();
      queue.push({ checks, done });
      schedule();
      return done.promise;
    },
    async close() {
      closed = true;
      const error = new TesseraError('shutting_down', 'the verifier is closed');
      for (const { done } of queue) done.reject(error);
      for (const { batches } of lanes)
        for (const jobs of batches.values()) for (const { done } of jobs) done.reject(error);
      queue = [];
      await Promise.all(lanes.map(({ worker }) => worker.terminate()));
    },
  };
}
