/**
 * The state of the mempool and how each command of the journal changes it. Deterministic: no clock, no randomness, no
 * I/O; a restart, a replay and a replica that apply the same commands reach the same state and the same digest. What
 * changes on disk is put into the batch that the caller writes.
 */

import { decodeTransaction } from '../../chain/codec.js';
import { transactionHashOfBytes } from '../../chain/hash.js';
import { createdOutPoints, isCreate, isUnspendable, outPointKey } from '../../chain/transaction.js';
import type { Utxo } from '../../chain/types.js';
import type { Unicorn } from '../../chain/unicorn.js';
import type { UtxoLookup } from '../../chain/validation.js';
import { sha3Hex } from '../../crypto/sha3.js';
import type { KvBatch } from '../../db/kv.js';
import { UtxoTable } from '../../ledger/utxo/utxo-table.js';
import { TesseraError } from '../../lib/errors.js';
import { setDigestText } from '../../lib/set-digest.js';
import type { TxStatus } from '../service.js';
import { Acceptance, type CandidateTx, type GroupOutcome, SET_EXPIRED } from './acceptance.js';
import type { AdoptedBlock } from './adopted-block.js';
import { Adoption } from './adoption.js';
import { insertCoin, spendCoin } from './coins.js';
import type { BlockStoredCommand, CloseBlockCommand, CutBlockCommand, ProofCommand } from './commands.js';
import { FinalStatuses } from './final-statuses.js';
import { KeptBlocks } from './kept-blocks.js';
import { keys } from './layout.js';
import { DruidPool, Pool, type PooledTx } from './pool.js';
import { encodeCoins, encodeHead, encodeRound, type HeadRecord, type KeptName } from './records.js';
import {
  type ChainHead,
  closedBlockBytes,
  closedHash,
  drawWinner,
  issuedAt,
  openRound,
  planRound,
  type Round,
  type RoundPlan,
  type RoundRules,
  type RoundTx,
} from './round.js';
import type { RoundFacts } from './round-facts.js';
import { dropUnlawful } from './unlawful.js';

/** What the rules of a network fix for the mempool; the same on every replica. */
export interface StateRules extends RoundRules {
  /** Blocks that a DRUID member waits for the others (decision B13). */
  readonly druidLifetime: number;
}

/** A transaction that is not stored yet. */
export interface PendingTx {
  /** Unix seconds of the first sight. */
  readonly time: number;
  /** What it waits for. */
  readonly info: string;
}

/** A transaction that a rule has taken out. */
export interface RejectedTx {
  readonly hash: string;
  readonly rule: string;
}

/** What a state is made of when it is read from disk; `load.ts` fills it. */
export interface StateContents {
  readonly utxos: UtxoTable;
  readonly record: HeadRecord | null;
  readonly pooled: readonly PooledTx[];
  /** Members of DRUID sets that wait for others. */
  readonly waiting: readonly PooledTx[];
  readonly round: Round | null;
  /** What the round spends; null when that is not known (a folder of an earlier version). */
  readonly spent: readonly Utxo[] | null;
  readonly kept: readonly KeptName[];
}

const EMPTY_HEAD: ChainHead = {
  height: -1,
  hash: null,
  timestamp: 0,
  issued: 0n,
  asertHashes: 0,
  participants: [],
  proofHashes: [],
};

export class MempoolState {
  readonly utxos: UtxoTable;
  /** The last blocks that are stored. */
  readonly kept: KeptBlocks;
  readonly #rules: StateRules;
  readonly #pool = new Pool();
  readonly #druids = new DruidPool();
  readonly #statuses: FinalStatuses;
  readonly #acceptance: Acceptance;
  readonly #adoption: Adoption;
  #head: ChainHead;
  #arrivals: number;
  #seq: number;
  #round: Round | null;
  #roundTxs: ReadonlyMap<string, RoundTx>;
  /** What the round spends, so that it can be given back if the round is abandoned. */
  #spent: readonly Utxo[] | null;
  #rejected: RejectedTx[] = [];
  readonly #noteRejected = (hash: string, rule: string): void => {
    this.#rejected.push({ hash, rule });
  };

  /** A state with the given contents; without any, the state before the first command. */
  constructor(rules: StateRules, contents?: StateContents) {
    this.#rules = rules;
    this.utxos = contents?.utxos ?? new UtxoTable();
    this.#head = contents?.record?.head ?? EMPTY_HEAD;
    this.#arrivals = contents?.record?.arrivals ?? 0;
    this.#seq = contents?.record?.seq ?? 0;
    this.#round = contents?.round ?? null;
    this.#roundTxs = byHash(this.#round);
    this.#spent = contents === undefined ? [] : contents.spent;
    this.kept = new KeptBlocks(contents?.kept);
    this.#statuses = new FinalStatuses(this.#seq);
    this.#acceptance = this.#createAcceptance();
    this.#adoption = this.#createAdoption();
    for (const tx of contents?.pooled ?? []) this.#restorePooled(tx);
    for (const tx of contents?.waiting ?? []) this.#restoreWaiting(tx);
  }

  get head(): ChainHead {
    return this.#head;
  }

  /** The block being made; null between blocks. */
  get round(): Round | null {
    return this.#round;
  }

  /** Number of the last command applied. */
  get seq(): number {
    return this.#seq;
  }

  /** Transactions that are ready for a block. */
  get ready(): number {
    return this.#pool.count;
  }

  /** Everything that waits, members of incomplete DRUID sets included. */
  get waiting(): { readonly count: number; readonly bytes: number } {
    return { count: this.#pool.count + this.#druids.count, bytes: this.#pool.bytes + this.#druids.bytes };
  }

  /** Transactions that wait for others of their DRUID: their number, their bytes, and the sets they belong to. */
  get waitingDruids(): { readonly count: number; readonly bytes: number; readonly sets: number } {
    return { count: this.#druids.count, bytes: this.#druids.bytes, sets: this.#druids.sets };
  }

  /** How many members wait under a DRUID, and how many there must be; undefined when none waits. */
  druidSet(druid: string): { readonly members: number; readonly participants: bigint } | undefined {
    const set = this.#druids.set(druid);
    return set && { members: set.members.length, participants: set.participants };
  }

  /** What the pool or the round knows about a transaction that is not stored yet. */
  pending(hash: string): PendingTx | undefined {
    const pooled = this.#pool.get(hash);
    if (pooled !== undefined) return { time: pooled.time, info: 'Waits for a block' };
    const mined = this.#roundTxs.get(hash);
    if (mined !== undefined && this.#round !== null) {
      return { time: mined.time, info: `In block ${this.#round.height}, which is being made` };
    }
    const set = this.#druids.setOf(hash);
    const member = set?.members.find((tx) => tx.hash === hash);
    if (set === undefined || member === undefined) return undefined;
    const missing = set.participants - BigInt(set.members.length);
    return { time: member.time, info: `DRUID transaction: waits for ${missing} of ${set.participants}` };
  }

  /** A final status that is decided, until the batch that keeps it is on disk. */
  unwrittenStatus(hash: string): TxStatus | undefined {
    return this.#statuses.unwritten(hash);
  }

  /** Digest of the whole state, equal on replicas that have applied the same commands. */
  digest(): string {
    const { height, hash, timestamp, issued, asertHashes, participants, proofHashes } = this.#head;
    const round = this.#round;
    const parts = [
      `${height} ${hash} ${timestamp} ${issued} ${asertHashes}`,
      participants.join(','),
      proofHashes.join(','),
      setDigestText(this.utxos.digest),
      setDigestText(this.#pool.digest),
      setDigestText(this.#druids.digest),
      round === null ? '-' : `${round.height} ${round.header.txsHash} ${round.proofs.length} ${round.winner}`,
      `${this.#arrivals}`,
    ];
    return sha3Hex(parts.join('\n'));
  }

  /** Accepts groups in their order. `isKnownCreate` tells whether a creation is in the chain. */
  accept(
    groups: readonly (readonly CandidateTx[])[],
    time: number,
    isKnownCreate: (hash: string) => boolean,
    batch: KvBatch,
  ): GroupOutcome[] {
    return groups.map((group) => this.#acceptance.accept(group, { time, isKnownCreate, batch }));
  }

  /** Removes from the pool what no block may hold: an earlier version admitted it. `time` is in unix seconds. */
  dropUnlawful(time: number, batch: KvBatch): void {
    if (this.#round !== null) return;
    const modules = { pool: this.#pool, utxos: this.utxos, statuses: this.#statuses, noteRejected: this.#noteRejected };
    dropUnlawful(modules, time, batch);
  }

  /** What a cut would put into the next block now; null when a round is under way. */
  planCut(): RoundPlan | null {
    return this.#round === null ? planRound(this.#rules, this.#head, this.#pool) : null;
  }

  /** The new round, or null when one is under way. Nothing may be applied between the plan and the cut. */
  cutBlock(command: CutBlockCommand, plan: RoundPlan, unicorn: Unicorn, batch: KvBatch): Round | null {
    if (this.#round !== null) return null;
    for (const set of this.#druids.olderThan(plan.height - this.#rules.druidLifetime)) {
      this.#acceptance.rejectSet(set, SET_EXPIRED, command.time, batch);
    }
    const opened = openRound(this.#rules, this.#head, plan, unicorn, command);
    this.#moveIntoBlock(opened, batch);
    this.#head = { ...this.#head, issued: this.#head.issued + plan.issued };
    this.#setRound(opened, batch);
    return opened;
  }

  /** False when the proof comes too late or is a second one of its miner. */
  addProof({ height, miner, nonce, coinbase }: ProofCommand, batch: KvBatch): boolean {
    const round = this.#round;
    if (round === null || round.height !== height || round.winner !== null) return false;
    if (round.proofs.some((proof) => proof.miner === miner)) return false;
    const hash = transactionHashOfBytes(coinbase);
    this.#setRound({ ...round, proofs: [...round.proofs, { miner, nonce, coinbase, hash }] }, batch);
    return true;
  }

  /** The closed round, or null when it is not under way or has no proof. */
  closeBlock(command: CloseBlockCommand, batch: KvBatch): Round | null {
    const round = this.#round;
    if (round === null || round.height !== command.height || round.winner !== null) return null;
    const winner = drawWinner(round);
    const proof = round.proofs[winner];
    if (proof === undefined) return null;
    for (const { outPoint, txOut } of createdOutPoints(decodeTransaction(proof.coinbase), proof.hash)) {
      insertCoin(this.utxos, outPoint, txOut, batch);
    }
    this.#head = { ...this.#head, issued: this.#head.issued + round.reward };
    const closed = { ...round, winner };
    this.#setRound(closed, batch);
    return closed;
  }

  /** The round that this finishes, or null when it does not concern the closed block. */
  blockStored(command: BlockStoredCommand, batch: KvBatch): Round | null {
    const done = this.#round;
    if (done === null || done.winner === null || done.height !== command.height) return null;
    if (closedHash(done) !== command.hash) return null;
    const timestamp = Number(done.header.timestamp);
    this.#confirm(done, command.hash, timestamp, batch);
    const facts = this.factsOf(done);
    this.#head = { ...this.#head, height: done.height, hash: command.hash, timestamp, ...facts };
    this.kept.keep(done.height, command.hash, { bytes: closedBlockBytes(done), facts }, batch);
    this.#setRound(null, batch);
    return done;
  }

  /**
   * Takes in the next block as storage has it, in place of the one that is being made. False when it is not the next one.
   * Throws `data_corrupt` when the round cannot be given up.
   */
  adoptBlock(block: AdoptedBlock, batch: KvBatch): boolean {
    const { height, hash, full, bytes } = block;
    if (height !== this.#head.height + 1 || full.block.header.previousHash !== this.#head.hash) return false;
    const round = this.#round;
    const issued = this.issued;
    const returned = round === null ? null : this.#adoption.giveUp(round, this.#spentByRound(), batch);
    this.#setRound(null, batch);
    this.#adoption.take(block, returned, batch);
    const { timestamp, miningTxHash } = full.block.header;
    for (const set of this.#druids.olderThan(height - this.#rules.druidLifetime)) {
      this.#acceptance.rejectSet(set, SET_EXPIRED, Number(timestamp), batch);
    }
    const facts = block.facts ?? {
      participants: [],
      proofHashes: [miningTxHash],
      asertHashes: this.#asertHashesAfter(height, 1),
    };
    const reward = full.miningTransaction.outputs.reduce((sum, { value }) => sum + value.amount, 0n);
    this.#head = {
      height,
      hash,
      timestamp: Number(timestamp),
      issued: issued + issuedAt(this.#rules, height) + reward,
      ...facts,
    };
    this.kept.keep(height, hash, { bytes, facts }, batch);
    return true;
  }

  /** What the round after this one depends on. */
  factsOf({ height, participants, proofs }: Round): RoundFacts {
    return {
      participants,
      proofHashes: proofs.map((proof) => proof.hash).sort(),
      asertHashes: this.#asertHashesAfter(height, proofs.length),
    };
  }

  /** Raw units issued up to the last stored block, the block being made left out. */
  get issued(): bigint {
    const { issued } = this.#head;
    const round = this.#round;
    if (round === null) return issued;
    return issued - issuedAt(this.#rules, round.height) - (round.winner === null ? 0n : round.reward);
  }

  /** The unspent outputs behind the last stored block, as if no block were being made. */
  storedOutputs(): UtxoLookup {
    const round = this.#round;
    const spent = new Map(round === null ? [] : this.#spentByRound().map(([at, txOut]) => [outPointKey(at), txOut]));
    const made = new Set(round?.transactions.map(({ hash }) => hash));
    for (const { hash } of round?.proofs ?? []) made.add(hash);
    return (outPoint) => {
      if (made.has(outPoint.tHash)) return undefined;
      const slot = this.utxos.find(outPoint);
      return slot === 0 ? spent.get(outPointKey(outPoint)) : this.utxos.output(slot);
    };
  }

  /** Transactions that were rejected since the last call, with the rule. */
  takeRejected(): readonly RejectedTx[] {
    const taken = this.#rejected;
    this.#rejected = [];
    return taken;
  }

  /** Writes the head with the number of the last command applied; the last step of every batch. */
  seal(seq: number, batch: KvBatch): void {
    this.#seq = seq;
    this.#statuses.seal(seq);
    const record = { seq, arrivals: this.#arrivals, head: this.#head, digest: this.digest() };
    batch.put(keys.head, encodeHead(record));
  }

  /** The sealed batch is on disk. */
  written(): void {
    this.#statuses.written();
  }

  #createAcceptance(): Acceptance {
    const height = (): number => this.#head.height;
    return new Acceptance({
      chain: {
        get height() {
          return height();
        },
        isPending: (hash) => this.#isPending(hash),
        nextArrival: () => ++this.#arrivals,
        noteRejected: this.#noteRejected,
      },
      utxos: this.utxos,
      pool: this.#pool,
      druids: this.#druids,
      statuses: this.#statuses,
    });
  }

  #createAdoption(): Adoption {
    return new Adoption({
      utxos: this.utxos,
      pool: this.#pool,
      druids: this.#druids,
      statuses: this.#statuses,
      noteArrival: () => {
        this.#arrivals++;
      },
      noteRejected: this.#noteRejected,
    });
  }

  #asertHashesAfter(height: number, proofs: number): number {
    return this.#head.asertHashes + (height >= this.#rules.asertActivationHeight ? proofs : 0);
  }

  #spentByRound(): readonly Utxo[] {
    if (this.#spent !== null) return this.#spent;
    throw new TesseraError(
      'data_corrupt',
      'the block being made was cut by an earlier version and cannot be given up for the one that storage has: run tessera rebuild',
    );
  }

  #restorePooled(tx: PooledTx): void {
    this.#pool.add(tx);
    for (const { previousOut } of decodeTransaction(tx.bytes).inputs) {
      const slot = previousOut === null ? 0 : this.utxos.find(previousOut);
      if (slot !== 0) this.utxos.setClaimed(slot, true);
    }
  }

  #restoreWaiting(tx: PooledTx): void {
    const info = decodeTransaction(tx.bytes).druidInfo;
    if (info !== null) this.#druids.add(info.druid, info.participants, tx);
  }

  #isPending(hash: string): boolean {
    return this.#pool.get(hash) !== undefined || this.#roundTxs.has(hash) || this.#druids.setOf(hash) !== undefined;
  }

  /** Moves the transactions of a round from the pool into the set of unspent outputs (decision V7). */
  #moveIntoBlock(opened: Round, batch: KvBatch): void {
    const decoded = opened.transactions.map(({ hash, bytes }) => ({ hash, tx: decodeTransaction(bytes) }));
    const spent: Utxo[] = [];
    for (const { hash, tx } of decoded) {
      this.#pool.remove(hash);
      for (const { previousOut } of tx.inputs) {
        if (previousOut !== null) spent.push([previousOut, spendCoin(this.utxos, previousOut, batch)]);
      }
      if (isCreate(tx)) batch.put(keys.create(hash), new Uint8Array());
    }
    for (const { hash, tx } of decoded) {
      for (const { outPoint, txOut } of createdOutPoints(tx, hash)) {
        if (!isUnspendable(txOut)) insertCoin(this.utxos, outPoint, txOut, batch);
      }
    }
    this.#spent = spent;
    batch.put(keys.spent, encodeCoins(spent));
  }

  /** The transactions of a stored block get their final status; those of block 0 have none. */
  #confirm({ height, transactions }: Round, hash: string, timestamp: number, batch: KvBatch): void {
    const additionalInfo = `In block ${height} ${hash}`;
    const confirmed = new Map<string, TxStatus>();
    for (const tx of transactions) {
      if (tx.arrival !== 0) batch.del(keys.pooled(tx.arrival));
      if (height > 0) confirmed.set(tx.hash, { status: 'Confirmed', timestamp: tx.time, additionalInfo });
    }
    this.#statuses.decide(confirmed, timestamp, batch);
  }

  #setRound(next: Round | null, batch: KvBatch): void {
    this.#round = next;
    this.#roundTxs = byHash(next);
    if (next !== null) {
      batch.put(keys.round, encodeRound(next));
      return;
    }
    this.#spent = [];
    batch.del(keys.round).del(keys.spent);
  }
}

function byHash(round: Round | null): ReadonlyMap<string, RoundTx> {
  return new Map(round?.transactions.map((tx) => [tx.hash, tx]));
}
