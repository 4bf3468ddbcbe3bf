/**
 * The state of the mempool and how each command of the journal changes it. Deterministic: no clock, no randomness, no
 * I/O; a restart, a replay and a replica that apply the same commands reach the same state and the same digest. What
 * changes on disk is put into the batch that the caller writes.
 */

import { decodeTransaction, encodeTxOut } from '../../chain/codec.js';
import { transactionHashOfBytes } from '../../chain/hash.js';
import { createdOutPoints, isCreate } from '../../chain/transaction.js';
import type { OutPoint, TxOut } from '../../chain/types.js';
import type { Unicorn } from '../../chain/unicorn.js';
import { sha3Hex } from '../../crypto/sha3.js';
import type { KvBatch } from '../../db/kv.js';
import { setDigestText } from '../../lib/set-digest.js';
import type { TxStatus } from '../service.js';
import { UtxoTable } from '../utxo/utxo-table.js';
import { type CandidateTx, createAdmitter, type GroupOutcome, RULES } from './admit.js';
import type { BlockStoredCommand, CloseBlockCommand, CutBlockCommand, ProofCommand } from './commands.js';
import { FinalStatuses } from './final-statuses.js';
import { keys } from './layout.js';
import { createDruidPool, createPool, type PooledTx } from './pool.js';
import { encodeHead, encodeRound, type HeadRecord } from './records.js';
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

/** What the rules of a network fix for the mempool; the same on every replica. */
export interface StateRules extends RoundRules {
  /** Blocks that a DRUID half waits for the others (decision B13). */
  readonly druidLifetime: number;
}

export interface MempoolState {
  readonly utxos: UtxoTable;
  readonly head: ChainHead;
  readonly round: Round | null;
  readonly seq: number;
  /** Transactions that are ready for a block. */
  readonly ready: number;
  /** Everything that waits, DRUID halves included. */
  readonly waiting: {
    readonly count: number;
    readonly bytes: number;
    readonly druidSets: number;
    /** DRUID halves that wait for others, and their bytes. */
    readonly halves: number;
    readonly halfBytes: number;
  };
  /** How many of the halves under a DRUID have come, and how many there must be; undefined when none waits. */
  druidSet(druid: string): { readonly come: number; readonly participants: bigint } | undefined;
  /** The pool's or the round's copy of a transaction that is not stored yet. */
  pending(hash: string): { readonly time: number; readonly info: string; readonly bytes: Uint8Array } | undefined;
  /** A final status that is decided, until the batch that keeps it is on disk. */
  unwrittenStatus(hash: string): TxStatus | undefined;
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
  /** Waiting transactions that were rejected since the last call, with the rule. */
  takeRejected(): readonly RejectedTx[];
  /** Writes the head with the number of the last command applied; the last step of every batch. */
  seal(seq: number, batch: KvBatch): void;
  /** The sealed batch is on disk. */
  written(): void;
}

/** A waiting transaction that a rule has taken out. */
export interface RejectedTx {
  readonly hash: string;
  readonly rule: string;
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
  const statuses = new FinalStatuses(seq);
  let rejected: RejectedTx[] = [];

  const admitter = createAdmitter(
    {
      get height() {
        return head.height;
      },
      isPending,
      nextArrival: () => ++arrivals,
      noteRejected: (hash, rule) => rejected.push({ hash, rule }),
    },
    { utxos, pool, druids, statuses },
  );

  for (const tx of contents?.pooled ?? []) {
    pool.add(tx);
    for (const { previousOut } of decodeTransaction(tx.bytes).inputs) claim(previousOut);
  }
  for (const tx of contents?.held ?? []) {
    const info = decodeTransaction(tx.bytes).druidInfo;
    if (info !== null) druids.add(info.druid, info.participants, tx);
  }

  function claim(outPoint: OutPoint | null): void {
    const slot = outPoint === null ? 0 : utxos.find(outPoint);
    if (slot !== 0) utxos.setClaimed(slot, true);
  }

  function isPending(hash: string): boolean {
    return pool.get(hash) !== undefined || roundHashes.has(hash) || druids.setOf(hash) !== undefined;
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
      return {
        count: pool.count + druids.count,
        bytes: pool.bytes + druids.bytes,
        druidSets: druids.sets,
        halves: druids.count,
        halfBytes: druids.bytes,
      };
    },
    druidSet(druid) {
      const set = druids.set(druid);
      return set && { come: set.members.length, participants: set.participants };
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

    unwrittenStatus: (hash) => statuses.unwritten(hash),

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

    admit: (groups, time, isKnownCreate, batch) =>
      groups.map((group) => admitter.admit(group, time, isKnownCreate, batch)),

    planCut: () => (round === null ? planRound(rules, head, pool) : null),

    cutBlock(command, plan, unicorn, batch) {
      if (round !== null) return null;
      for (const set of druids.olderThan(plan.height - rules.druidLifetime)) {
        admitter.rejectSet(set, RULES.expired, command.time, batch);
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
      const confirmed = new Map<string, TxStatus>();
      for (const tx of done.transactions) {
        if (tx.arrival !== 0) batch.del(keys.pooled(tx.arrival));
        if (done.height === 0) continue;
        confirmed.set(tx.hash, { status: 'Confirmed', timestamp: tx.time, additionalInfo });
      }
      statuses.decide(confirmed, timestamp, batch);
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

    takeRejected() {
      const taken = rejected;
      rejected = [];
      return taken;
    },

    seal(appliedSeq, batch) {
      seq = appliedSeq;
      statuses.seal(seq);
      batch.put(keys.head, encodeHead({ seq, arrivals, head, digest: this.digest() }));
    },

    written: () => statuses.written(),
  };
}
