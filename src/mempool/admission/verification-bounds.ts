/** What may wait for verification at once: signatures and bytes, counted before any of them is verified (rule P6). */

import { MAX_BLOCK_SIGNATURE_OPERATIONS } from '../../chain/constants.js';
import { scriptSignatureOperations } from '../../chain/signature-operations.js';
import type { Script } from '../../chain/types.js';
import { verificationCost } from '../../crypto/unusual-keys.js';
import { TesseraError } from '../../lib/errors.js';
import type { CandidateTx } from '../state/acceptance.js';

/** Signature operations of all submissions that are being checked: a few seconds of one processor. */
export const MAX_WAITING_OPERATIONS = 2 * MAX_BLOCK_SIGNATURE_OPERATIONS;
/** Bytes of the transactions of all submissions that are being checked. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;

export class VerificationBounds {
  #operations = 0;
  #bytes = 0;

  /**
   * Counts a submission until the returned function is called. Throws `overloaded` when too much is being checked already.
   * One submission alone may be anything that the rules for its transactions allow, up to the bound itself.
   */
  reserve(candidates: readonly CandidateTx[]): () => void {
    const operations = candidates.reduce((sum, { tx }) => sum + costOf(tx.inputs), 0);
    const bytes = candidates.reduce((sum, one) => sum + one.bytes.length, 0);
    if (operations > MAX_WAITING_OPERATIONS || bytes > MAX_WAITING_BYTES) {
      throw new TesseraError(
        'transaction_rejected',
        `the list has scripts with up to ${operations} signature operations and ${bytes} bytes; at most ${MAX_WAITING_OPERATIONS} and ${MAX_WAITING_BYTES} are checked together: submit it in parts`,
      );
    }
    if (this.#operations + operations > MAX_WAITING_OPERATIONS || this.#bytes + bytes > MAX_WAITING_BYTES) {
      throw new TesseraError('overloaded', 'too many transactions wait to be verified; try again in a moment');
    }
    this.#operations += operations;
    this.#bytes += bytes;
    return () => {
      this.#operations -= operations;
      this.#bytes -= bytes;
    };
  }
}

/** Signature operations of the scripts, those under keys that are dear to verify counted several times. */
function costOf(inputs: readonly { readonly script: Script }[]): number {
  return inputs.reduce((sum, { script }) => sum + scriptSignatureOperations(script) * dearestKey(script), 0);
}

function dearestKey(script: Script): number {
  return script.reduce((most, one) => (one.kind === 'pubkey' ? Math.max(most, verificationCost(one.bytes)) : most), 1);
}
