/**
 * Which transactions enter the pool when a command is applied: conflicts between them are decided here, deterministically,
 * by what is unspent and not claimed yet. A group is admitted as a whole or not at all; a DRUID half waits for the others
 * of its set, and the complete set enters as one unit (chain.md §6).
 */

import { decodeTransaction } from '../../chain/codec.js';
import { druidSetFault } from '../../chain/druid.js';
import { hasDuplicateInputs, isCreate } from '../../chain/transaction.js';
import type { Transaction } from '../../chain/types.js';
import { DUPLICATE_INPUTS, UNKNOWN_UTXO } from '../../chain/validation.js';
import type { KvBatch } from '../../db/kv.js';
import type { ErrorCode } from '../../lib/errors.js';
import type { TxStatus } from '../service.js';
import type { UtxoTable } from '../utxo/utxo-table.js';
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

/** Why a group was not admitted. */
export interface Refusal {
  readonly code: ErrorCode;
  /** Hash of the member that a rule refuses. */
  readonly hash: string;
  readonly rule: string;
}

/** Null: admitted, or known already. */
export type GroupOutcome = Refusal | null;

export const RULES = {
  spent: 'An input is spent by another transaction',
  create: 'An item creation with this hash is in the chain already',
  tooMany: 'More transactions than participants under one DRUID',
  expired: 'The other transactions of the DRUID set did not come in time',
} as const;

/** What the rest of the state tells and takes. */
export interface AdmitterChain {
  /** Number of the last stored block. */
  readonly height: number;
  /** True for a transaction in the pool, in the block being made, or waiting under a DRUID. */
  isPending(hash: string): boolean;
  /** The next number of an arrival. */
  nextArrival(): number;
  /** Notes a waiting transaction that was taken out, for whoever tells of it. */
  noteRejected(hash: string, rule: string): void;
}

export interface Admitter {
  /** Admits a group, or says why not. `isKnownCreate` tells whether a creation is in the chain. */
  admit(
    group: readonly CandidateTx[],
    time: number,
    isKnownCreate: (hash: string) => boolean,
    batch: KvBatch,
  ): GroupOutcome;
  /** Takes a waiting set out, its members being Rejected with the rule (decisions B13, B15). */
  rejectSet(set: DruidSet, rule: string, time: number, batch: KvBatch): void;
}

interface DruidPlan {
  readonly druid: string;
  readonly participants: bigint;
  readonly candidates: CandidateTx[];
  readonly waiting: readonly PooledTx[];
}

export function createAdmitter(
  chain: AdmitterChain,
  modules: {
    readonly utxos: UtxoTable;
    readonly pool: Pool;
    readonly druids: DruidPool;
    readonly statuses: FinalStatuses;
  },
): Admitter {
  const { utxos, pool, druids, statuses } = modules;

  /** Claims all inputs of a transaction, or none and says why. */
  function claimInputs(candidate: CandidateTx): Refusal | null {
    const claimed: number[] = [];
    for (const { previousOut } of candidate.tx.inputs) {
      if (previousOut === null) continue;
      const slot = utxos.find(previousOut);
      if (slot !== 0 && !utxos.isClaimed(slot)) {
        utxos.setClaimed(slot, true);
        claimed.push(slot);
        continue;
      }
      for (const undo of claimed) utxos.setClaimed(undo, false);
      return slot === 0
        ? { code: UNKNOWN_UTXO.code, hash: candidate.hash, rule: UNKNOWN_UTXO.message }
        : { code: 'double_spend', hash: candidate.hash, rule: RULES.spent };
    }
    return null;
  }

  function releaseInputs(tx: Transaction): void {
    for (const { previousOut } of tx.inputs) {
      const slot = previousOut === null ? 0 : utxos.find(previousOut);
      if (slot !== 0) utxos.setClaimed(slot, false);
    }
  }

  function store(candidate: CandidateTx, time: number, unit: number, batch: KvBatch): void {
    const { hash, bytes } = candidate;
    const tx: PooledTx = { hash, bytes, arrival: chain.nextArrival(), time, unit, height: chain.height };
    pool.add(tx);
    batch.put(keys.pooled(tx.arrival), encodePooled(tx));
  }

  function hold(candidate: CandidateTx, druid: string, participants: bigint, time: number, batch: KvBatch): void {
    const { hash, bytes } = candidate;
    const tx: PooledTx = { hash, bytes, arrival: chain.nextArrival(), time, unit: 0, height: chain.height };
    druids.add(druid, participants, tx);
    batch.put(keys.held(tx.arrival), encodePooled(tx));
  }

  function rejectSet(set: DruidSet, rule: string, time: number, batch: KvBatch): void {
    druids.remove(set.druid);
    const rejected = new Map<string, TxStatus>();
    for (const tx of set.members) {
      batch.del(keys.held(tx.arrival));
      rejected.set(tx.hash, { status: 'Rejected', timestamp: tx.time, additionalInfo: rule });
      chain.noteRejected(tx.hash, rule);
    }
    statuses.decide(rejected, time, batch);
  }

  /** One plan for each DRUID of a group, in the order of the first half. */
  function druidPlans(candidates: readonly CandidateTx[]): DruidPlan[] {
    const plans = new Map<string, DruidPlan>();
    for (const candidate of candidates) {
      const info = candidate.tx.druidInfo;
      if (info === null) continue;
      const waiting = druids.set(info.druid);
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

  /** Judges a set that is complete and claims its inputs; null when it may go into a block (chain.md §6). */
  function settle(plan: DruidPlan, members: readonly CandidateTx[]): Refusal | null {
    const [first] = members;
    if (first === undefined) return null;
    const txs = members.map(({ tx }) => tx);
    const wrong = druidSetFault(plan.druid, txs);
    if (wrong !== null) return { code: wrong.code, hash: first.hash, rule: wrong.message };
    for (const [index, member] of members.entries()) {
      const refusal = claimInputs(member);
      if (refusal === null) continue;
      for (const done of members.slice(0, index)) releaseInputs(done.tx);
      return refusal;
    }
    return null;
  }

  /** Admits the DRUID halves of a group. On a refusal nothing of this group stays, and a set that failed is rejected. */
  function admitHalves(candidates: readonly CandidateTx[], time: number, batch: KvBatch): Refusal | null {
    const settled: { plan: DruidPlan; members: CandidateTx[] }[] = [];
    const incomplete: DruidPlan[] = [];
    for (const plan of druidPlans(candidates)) {
      const count = BigInt(plan.waiting.length + plan.candidates.length);
      if (count < plan.participants) {
        incomplete.push(plan);
        continue;
      }
      const [first] = plan.candidates;
      const members = [...plan.waiting.map(toCandidate), ...plan.candidates];
      const refusal: Refusal | null =
        count > plan.participants
          ? { code: 'transaction_rejected', hash: first?.hash ?? '', rule: RULES.tooMany }
          : settle(plan, members);
      if (refusal !== null) {
        for (const done of settled) for (const member of done.members) releaseInputs(member.tx);
        const waiting = druids.set(plan.druid);
        if (waiting !== undefined && count === plan.participants) rejectSet(waiting, refusal.rule, time, batch);
        return refusal;
      }
      settled.push({ plan, members });
    }
    for (const { plan, members } of settled) admitSet(plan, members, time, batch);
    for (const plan of incomplete) {
      for (const candidate of plan.candidates) hold(candidate, plan.druid, plan.participants, time, batch);
    }
    return null;
  }

  function admitSet(plan: DruidPlan, members: readonly CandidateTx[], time: number, batch: KvBatch): void {
    const times = new Map(plan.waiting.map((tx) => [tx.hash, tx.time]));
    for (const tx of plan.waiting) batch.del(keys.held(tx.arrival));
    druids.remove(plan.druid);
    const unit = chain.nextArrival();
    for (const member of members) store(member, times.get(member.hash) ?? time, unit, batch);
  }

  function admit(
    group: readonly CandidateTx[],
    time: number,
    isKnownCreate: (hash: string) => boolean,
    batch: KvBatch,
  ): GroupOutcome {
    const fresh = new Map<string, CandidateTx>();
    for (const candidate of group) if (!chain.isPending(candidate.hash)) fresh.set(candidate.hash, candidate);
    const singles: CandidateTx[] = [];
    const halves: CandidateTx[] = [];
    const undo = (refusal: Refusal): Refusal => {
      for (const done of singles) releaseInputs(done.tx);
      return refusal;
    };
    for (const candidate of fresh.values()) {
      const { tx, hash } = candidate;
      if (hasDuplicateInputs(tx)) return undo({ code: DUPLICATE_INPUTS.code, hash, rule: DUPLICATE_INPUTS.message });
      if (tx.druidInfo !== null) {
        halves.push(candidate);
        continue;
      }
      if (isCreate(tx) && isKnownCreate(hash)) return undo({ code: 'double_spend', hash, rule: RULES.create });
      const refusal = claimInputs(candidate);
      if (refusal !== null) return undo(refusal);
      singles.push(candidate);
    }
    if (halves.length > 0) {
      const refusal = admitHalves(halves, time, batch);
      if (refusal !== null) return undo(refusal);
    }
    for (const candidate of singles) store(candidate, time, 0, batch);
    return null;
  }

  return { admit, rejectSet };
}

function toCandidate(tx: PooledTx): CandidateTx {
  return { hash: tx.hash, bytes: tx.bytes, tx: decodeTransaction(tx.bytes) };
}
