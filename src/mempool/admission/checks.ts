/**
 * Checks of a submission, in this order: the form of each transaction, cheap rules that depend on no state; what its signatures
 * and bytes cost, before any of them is verified (rule P6); and how much that waits it is behind.
 */

import { MAX_BLOCK_SIGNATURE_OPERATIONS, MAX_TRANSACTION_BYTES } from '../../chain/constants.js';
import { policyFault } from '../../chain/policy.js';
import { scriptSignatureOperations, signatureBudgetFault } from '../../chain/signature-operations.js';
import { hasDuplicateInputs, isCoinbase, spentOutPoints } from '../../chain/transaction.js';
import type { DruidInfo, Script, Transaction, TxIn } from '../../chain/types.js';
import { DUPLICATE_INPUTS } from '../../chain/validation.js';
import { signatureCost, verificationCost } from '../../crypto/unusual-keys.js';
import { Budget } from '../../lib/budget.js';
import { TesseraError } from '../../lib/errors.js';
import { fault, type Verdict } from '../../lib/fault.js';
import type { CandidateTx } from '../state/acceptance.js';
import type { Kin } from '../state/pool.js';
import type { MempoolState } from '../state/state.js';

/** Members of one DRUID set, so that a set always fits into one block. */
const MAX_DRUID_PARTICIPANTS = 64n;

/** Bytes of all members of a DRUID set together; each member may have its share. */
const MAX_DRUID_SET_BYTES = 2 * MAX_TRANSACTION_BYTES;
/** Expectations of one transaction: one on every participant. */
const MAX_DRUID_EXPECTATIONS = 64;

const COINBASE = fault('transaction_rejected', 'Only a miner can make a coinbase transaction');
const PARTICIPANTS = fault('transaction_rejected', `A DRUID set has 1 to ${MAX_DRUID_PARTICIPANTS} participants`);
const EXPECTATIONS = fault(
  'transaction_rejected',
  `A DRUID transaction has at most ${MAX_DRUID_EXPECTATIONS} expectations`,
);

/** The rules of form, in their order. */
export function candidateFault({ bytes, tx }: CandidateTx, minOutputAmount: bigint): Verdict {
  const maxBytes = tx.druidInfo === null ? MAX_TRANSACTION_BYTES : druidShare(tx.druidInfo);
  if (bytes.length > maxBytes) {
    return fault('transaction_rejected', `It has ${bytes.length} bytes; at most ${maxBytes} are allowed`);
  }
  if (isCoinbase(tx)) return COINBASE;
  const unwanted = policyFault(tx, minOutputAmount);
  if (unwanted !== null) return unwanted;
  const { participants, expectations } = tx.druidInfo ?? { participants: 1n, expectations: [] };
  if (participants < 1n || participants > MAX_DRUID_PARTICIPANTS) return PARTICIPANTS;
  if (expectations.length > MAX_DRUID_EXPECTATIONS) return EXPECTATIONS;
  if (hasDuplicateInputs(tx)) return DUPLICATE_INPUTS;
  return signatureBudgetFault(tx);
}

/** A set is examined as a whole when it is complete, so its members share what one examination may cost. */
function druidShare({ participants }: DruidInfo): number {
  if (participants < 1n || participants > MAX_DRUID_PARTICIPANTS) return MAX_TRANSACTION_BYTES;
  return Math.min(MAX_TRANSACTION_BYTES, Math.floor(MAX_DRUID_SET_BYTES / Number(participants)));
}

/** Signature operations of one submission: a few seconds of one processor. */
export const MAX_SUBMITTED_OPERATIONS = 2 * MAX_BLOCK_SIGNATURE_OPERATIONS;
/** Bytes of the transactions of one submission. */
const MAX_SUBMITTED_BYTES = 32 * 1024 * 1024;
/** Submissions of the largest size that are checked at once. */
const LARGEST_AT_ONCE = 2;

/** Bounds on what may wait for verification at once. */
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

export interface AncestorLimitsOptions {
  /** Transactions that wait and that one more may be behind; 100 by default. */
  readonly maxAncestors?: number;
  /** Bytes of them; 100,000 by default. */
  readonly maxAncestorBytes?: number;
}

const DEFAULT_ANCESTORS = 100;
const DEFAULT_BYTES = 100_000;

/** The transactions of a list by hash: one may spend what another one of the same list creates. */
export type SubmittedList = ReadonlyMap<string, CandidateTx>;

/**
 * Limits of the waiting transactions that one may be behind: those whose outputs it spends, those that these spend, and so
 * on; members of a DRUID set are behind each other. Counted when a transaction arrives: what is behind one that waits never
 * grows. A limit of this node, not a rule of the chain (docs/adr/0018-chained-payments.md).
 */
export class AncestorLimits {
  readonly #maxCount: number;
  readonly #maxBytes: number;
  readonly #state: Pick<MempoolState, 'kin' | 'isReady'>;

  constructor(options: AncestorLimitsOptions, state: Pick<MempoolState, 'kin' | 'isReady'>) {
    this.#maxCount = options.maxAncestors ?? DEFAULT_ANCESTORS;
    this.#maxBytes = options.maxAncestorBytes ?? DEFAULT_BYTES;
    this.#state = state;
  }

  fault(tx: Transaction, list: SubmittedList): Verdict {
    const isBehind = ({ previousOut }: TxIn): boolean => previousOut !== null && this.#waits(previousOut.tHash, list);
    if (!tx.inputs.some(isBehind)) return null;
    const ofList = (hash: string): Kin | undefined => submittedKin(list.get(hash));
    if (!this.#isBeyond(tx, (hash) => this.#state.kin(hash) ?? ofList(hash))) return null;
    return this.#isBeyond(tx, ofList) ? this.#tooManyInList : this.#tooMany;
  }

  #waits(hash: string, list: SubmittedList): boolean {
    return list.has(hash) || this.#state.isReady(hash);
  }

  #isBeyond(tx: Transaction, kinOf: (hash: string) => Kin | undefined): boolean {
    const ancestors = new Set<string>();
    const open = hashesSpentBy(tx);
    let bytes = 0;
    for (let hash = open.pop(); hash !== undefined; hash = open.pop()) {
      if (ancestors.has(hash)) continue;
      const kin = kinOf(hash);
      if (kin === undefined) continue;
      ancestors.add(hash);
      bytes += kin.bytes;
      if (ancestors.size > this.#maxCount || bytes > this.#maxBytes) return true;
      open.push(...kin.behind);
    }
    return false;
  }

  get #tooMany(): Verdict {
    return fault(
      'too_many_ancestors',
      `It is behind more than ${this.#maxCount} transactions or ${this.#maxBytes} bytes that wait for a block; submit it again after the next block`,
    );
  }

  /** No block changes this. */
  get #tooManyInList(): Verdict {
    return fault(
      'invalid_request',
      `It is behind more than ${this.#maxCount} transactions or ${this.#maxBytes} bytes of the same list; submit the list in parts, each after the block of the one before`,
    );
  }
}

function submittedKin(candidate: CandidateTx | undefined): Kin | undefined {
  return candidate && { bytes: candidate.bytes.length, behind: hashesSpentBy(candidate.tx) };
}

function hashesSpentBy(tx: Transaction): string[] {
  return spentOutPoints(tx).map(({ tHash }) => tHash);
}
