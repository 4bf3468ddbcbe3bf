/**
 * The state of the mempool and how each command of the journal changes it. Deterministic: no clock, no randomness, no
 * I/O; a restart, a replay and a replica that apply the same commands reach the same state and the same digest. What
 * changes on disk is put into the batch that the caller writes.
 */

import { decodeTransaction, encodeTxOut } from '../chain/codec.js';
import { expectationsAreMet } from '../chain/druid.js';
import { transactionHashOfBytes } from '../chain/hash.js';
import { createdOutPoints, hasDuplicateInputs, isCreate } from '../chain/transaction.js';
import type { OutPoint, Transaction, TxOut } from '../chain/types.js';
import type { Unicorn } from '../chain/unicorn.js';
import { UNKNOWN_UTXO } from '../chain/validation.js';
import { sha3Hex } from '../crypto/sha3.js';
import type { KvBatch } from '../db/kv.js';
import type { ErrorCode } from '../lib/errors.js';
import type { BlockStoredCommand, CloseBlockCommand, CutBlockCommand, ProofCommand } from './commands.js';
import { createDruidPool, createPool, type DruidSet, type PooledTx } from './pool.js';
import { encodeHashes, encodeHead, encodePooled, encodeRound, encodeStatus, type HeadRecord, keys } from './records.js';
import {
  type ChainHead,
  closedHash,
  drawWinner,
  openRound,
  planRound,
  type Round,
  type RoundPlan,
  type RoundRules,
} from './round.js';
import { setDigestText } from './set-digest.js';
import { UtxoTable } from './utxo-table.js';

/** What the rules of a network fix for the mempool; the same on every replica. */
export interface StateRules extends RoundRules {
  /** Blocks that a DRUID half waits for the others (decision B13). */
  readonly druidLifetime: number;
}

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
  expectations: 'DRUID trade expectations not met',
  participants: 'The transactions of the DRUID set declare different numbers of participants',
  tooMany: 'More transactions than participants under one DRUID',
  expired: 'The other transactions of the DRUID set did not come in time',
  duplicateInputs: 'Two inputs spend the same output',
} as const;

interface DruidPlan {
  readonly druid: string;
  readonly participants: bigint;
  readonly candidates: CandidateTx[];
  readonly waiting: readonly PooledTx[];
}

export interface MempoolState {
  readonly utxos: UtxoTable;
  readonly head: ChainHead;
  readonly round: Round | null;
  readonly seq: number;
  /** Transactions that are ready for a block. */
  readonly ready: number;
  /** Everything that waits, DRUID halves included. */
  readonly waiting: { readonly count: number; readonly bytes: number };
  /** The pool's or the round's copy of a transaction that is not stored yet. */
  pending(hash: string): { readonly time: number; readonly info: string; readonly bytes: Uint8Array } | undefined;
  digest(): string;

  /** Admits groups in their order. `isKnownCreate` tells whether a creation is in the chain. */
  admit(
    groups: readonly (readonly CandidateTx[])[],
    time: number,
    isKnownCreate: (hash: string) => boolean,
    batch: KvBatch,
  ): GroupOutcome[];
  /** What a cut would put into the next block now; null when a round is under way. */
  planCut(): RoundPlan | null;
  /** The new round, or null when one is under way. Nothing may be applied between the plan and the cut. */
  cutBlock(command: CutBlockCommand, plan: RoundPlan, unicorn: Unicorn, batch: KvBatch): Round | null;
  /** False when the proof comes too late or is a second one of its miner. */
  addProof(command: ProofCommand, batch: KvBatch): boolean;
  closeBlock(command: CloseBlockCommand, batch: KvBatch): Round | null;
  /** The round that is finished by it, or null when it is not about the closed block. */
  blockStored(command: BlockStoredCommand, batch: KvBatch): Round | null;
  /** Writes the head with the number of the last command applied; the last step of every batch. */
  seal(seq: number, batch: KvBatch): void;
}

/** What a state is made of when it is read from disk; `load.ts` fills it. */
export interface StateContents {
  readonly utxos: UtxoTable;
  readonly record: HeadRecord | null;
  readonly pooled: readonly PooledTx[];
  readonly held: readonly PooledTx[];
  readonly round: Round | null;
}

export const EMPTY_HEAD: ChainHead = {
  height: -1,
  hash: null,
  timestamp: 0,
  issued: 0n,
  asertHashes: 0,
  participants: [],
  proofHashes: [],
};

/** A state with the given contents; without any, the state before the first command. */
export function createMempoolState(rules: StateRules, contents?: StateContents): MempoolState {
  const utxos = contents?.utxos ?? new UtxoTable();
  const pool = createPool();
  const druids = createDruidPool();
  let head = contents?.record?.head ?? EMPTY_HEAD;
  let arrivals = contents?.record?.arrivals ?? 0;
  let seq = contents?.record?.seq ?? 0;
  let round = contents?.round ?? null;
  let roundHashes = new Map(round?.transactions.map((tx) => [tx.hash, tx]));
  /** Groups of statuses written so far with the current head; part of their expiry key. */
  let statusGroups = 0;

  for (const tx of contents?.pooled ?? []) {
    pool.add(tx);
    for (const { previousOut } of decodeTransaction(tx.bytes).inputs) claim(previousOut, true);
  }
  for (const tx of contents?.held ?? []) {
    const info = decodeTransaction(tx.bytes).druidInfo;
    if (info !== null) druids.add(info.druid, info.participants, tx);
  }

  function claim(outPoint: OutPoint | null, claimed: boolean): void {
    if (outPoint === null) return;
    const slot = utxos.find(outPoint);
    if (slot !== 0) utxos.setClaimed(slot, claimed);
  }

  function isPending(hash: string): boolean {
    return pool.get(hash) !== undefined || roundHashes.has(hash) || druids.setOf(hash) !== undefined;
  }

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
        ? { code: 'unknown_input', hash: candidate.hash, rule: UNKNOWN_UTXO }
        : { code: 'double_spend', hash: candidate.hash, rule: RULES.spent };
    }
    return null;
  }

  function releaseInputs(tx: Transaction): void {
    for (const { previousOut } of tx.inputs) claim(previousOut, false);
  }

  function store(candidate: CandidateTx, time: number, unit: number, batch: KvBatch): void {
    arrivals++;
    const tx: PooledTx = {
      hash: candidate.hash,
      bytes: candidate.bytes,
      arrival: arrivals,
      time,
      unit,
      height: head.height,
    };
    pool.add(tx);
    batch.put(keys.pooled(tx.arrival), encodePooled(tx));
  }

  function hold(candidate: CandidateTx, druid: string, participants: bigint, time: number, batch: KvBatch): void {
    arrivals++;
    const { hash, bytes } = candidate;
    const tx: PooledTx = { hash, bytes, arrival: arrivals, time, unit: 0, height: head.height };
    druids.add(druid, participants, tx);
    batch.put(keys.held(tx.arrival), encodePooled(tx));
  }

  /** Takes a waiting set out, its members being Rejected with the rule (decisions B13, B15). */
  function rejectSet(set: DruidSet, rule: string, time: number, batch: KvBatch): void {
    druids.remove(set.druid);
    for (const tx of set.members) {
      batch.del(keys.held(tx.arrival));
      batch.put(keys.status(tx.hash), encodeStatus({ status: 'Rejected', timestamp: tx.time, additionalInfo: rule }));
    }
    rememberStatuses(
      set.members.map((tx) => tx.hash),
      time,
      batch,
    );
  }

  function rememberStatuses(hashes: readonly string[], time: number, batch: KvBatch): void {
    if (hashes.length > 0) batch.put(keys.expiry(time, (seq * 64 + statusGroups++) >>> 0), encodeHashes(hashes));
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
    const refuse = (rule: string): Refusal => ({ code: 'transaction_rejected', hash: first.hash, rule });
    if (members.some(({ tx }) => tx.druidInfo?.participants !== plan.participants)) return refuse(RULES.participants);
    const txs = members.map(({ tx }) => tx);
    if (!expectationsAreMet(plan.druid, txs)) return refuse(RULES.expectations);
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
    const unit = arrivals + 1;
    for (const member of members) store(member, times.get(member.hash) ?? time, unit, batch);
  }

  function admitGroup(
    group: readonly CandidateTx[],
    time: number,
    isKnownCreate: (hash: string) => boolean,
    batch: KvBatch,
  ): GroupOutcome {
    const fresh = new Map<string, CandidateTx>();
    for (const candidate of group) if (!isPending(candidate.hash)) fresh.set(candidate.hash, candidate);
    const singles: CandidateTx[] = [];
    const halves: CandidateTx[] = [];
    const undo = (refusal: Refusal): Refusal => {
      for (const done of singles) releaseInputs(done.tx);
      return refusal;
    };
    for (const candidate of fresh.values()) {
      const { tx, hash } = candidate;
      if (hasDuplicateInputs(tx)) return undo({ code: 'double_spend', hash, rule: RULES.duplicateInputs });
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

  function insertOutput(outPoint: OutPoint, txOut: TxOut, batch: KvBatch): void {
    utxos.insert(outPoint, txOut);
    batch.put(keys.utxo(outPoint), encodeTxOut(txOut));
  }

  function spend(outPoint: OutPoint, batch: KvBatch): void {
    const slot = utxos.find(outPoint);
    if (slot === 0) throw new Error(`broken invariant: ${outPoint.tHash}:${outPoint.n} is claimed but not unspent`);
    utxos.remove(slot);
    batch.del(keys.utxo(outPoint));
  }

  /** Moves the transactions of a round from the pool into the set of unspent outputs (architecture §3.3). */
  function moveIntoBlock(opened: Round, batch: KvBatch): void {
    const decoded = opened.transactions.map(({ hash, bytes }) => ({ hash, tx: decodeTransaction(bytes) }));
    for (const { hash, tx } of decoded) {
      pool.remove(hash);
      for (const { previousOut } of tx.inputs) if (previousOut !== null) spend(previousOut, batch);
      if (isCreate(tx)) batch.put(keys.create(hash), new Uint8Array());
    }
    for (const { hash, tx } of decoded) {
      for (const { outPoint, txOut } of createdOutPoints(tx, hash)) insertOutput(outPoint, txOut, batch);
    }
  }

  function toCandidate(tx: PooledTx): CandidateTx {
    return { hash: tx.hash, bytes: tx.bytes, tx: decodeTransaction(tx.bytes) };
  }

  function setRound(next: Round | null, batch: KvBatch): void {
    round = next;
    roundHashes = new Map(next?.transactions.map((tx) => [tx.hash, tx]));
    if (next === null) batch.del(keys.round);
    else batch.put(keys.round, encodeRound(next));
  }

  return {
    utxos,
    get head() {
      return head;
    },
    get round() {
      return round;
    },
    get seq() {
      return seq;
    },
    get ready() {
      return pool.count;
    },
    get waiting() {
      return { count: pool.count + druids.count, bytes: pool.bytes + druids.bytes };
    },

    pending(hash) {
      const pooled = pool.get(hash);
      if (pooled !== undefined) return { time: pooled.time, bytes: pooled.bytes, info: 'Waits for a block' };
      const mined = roundHashes.get(hash);
      if (mined !== undefined && round !== null) {
        return { time: mined.time, bytes: mined.bytes, info: `In block ${round.height}, which is being made` };
      }
      const set = druids.setOf(hash);
      const half = set?.members.find((tx) => tx.hash === hash);
      if (set === undefined || half === undefined) return undefined;
      const info = `DRUID transaction: waits for ${set.participants - BigInt(set.members.length)} of ${set.participants}`;
      return { time: half.time, bytes: half.bytes, info };
    },

    digest() {
      const parts = [
        `${head.height} ${head.hash} ${head.timestamp} ${head.issued} ${head.asertHashes}`,
        head.participants.join(','),
        head.proofHashes.join(','),
        setDigestText(utxos.digest),
        setDigestText(pool.digest),
        setDigestText(druids.digest),
        round === null ? '-' : `${round.height} ${round.header.txsHash} ${round.proofs.length} ${round.winner}`,
        `${arrivals}`,
      ];
      return sha3Hex(parts.join('\n'));
    },

    admit: (groups, time, isKnownCreate, batch) => groups.map((group) => admitGroup(group, time, isKnownCreate, batch)),

    planCut: () => (round === null ? planRound(rules, head, pool) : null),

    cutBlock(command, plan, unicorn, batch) {
      if (round !== null) return null;
      for (const set of druids.olderThan(plan.height - rules.druidLifetime)) {
        rejectSet(set, RULES.expired, command.time, batch);
      }
      const opened = openRound(rules, head, plan, unicorn, command);
      moveIntoBlock(opened, batch);
      head = { ...head, issued: head.issued + plan.issued };
      setRound(opened, batch);
      return opened;
    },

    addProof(command, batch) {
      if (round === null || round.height !== command.height || round.winner !== null) return false;
      if (round.proofs.some((proof) => proof.miner === command.miner)) return false;
      const { miner, nonce, coinbase } = command;
      const hash = transactionHashOfBytes(coinbase);
      setRound({ ...round, proofs: [...round.proofs, { miner, nonce, coinbase, hash }] }, batch);
      return true;
    },

    closeBlock(command, batch) {
      if (round === null || round.height !== command.height || round.winner !== null) return null;
      const winner = drawWinner(round);
      const proof = round.proofs[winner];
      if (proof === undefined) return null;
      for (const { outPoint, txOut } of createdOutPoints(decodeTransaction(proof.coinbase), proof.hash)) {
        insertOutput(outPoint, txOut, batch);
      }
      head = { ...head, issued: head.issued + round.reward };
      setRound({ ...round, winner }, batch);
      return round;
    },

    blockStored(command, batch) {
      const done = round;
      if (done === null || done.winner === null || done.height !== command.height) return null;
      if (closedHash(done) !== command.hash) return null;
      const additionalInfo = `In block ${done.height} ${command.hash}`;
      const timestamp = Number(done.header.timestamp);
      const hashes: string[] = [];
      for (const tx of done.transactions) {
        if (tx.arrival !== 0) batch.del(keys.pooled(tx.arrival));
        if (done.height === 0) continue;
        batch.put(keys.status(tx.hash), encodeStatus({ status: 'Confirmed', timestamp: tx.time, additionalInfo }));
        hashes.push(tx.hash);
      }
      rememberStatuses(hashes, timestamp, batch);
      head = {
        ...head,
        height: done.height,
        hash: command.hash,
        timestamp,
        asertHashes: head.asertHashes + (done.height >= rules.asertActivationHeight ? done.proofs.length : 0),
        participants: done.participants,
        proofHashes: done.proofs.map((proof) => proof.hash).sort(),
      };
      setRound(null, batch);
      return done;
    },

    seal(appliedSeq, batch) {
      seq = appliedSeq;
      statusGroups = 0;
      batch.put(keys.head, encodeHead({ seq, arrivals, head, digest: this.digest() }));
    },
  };
}
