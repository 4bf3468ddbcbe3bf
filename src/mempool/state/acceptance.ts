/**
 * Which transactions enter the pool when a command is applied: conflicts between them are decided here, deterministically,
 * by what is unspent and not yet claimed. A group is accepted as a whole or not at all; a transaction with a DRUID waits for
 * the others of its set, and the complete set enters as one unit (docs/chain.md#druid-sets).
 */

import { decodeTransaction } from '../../chain/codec.js';
import { druidSetFault } from '../../chain/druid.js';
import { transactionSignatureOperations } from '../../chain/signature-operations.js';
import { hasDuplicateInputs, isCreate } from '../../chain/transaction.js';
import type { Transaction } from '../../chain/types.js';
import { DUPLICATE_INPUTS, UNKNOWN_UTXO } from '../../chain/validation.js';
import type { KvBatch } from '../../db/kv.js';
import { submittedFormFault } from '../../ledger/block/form.js';
import type { UtxoTable } from '../../ledger/utxo/utxo-table.js';
import { type Fault, fault, type Verdict } from '../../lib/fault.js';
import type { TxStatus } from '../service.js';
import type { FinalStatuses } from './final-statuses.js';
import { keys } from './layout.js';
import type { DruidPool, DruidSet, Pool, PooledTx } from './pool.js';
import { encodePooled } from './records.js';

/** A transaction with what is derived from it, so that nothing is decoded or hashed twice. */
export interface CandidateTx {
  readonly hash: string;
  readonly bytes: Uint8Array;
  readonly tx: Transaction;
}

/** Why a group was not accepted. */
export interface Refusal {
  /** Hash of the member that a rule refuses. */
  readonly hash: string;
  readonly fault: Fault;
}

/** Null: accepted, or known already. */
export type GroupOutcome = Refusal | null;

export const SPENT = fault('double_spend', 'An input is spent by another transaction');
export const KNOWN_CREATE = fault('double_spend', 'An item creation with this hash is in the chain already');
const TOO_MANY_MEMBERS = fault('transaction_rejected', 'More transactions than participants under one DRUID');
export const SET_EXPIRED = fault(
  'transaction_rejected',
  'The other transactions of the DRUID set did not come in time',
);

/** What the acceptance needs of the rest of the state. */
export interface AcceptanceChain {
  /** Number of the last stored block. */
  readonly height: number;
  /** True for a transaction in the pool, in the block being made, or waiting under a DRUID. */
  isPending(hash: string): boolean;
  /** The next number of an arrival. */
  nextArrival(): number;
  /** Notes a transaction that was accepted or posted with others and is rejected, for the events of the node. */
  noteRejected(hash: string, rule: string): void;
}

export interface AcceptanceModules {
  readonly chain: AcceptanceChain;
  readonly utxos: UtxoTable;
  readonly pool: Pool;
  readonly druids: DruidPool;
  readonly statuses: FinalStatuses;
}

/** What a command brings along. */
export interface AcceptanceContext {
  /** Unix seconds. */
  readonly time: number;
  /** Whether an item creation is in the chain. */
  readonly isKnownCreate: (hash: string) => boolean;
  readonly batch: KvBatch;
}

/** A DRUID set as it would be after a group. */
interface DruidPlan {
  readonly druid: string;
  readonly participants: bigint;
  /** Members that the group brings. */
  readonly candidates: CandidateTx[];
  readonly waiting: readonly PooledTx[];
}

interface CompleteSet {
  readonly plan: DruidPlan;
  readonly members: readonly CandidateTx[];
}

/** What is wrong with a set, and which member is to blame when it is one. */
interface SetFault {
  readonly fault: Fault;
  readonly culprit?: string;
}

export class Acceptance {
  readonly #chain: AcceptanceChain;
  readonly #utxos: UtxoTable;
  readonly #pool: Pool;
  readonly #druids: DruidPool;
  readonly #statuses: FinalStatuses;

  constructor({ chain, utxos, pool, druids, statuses }: AcceptanceModules) {
    this.#chain = chain;
    this.#utxos = utxos;
    this.#pool = pool;
    this.#druids = druids;
    this.#statuses = statuses;
  }

  /** Accepts a group, or says why not. */
  accept(group: readonly CandidateTx[], context: AcceptanceContext): GroupOutcome {
    const fresh = new Map<string, CandidateTx>();
    for (const candidate of group) if (!this.#chain.isPending(candidate.hash)) fresh.set(candidate.hash, candidate);
    const members = [...fresh.values()].filter(({ tx }) => tx.druidInfo !== null);
    const claimed: CandidateTx[] = [];
    for (const candidate of fresh.values()) {
      const wrong = this.#claimFault(candidate, context);
      if (wrong !== null) return this.#undo(claimed, { hash: candidate.hash, fault: wrong });
      if (candidate.tx.druidInfo === null) claimed.push(candidate);
    }
    const refusal = this.#acceptMembers(members, context);
    if (refusal !== null) return this.#undo(claimed, refusal);
    for (const candidate of claimed) this.#store(candidate, context.time, 0, context.batch);
    return null;
  }

  /** Removes a waiting set; its members are Rejected with the rule (decisions B13, B15). */
  rejectSet(set: DruidSet, rule: Fault, time: number, batch: KvBatch): void {
    this.#statuses.decide(this.#takeOut(set, { fault: rule }, batch), time, batch);
  }

  /** The rules for one candidate; a single transaction that passes them has claimed its inputs. */
  #claimFault(candidate: CandidateTx, { isKnownCreate }: AcceptanceContext): Verdict {
    const { tx, hash } = candidate;
    if (hasDuplicateInputs(tx)) return DUPLICATE_INPUTS;
    if (tx.druidInfo !== null) return null;
    if (isCreate(tx) && isKnownCreate(hash)) return KNOWN_CREATE;
    return this.#claimInputs(tx);
  }

  #undo(claimed: readonly CandidateTx[], refusal: Refusal): Refusal {
    for (const { tx } of claimed) this.#releaseInputs(tx);
    return refusal;
  }

  /** Claims all inputs of a transaction, or none and says why. */
  #claimInputs(tx: Transaction): Verdict {
    const utxos = this.#utxos;
    const claimed: number[] = [];
    for (const { previousOut } of tx.inputs) {
      if (previousOut === null) continue;
      const slot = utxos.find(previousOut);
      if (slot !== 0 && !utxos.isClaimed(slot)) {
        utxos.setClaimed(slot, true);
        claimed.push(slot);
        continue;
      }
      for (const undo of claimed) utxos.setClaimed(undo, false);
      return slot === 0 ? UNKNOWN_UTXO : SPENT;
    }
    return null;
  }

  #releaseInputs(tx: Transaction): void {
    for (const { previousOut } of tx.inputs) {
      const slot = previousOut === null ? 0 : this.#utxos.find(previousOut);
      if (slot !== 0) this.#utxos.setClaimed(slot, false);
    }
  }

  /** Accepts the DRUID members of a group. On a refusal nothing of this group stays, and a set that failed is rejected. */
  #acceptMembers(members: readonly CandidateTx[], context: AcceptanceContext): Refusal | null {
    const complete: CompleteSet[] = [];
    const incomplete: DruidPlan[] = [];
    for (const plan of this.#druidPlans(members)) {
      const count = BigInt(plan.waiting.length + plan.candidates.length);
      if (count < plan.participants) {
        incomplete.push(plan);
        continue;
      }
      const set = { plan, members: [...plan.waiting.map(toCandidate), ...plan.candidates] };
      const wrong = count > plan.participants ? { fault: TOO_MANY_MEMBERS } : this.#settle(set);
      if (wrong === null) {
        complete.push(set);
        continue;
      }
      for (const done of complete) for (const { tx } of done.members) this.#releaseInputs(tx);
      if (count === plan.participants) this.#rejectPlan(plan, wrong, context);
      const posted = plan.candidates[0]?.hash ?? '';
      return { hash: posted, fault: faultFor(posted, wrong) };
    }
    for (const set of complete) this.#storeSet(set, context);
    for (const plan of incomplete) this.#wait(plan, context);
    return null;
  }

  /** One plan for each DRUID of a group, in the order of its first member. */
  #druidPlans(candidates: readonly CandidateTx[]): DruidPlan[] {
    const plans = new Map<string, DruidPlan>();
    for (const candidate of candidates) {
      const info = candidate.tx.druidInfo;
      if (info === null) continue;
      const waiting = this.#druids.set(info.druid);
      const plan = plans.get(info.druid) ?? {
        druid: info.druid,
        participants: waiting?.participants ?? info.participants,
        candidates: [],
        waiting: waiting?.members ?? [],
      };
      plan.candidates.push(candidate);
      plans.set(info.druid, plan);
    }
    return [...plans.values()];
  }

  /** Judges a set that is complete and claims its inputs; null when it may go into a block (docs/chain.md#druid-sets). */
  #settle({ plan, members }: CompleteSet): SetFault | null {
    const unfair = druidSetFault(
      plan.druid,
      members.map(({ tx }) => tx),
    );
    if (unfair !== null) return { fault: unfair };
    for (const [index, { tx, hash }] of members.entries()) {
      const wrong = this.#claimInputs(tx);
      if (wrong === null) continue;
      for (const done of members.slice(0, index)) this.#releaseInputs(done.tx);
      return { fault: wrong, culprit: hash };
    }
    return null;
  }

  /** A complete set that failed: those that waited and those that were posted are Rejected together. */
  #rejectPlan(plan: DruidPlan, wrong: SetFault, { time, batch }: AcceptanceContext): void {
    const waiting = this.#druids.set(plan.druid);
    const rejected = new Map(waiting === undefined ? [] : this.#takeOut(waiting, wrong, batch));
    for (const [i, { hash }] of plan.candidates.entries()) {
      const { message } = faultFor(hash, wrong);
      rejected.set(hash, { status: 'Rejected', timestamp: time, additionalInfo: message });
      // The first one is the one refused to the caller, so its event comes from there.
      if (i > 0) this.#chain.noteRejected(hash, message);
    }
    this.#statuses.decide(rejected, time, batch);
  }

  /** Removes a waiting set from the pool; returns the statuses of its members. */
  #takeOut(set: DruidSet, wrong: SetFault, batch: KvBatch): ReadonlyMap<string, TxStatus> {
    this.#druids.remove(set.druid);
    const rejected = new Map<string, TxStatus>();
    for (const { hash, arrival, time } of set.members) {
      const { message } = faultFor(hash, wrong);
      batch.del(keys.waiting(arrival));
      rejected.set(hash, { status: 'Rejected', timestamp: time, additionalInfo: message });
      this.#chain.noteRejected(hash, message);
    }
    return rejected;
  }

  #storeSet({ plan, members }: CompleteSet, { time, batch }: AcceptanceContext): void {
    const times = new Map(plan.waiting.map((tx) => [tx.hash, tx.time]));
    for (const tx of plan.waiting) batch.del(keys.waiting(tx.arrival));
    this.#druids.remove(plan.druid);
    const unit = this.#chain.nextArrival();
    for (const member of members) this.#store(member, times.get(member.hash) ?? time, unit, batch);
  }

  #store(candidate: CandidateTx, time: number, unit: number, batch: KvBatch): void {
    const tx = this.#pooled(candidate, time, unit);
    this.#pool.add(tx);
    batch.put(keys.pooled(tx.arrival), encodePooled(tx));
  }

  #wait({ druid, participants, candidates }: DruidPlan, { time, batch }: AcceptanceContext): void {
    for (const candidate of candidates) {
      const tx = this.#pooled(candidate, time, 0);
      this.#druids.add(druid, participants, tx);
      batch.put(keys.waiting(tx.arrival), encodePooled(tx));
    }
  }

  #pooled({ hash, bytes, tx }: CandidateTx, time: number, unit: number): PooledTx {
    const operations = transactionSignatureOperations(tx);
    const fault = submittedFormFault(tx, bytes.length);
    return {
      hash,
      bytes,
      arrival: this.#chain.nextArrival(),
      time,
      unit,
      operations,
      fault,
      height: this.#chain.height,
    };
  }
}

/** The fault of a set for one of its members; for all but the culprit it names the culprit. */
export function faultFor(hash: string, { fault: wrong, culprit }: SetFault): Fault {
  if (culprit === undefined || culprit === hash) return wrong;
  return fault(wrong.code, `${wrong.message} (in transaction ${culprit} of the DRUID set)`);
}

function toCandidate({ hash, bytes }: PooledTx): CandidateTx {
  return { hash, bytes, tx: decodeTransaction(bytes) };
}
