/**
 * The way of a transaction into the pool (architecture §3.1): what no state can change is checked here, before the journal;
 * conflicts are decided when the command is applied, and that verdict is what the client is told. A list is admitted
 * together or not at all (decision V3).
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { encodeTransaction } from '../../chain/codec.js';
import { transactionHashOfBytes } from '../../chain/hash.js';
import { hasDuplicateInputs, isCoinbase, isCreate } from '../../chain/transaction.js';
import type { Transaction, TxOut } from '../../chain/types.js';
import {
  DUPLICATE_INPUTS,
  INVALID_SCRIPT,
  planCreateValidation,
  planValidation,
  type UtxoLookup,
} from '../../chain/validation.js';
import { type Clock, unixSeconds } from '../../lib/clock.js';
import { createDeferred, type Deferred } from '../../lib/deferred.js';
import { type ErrorCode, isTesseraError, TesseraError } from '../../lib/errors.js';
import type { Fault } from '../../lib/fault.js';
import type { MempoolObserver } from '../observer.js';
import type { SubmittedTransaction } from '../service.js';
import { type CandidateTx, type GroupOutcome, type Refusal, RULES } from '../state/admit.js';
import type { Applier } from '../state/applier.js';
import type { MempoolState, RejectedTx } from '../state/state.js';
import type { Statuses } from '../state/statuses.js';
import type { Verifier } from './verifier.js';

/** Bytes of one encoded transaction: room for some 1,500 inputs. */
export const MAX_TRANSACTION_BYTES = 512 * 1024;
/** Members of one DRUID set, so that a set always fits into one block. */
export const MAX_DRUID_PARTICIPANTS = 64n;
/**
 * The share of the pool that DRUID halves may take while they wait. They claim no inputs, so that one output backs any
 * number of them: without a bound of their own they would keep everybody else out, for as long as a half may wait.
 */
const HALVES_SHARE = 4;
/** Transactions checked before the event loop gets a turn: about two milliseconds. */
const CHUNK = 128;

export interface AdmissionOptions {
  readonly maxTransactions: number;
  readonly maxBytes: number;
}

export interface Admission {
  /** See `MempoolService.submit`. */
  submit(transactions: readonly Transaction[]): Promise<readonly SubmittedTransaction[]>;
}

interface Group {
  readonly candidates: readonly CandidateTx[];
  readonly done: Deferred<GroupOutcome>;
}

export function createAdmission(
  options: AdmissionOptions,
  modules: {
    readonly state: MempoolState;
    readonly applier: Applier;
    readonly statuses: Statuses;
    readonly verifier: Verifier;
    readonly clock: Clock;
    readonly observer?: MempoolObserver | undefined;
    /** Told of each transaction that is refused. */
    readonly refused?: (rejected: RejectedTx) => void;
  },
): Admission {
  const { state, applier, statuses, verifier, clock, observer, refused } = modules;
  let queue: Group[] = [];
  /** Admitted by the checks, not applied yet: counted against the bounds of the pool. */
  const underWay = { count: 0, bytes: 0, halves: 0, halfBytes: 0 };

  const visibleOutput: UtxoLookup = (outPoint) => {
    const slot = state.utxos.find(outPoint);
    if (slot === 0) return undefined;
    const out = state.utxos.output(slot);
    return isLocked(out) ? undefined : out;
  };

  function isLocked(out: TxOut): boolean {
    return out.locktime > currentBlock();
  }

  /** Number of the last stored block, which locktimes are held against. */
  function currentBlock(): bigint {
    return BigInt(Math.max(0, state.head.height));
  }

  /** The refusal of the rules that need no journal; the scripts last, off the event loop. */
  async function check({ hash, bytes, tx }: CandidateTx): Promise<Refusal | null> {
    const refuse = (code: ErrorCode, rule: string): Refusal => ({ code, hash, rule });
    if (bytes.length > MAX_TRANSACTION_BYTES) {
      return refuse(
        'transaction_rejected',
        `It has ${bytes.length} bytes; at most ${MAX_TRANSACTION_BYTES} are allowed`,
      );
    }
    if (isCoinbase(tx)) return refuse('transaction_rejected', 'Only a miner can make a coinbase transaction');
    const participants = tx.druidInfo?.participants ?? 1n;
    if (participants < 1n || participants > MAX_DRUID_PARTICIPANTS) {
      return refuse('transaction_rejected', `A DRUID set has 1 to ${MAX_DRUID_PARTICIPANTS} participants`);
    }
    if (hasDuplicateInputs(tx)) return refuse(DUPLICATE_INPUTS.code, DUPLICATE_INPUTS.message);
    if (tx.druidInfo === null && spendsClaimed(tx)) return refuse('double_spend', RULES.spent);
    const plan = isCreate(tx) ? planCreateValidation(tx) : planValidation(tx, currentBlock(), visibleOutput);
    const refusal = (found: Fault): Refusal => refuse(found.code, found.message);
    if (plan.fault !== null && plan.checks.length === 0) return refusal(plan.fault);
    if (!(await verifier.verify(plan.checks))) return refusal(INVALID_SCRIPT);
    return plan.fault === null ? null : refusal(plan.fault);
  }

  function spendsClaimed(tx: Transaction): boolean {
    return tx.inputs.some(({ previousOut }) => {
      const slot = previousOut === null ? 0 : state.utxos.find(previousOut);
      return slot !== 0 && state.utxos.isClaimed(slot);
    });
  }

  /** Puts a checked group into the journal, with all others of this turn of the loop in one command. */
  function append(candidates: readonly CandidateTx[]): Promise<GroupOutcome> {
    const done = createDeferred<GroupOutcome>();
    queue.push({ candidates, done });
    if (queue.length === 1) setImmediate(flush);
    return done.promise;
  }

  function flush(): void {
    const groups = queue;
    queue = [];
    const command = {
      kind: 'transactions' as const,
      time: unixSeconds(clock),
      groups: groups.map(({ candidates }) => candidates.map(({ bytes }) => bytes)),
    };
    applier
      .submit<'transactions'>(
        command,
        groups.map(({ candidates }) => candidates),
      )
      .then(
        (outcomes) => {
          for (const [i, group] of groups.entries()) group.done.resolve(outcomes[i] ?? null);
        },
        (error: unknown) => {
          for (const group of groups) group.done.reject(error);
        },
      );
  }

  function reject(refusal: Refusal): never {
    const { code, hash, rule } = refusal;
    statuses.refuse(hash, rule);
    refused?.({ hash, rule });
    throw new TesseraError(code, `transaction ${hash} is refused: ${rule}`, { details: { hash, rule } });
  }

  function reserve(fresh: readonly CandidateTx[]): () => void {
    const bytes = bytesOf(fresh);
    const halves = halvesOf(fresh);
    const halfBytes = bytesOf(halves);
    const { waiting } = state;
    if (
      waiting.count + underWay.count + fresh.length > options.maxTransactions ||
      waiting.bytes + underWay.bytes + bytes > options.maxBytes
    ) {
      throw new TesseraError(
        'mempool_full',
        `the pool is full: it takes ${options.maxTransactions} transactions and ${options.maxBytes} bytes; try again after the next block`,
      );
    }
    if (
      halves.length > 0 &&
      (waiting.halves + underWay.halves + halves.length > options.maxTransactions / HALVES_SHARE ||
        waiting.halfBytes + underWay.halfBytes + halfBytes > options.maxBytes / HALVES_SHARE)
    ) {
      throw new TesseraError(
        'mempool_full',
        'too many DRUID transactions wait for the others of their sets; try again later, or submit the whole set together',
      );
    }
    const count = (sign: 1 | -1): void => {
      underWay.count += sign * fresh.length;
      underWay.bytes += sign * bytes;
      underWay.halves += sign * halves.length;
      underWay.halfBytes += sign * halfBytes;
    };
    count(1);
    return () => count(-1);
  }

  /** Those that will wait for others: a set that is complete with them does not. */
  function halvesOf(fresh: readonly CandidateTx[]): readonly CandidateTx[] {
    const come = new Map<string, number>();
    for (const { tx } of fresh) {
      if (tx.druidInfo !== null) come.set(tx.druidInfo.druid, (come.get(tx.druidInfo.druid) ?? 0) + 1);
    }
    return fresh.filter(({ tx }) => {
      if (tx.druidInfo === null) return false;
      const { druid, participants } = tx.druidInfo;
      const set = state.druidSet(druid);
      return BigInt((set?.come ?? 0) + (come.get(druid) ?? 0)) < (set?.participants ?? participants);
    });
  }

  /** The members that are not admitted yet and pass every check; throws for the first that fails. */
  async function checkAll(candidates: readonly CandidateTx[]): Promise<readonly CandidateTx[]> {
    const fresh: CandidateTx[] = [];
    for (let at = 0; at < candidates.length; at += CHUNK) {
      if (at > 0) await nextTurn();
      const chunk = candidates.slice(at, at + CHUNK).filter(({ hash }) => !statuses.isAdmittedInMemory(hash));
      const refusals = await Promise.all(chunk.map(check));
      for (const [i, candidate] of chunk.entries()) {
        const refusal = refusals[i];
        if (refusal === null || refusal === undefined) fresh.push(candidate);
        else if (!(await statuses.isAdmitted(candidate.hash))) reject(refusal);
      }
    }
    return fresh;
  }

  async function admit(fresh: readonly CandidateTx[]): Promise<void> {
    const release = reserve(fresh);
    try {
      let rest = fresh;
      while (rest.length > 0) {
        const refusal = await append(rest);
        if (refusal === null) return;
        // It may have been admitted, and mined, between the checks and the command; then the others are tried again.
        if (!(await statuses.isAdmitted(refusal.hash))) reject(refusal);
        rest = rest.filter(({ hash }) => hash !== refusal.hash);
      }
    } finally {
      release();
    }
  }

  return {
    async submit(transactions) {
      const observed = observer?.submission();
      try {
        const candidates = transactions.map((tx): CandidateTx => {
          const bytes = encodeTransaction(tx);
          return { hash: transactionHashOfBytes(bytes), bytes, tx };
        });
        const fresh = await checkAll(candidates);
        if (fresh.length > 0) await admit(fresh);
        observed?.admitted(fresh.length, candidates.length - fresh.length);
        return candidates.map(({ hash, tx }) => ({ hash, transaction: tx }));
      } catch (error) {
        observed?.refused(isTesseraError(error) ? error.code : 'internal_error');
        throw error;
      }
    },
  };
}

function bytesOf(candidates: readonly CandidateTx[]): number {
  return candidates.reduce((sum, { bytes }) => sum + bytes.length, 0);
}
