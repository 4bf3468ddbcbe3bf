/** What may wait for verification at once: signatures and bytes, counted before any of them is verified (rule P6). */

import { MAX_BLOCK_SIGNATURE_OPERATIONS } from '../../chain/constants.js';
import { scriptSignatureOperations } from '../../chain/signature-operations.js';
import type { Script } from '../../chain/types.js';
import { signatureCost, verificationCost } from '../../crypto/unusual-keys.js';
import { Budget } from '../../lib/budget.js';
import { TesseraError } from '../../lib/errors.js';
import type { CandidateTx } from '../state/acceptance.js';

/** Signature operations of one submission: a few seconds of one processor. */
export const MAX_SUBMITTED_OPERATIONS = 2 * MAX_BLOCK_SIGNATURE_OPERATIONS;
/** Bytes of the transactions of one submission. */
const MAX_SUBMITTED_BYTES = 32 * 1024 * 1024;
/** Submissions of the largest size that are checked at once. */
const LARGEST_AT_ONCE = 2;

export class VerificationBounds {
  readonly #budget = new Budget({
    total: [LARGEST_AT_ONCE * MAX_SUBMITTED_OPERATIONS, LARGEST_AT_ONCE * MAX_SUBMITTED_BYTES],
    share: 'free',
    refuse: () => new TesseraError('overloaded', 'too many transactions wait to be verified; try again in a moment'),
  });

  /**
   * Counts a submission until the returned function is called. Throws `overloaded` when too much is being checked already.
   * One transaction by itself may be anything that the rules allow: however dear it is, it counts as the most that a submission
   * may cost, for storage takes it in a block. Who sends more while it is checked must leave as much to the others as it
   * takes: one that takes all it can get still leaves a place for each that comes later.
   */
  reserve(candidates: readonly CandidateTx[], sender: string): () => void {
    const cost = candidates.reduce((total, { tx }) => total + costOf(tx.inputs), 0);
    const operations = candidates.length === 1 ? Math.min(cost, MAX_SUBMITTED_OPERATIONS) : cost;
    const bytes = candidates.reduce((total, one) => total + one.bytes.length, 0);
    if (operations > MAX_SUBMITTED_OPERATIONS || bytes > MAX_SUBMITTED_BYTES) {
      throw new TesseraError(
        'transaction_rejected',
        `the list has scripts with up to ${operations} signature operations and ${bytes} bytes; at most ${MAX_SUBMITTED_OPERATIONS} and ${MAX_SUBMITTED_BYTES} are checked together: submit it in parts`,
      );
    }
    return this.#budget.take(sender, [operations, bytes]);
  }
}

/** Signature operations of the scripts, counted several times where a key or a signature is dear to verify. */
function costOf(inputs: readonly { readonly script: Script }[]): number {
  return inputs.reduce((sum, { script }) => sum + scriptSignatureOperations(script) * dearest(script), 0);
}

function dearest(script: Script): number {
  return script.reduce((most, entry) => Math.max(most, entryCost(entry)), 1);
}

function entryCost(entry: Script[number]): number {
  if (entry.kind === 'pubkey') return verificationCost(entry.bytes);
  return entry.kind === 'signature' ? signatureCost(entry.bytes) : 1;
}
