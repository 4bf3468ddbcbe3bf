/** Source of unicorns: few iterations take well under a millisecond, a production number most of a second. */

import { Worker } from 'node:worker_threads';
import { createUnicorn, type Unicorn, type UnicornParameters } from '../../chain/unicorn.js';
import { programFile } from '../../lib/program-files.js';

/** Iterations that the calling thread does itself: about two milliseconds. */
const MAX_INLINE_ITERATIONS = 8;

/** A function from seed to unicorn that never holds the event loop for long. */
export function createUnicornSource(parameters: UnicornParameters): (seed: bigint) => Promise<Unicorn> | Unicorn {
  if (parameters.iterations <= MAX_INLINE_ITERATIONS) return (seed) => createUnicorn(seed, parameters);
  return (seed) =>
    new Promise((resolve, reject) => {
      const worker = new Worker(programFile('unicorn-worker.js'), {
        workerData: { seed, parameters },
      });
      worker.once('message', resolve);
      worker.once('error', reject);
    });
}
