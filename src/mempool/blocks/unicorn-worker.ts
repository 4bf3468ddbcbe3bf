/** The worker thread that computes one unicorn; see `unicorn-source.ts`. */

import { parentPort, workerData } from 'node:worker_threads';
import { createUnicorn, type UnicornParameters } from '../../chain/unicorn.js';

const { seed, parameters } = workerData as { readonly seed: bigint; readonly parameters: UnicornParameters };
parentPort?.postMessage(createUnicorn(seed, parameters));
