/** The worker thread that verifies signatures and runs scripts; see `verifier.ts`. */

import { parentPort } from 'node:worker_threads';
import { runEncodedChecks } from './verify-batch.js';

parentPort?.on('message', ({ id, bytes }: { id: number; bytes: Uint8Array }) => {
  const outcomes = runEncodedChecks(bytes);
  parentPort?.postMessage({ id, outcomes }, [outcomes.buffer]);
});
