/** What may wait for verification at once: signatures and bytes, counted before any of them is verified (rule P6). */

import { MAX_BLOCK_SIGNATURE_OPERATIONS } from '../../chain/constants.js';
import { scriptSignatureOperations } from '../../chain/signature-operations.js';
import type { Script } from '../../chain/types.js';
import { signatureCost, verificationCost } from '../../crypto/unusual-keys.js';
import { TesseraError } from '../../lib/errors.js';
import type { CandidateTx } from '../state/acceptance.js';

/** Signature operations of one submission: a few seconds of one processor. */
export const MAX_SUBMITTED_OPERATIONS = 2 * MAX_BLOCK_SIGNATURE_OPERATIONS;
/** Bytes of the transactions of one submission. */
const MAX_SUBMITTED_BYTES = 32 * 1024 * 1024;
/** Submissions of the largest size that are checked at once. */
const LARGEST_AT_ONCE = 2;
const MAX_OPERATIONS = LARGEST_AT_ONCE * MAX_SUBMITTED_OPERATIONS;
const MAX_BYTES = LARGEST_AT_ONCE * MAX_SUBMITTED_BYTES;

interface Amount {
  readonly operations: number;
  readonly bytes: number;
}

const NOTHING: Amount = { operations: 0, bytes: 0 };

export class VerificationBounds {
  #held = NOTHING;
  /** By sender. */
  readonly #shares = new Map<string, Amount>();

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
    const added = { operations, bytes };
    const share = this.#shares.get(sender);
    const taken = sum(this.#held, added);
    const kept = share === undefined ? NOTHING : sum(share, added);
    if (taken.operations + kept.operations > MAX_OPERATIONS || taken.bytes + kept.bytes > MAX_BYTES) {
      throw new TesseraError('overloaded', 'too many transactions wait to be verified; try again in a moment');
    }
    this.#add(sender, added, 1);
    return () => this.#add(sender, added, -1);
  }

  #add(sender: string, amount: Amount, sign: 1 | -1): void {
    this.#held = sum(this.#held, amount, sign);
    const share = sum(this.#shares.get(sender) ?? NOTHING, amount, sign);
    if (share.bytes > 0) this.#shares.set(sender, share);
    else this.#shares.delete(sender);
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

function sum(a: Amount, b: Amount, sign: 1 | -1 = 1): Amount {
  return { operations: a.operations + sign * b.operations, bytes: a.bytes + sign * b.bytes };
}
