/** Checks of a submission, in this order: its parents are awaited; then form, cost of the signatures (rule P6), ancestors. */

import { MAX_BLOCK_SIGNATURE_OPERATIONS, MAX_TRANSACTION_BYTES } from '../../chain/constants.js';
import { scriptSignatureOperations, signatureBudgetFault } from '../../chain/signature-operations.js';
import { hasDuplicateInputs, isCoinbase, spentOutPoints } from '../../chain/transaction.js';
import type { DruidInfo, OutPoint, Script, Transaction, TxIn } from '../../chain/types.js';
import { DUPLICATE_INPUTS, policyFault } from '../../chain/validation.js';
import { signatureCost, verificationCost } from '../../crypto/unusual-keys.js';
import { Budget } from '../../lib/budget.js';
import { createDeferred, type Deferred } from '../../lib/deferred.js';
import { TesseraError } from '../../lib/errors.js';
import { fault, type Verdict } from '../../lib/fault.js';
import type { CandidateTx } from '../state/acceptance.js';
import type { Coins } from '../state/coins.js';
import type { Kin } from '../state/pool.js';
import type { MempoolState } from '../state/state.js';

/** The longest chain of submissions that wait for one another; no chain in the pool is as long. */
const MAX_DEPTH = 128;

/** Submissions that wait for others. Each is looked at again whenever one that it waits for is decided. */
const MAX_WAITING = 1_000;

/** Places for submissions that wait for others to be decided. Each takes one before any work is done for it. */
export function waitingPlaces(): Budget {
  return new Budget({
    total: [MAX_WAITING],
    share: 'free',
    refuse: () =>
      new TesseraError('overloaded', 'too many submissions wait for others to be decided; try again in a moment'),
  });
}

interface Submission {
  readonly hashes: readonly string[];
  /** Length of the longest chain of submissions that this one waits for. */
  readonly depth: number;
}

interface Waiter {
  readonly missing: readonly OutPoint[];
  readonly open: Set<Submission>;
  readonly ready: Deferred<void>;
}

export interface SubmissionsUnderWayModules {
  readonly coins: Pick<Coins, 'has'>;
  readonly places: Budget;
}

export class SubmissionsUnderWay {
  readonly #coins: Pick<Coins, 'has'>;
  readonly #places: Budget;
  /** Submissions by the hashes of their transactions. Nearly every hash has one. */
  readonly #submissions = new Map<string, readonly Submission[]>();
  readonly #waiters = new Map<string, Set<Waiter>>();

  constructor({ coins, places }: SubmissionsUnderWayModules) {
    this.#coins = coins;
    this.#places = places;
  }

  /**
   * Waits until the outputs that the candidates spend are there, or every earlier submission that may bring them is decided:
   * nearly always at once. The result ends the wait of those behind. Throws `overloaded` when too many wait.
   */
  enter(candidates: readonly CandidateTx[], sender: string): (() => void) | Promise<() => void> {
    const missing = this.#missing(candidates);
    const open = new Set<Submission>();
    for (const { tHash } of missing) for (const earlier of this.#submissions.get(tHash) ?? []) open.add(earlier);
    const depth = [...open].reduce((deepest, earlier) => Math.max(deepest, earlier.depth + 1), 0);
    if (depth > MAX_DEPTH) {
      throw new TesseraError('overloaded', 'too many submissions wait for one another; try again in a moment');
    }
    const giveBack = open.size > 0 ? this.#places.take(sender, [1]) : undefined;
    const submission: Submission = { hashes: hashesOf(candidates), depth };
    for (const hash of submission.hashes) this.#note(hash, submission);
    const leave = (): void => this.#leave(submission);
    if (giveBack === undefined) return leave;
    return this.#until({ missing, open, ready: createDeferred<void>() }).then(() => {
      giveBack();
      return leave;
    });
  }

  #missing(candidates: readonly CandidateTx[]): readonly OutPoint[] {
    const missing: OutPoint[] = [];
    for (const { tx } of candidates) {
      for (const { previousOut } of tx.inputs) {
        if (previousOut !== null && !this.#coins.has(previousOut)) missing.push(previousOut);
      }
    }
    return missing;
  }

  #note(hash: string, submission: Submission): void {
    const others = this.#submissions.get(hash);
    this.#submissions.set(hash, others === undefined ? [submission] : [...others, submission]);
  }

  #forget(hash: string, submission: Submission): void {
    const others = this.#submissions.get(hash)?.filter((one) => one !== submission) ?? [];
    if (others.length === 0) this.#submissions.delete(hash);
    else this.#submissions.set(hash, others);
  }

  async #until(waiter: Waiter): Promise<void> {
    const hashes = new Set(waiter.missing.map(({ tHash }) => tHash));
    for (const hash of hashes) addTo(this.#waiters, hash, waiter);
    await waiter.ready.promise;
    for (const hash of hashes) removeFrom(this.#waiters, hash, waiter);
  }

  #leave(submission: Submission): void {
    for (const hash of submission.hashes) this.#forget(hash, submission);
    if (this.#waiters.size === 0) return;
    const concerned = new Set(submission.hashes.flatMap((hash) => [...(this.#waiters.get(hash) ?? [])]));
    for (const { missing, open, ready } of concerned) {
      open.delete(submission);
      // Another submission may have brought the output too, and sooner.
      if (open.size === 0 || missing.every((outPoint) => this.#coins.has(outPoint))) ready.resolve();
    }
  }
}

function hashesOf(candidates: readonly CandidateTx[]): readonly string[] {
  const hashes = candidates.map(({ hash }) => hash);
  return hashes.length === 1 ? hashes : [...new Set(hashes)];
}

function addTo<T>(map: Map<string, Set<T>>, key: string, value: T): void {
  const set = map.get(key);
  if (set === undefined) map.set(key, new Set([value]));
  else set.add(value);
}

function removeFrom<T>(map: Map<string, Set<T>>, key: string, value: T): void {
  const set = map.get(key);
  set?.delete(value);
  if (set?.size === 0) map.delete(key);
}

/** The most members of a DRUID set: a set then always fits into one block. */
const MAX_DRUID_PARTICIPANTS = 64n;

/** The most bytes of all members of a DRUID set together; each member may have its share. */
const MAX_DRUID_SET_BYTES = 2 * MAX_TRANSACTION_BYTES;
/** The most expectations of one transaction: one on every participant. */
const MAX_DRUID_EXPECTATIONS = 64;

const COINBASE = fault('transaction_rejected', 'Only a miner can make a coinbase transaction');
const PARTICIPANTS = fault('transaction_rejected', `A DRUID set has 1 to ${MAX_DRUID_PARTICIPANTS} participants`);
const EXPECTATIONS = fault(
  'transaction_rejected',
  `A DRUID transaction has at most ${MAX_DRUID_EXPECTATIONS} expectations`,
);

/** The first rule of form that a transaction breaks; null when it keeps them all. */
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

/** Bytes that a member may have: a set is examined as a whole when it is complete, so its members share one limit. */
function druidShare({ participants }: DruidInfo): number {
  if (participants < 1n || participants > MAX_DRUID_PARTICIPANTS) return MAX_TRANSACTION_BYTES;
  return Math.min(MAX_TRANSACTION_BYTES, Math.floor(MAX_DRUID_SET_BYTES / Number(participants)));
}

/** The most signature operations of one submission: a few seconds of one processor. */
export const MAX_SUBMITTED_OPERATIONS = 2 * MAX_BLOCK_SIGNATURE_OPERATIONS;
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
   * Counts a submission until the returned function is called. Throws `overloaded` when too much is being checked. A single transaction may be
   * anything that the rules allow, however dear. A sender leaves as much to the others as it takes.
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
  /** The most transactions in the pool that a new one may depend on; 100 by default. */
  readonly maxAncestors?: number;
  /** The most bytes of those transactions; 100,000 by default. */
  readonly maxAncestorBytes?: number;
}

const DEFAULT_ANCESTORS = 100;
const DEFAULT_BYTES = 100_000;

/** The transactions of a list by hash: one may spend what another one of the same list creates. */
export type SubmittedList = ReadonlyMap<string, CandidateTx>;

/**
 * Limits of the ancestors: the transactions in the pool that one depends on, through outputs and DRUID sets. They are counted
 * on arrival, since a waiting transaction never gets new ones. A limit of this node, no rule of the chain (docs/adr/0018-chained-payments.md).
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

  /** Refusal of a list whose own transactions exceed the limits: no block changes that. */
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
