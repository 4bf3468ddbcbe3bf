/** The worker thread that verifies signatures and runs scripts; see `verifier.ts`. */

import { parentPort } from 'node:worker_threads';
import { runEncodedChecks } from './verify-batch.js';

/** Reports of a thread: once, that it has loaded; then the outcomes of each batch. */
export type VerifyReport =
  | { readonly ready: true }
  | { readonly id: number; readonly outcomes: Uint8Array<ArrayBuffer> };

const report = (what: VerifyReport, transfer: ArrayBuffer[] = []): void => parentPort?.postMessage(what, transfer);

parentPort?.on('message', ({ id, bytes }: { id: number; bytes: Uint8Array }) => {
  const outcomes = runEncodedChecks(bytes);
  report({ id, outcomes }, [outcomes.buffer]);
});
report({ ready: true });
