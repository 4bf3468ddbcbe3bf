/**
 * The state of the mempool and how each command of the journal changes it. Deterministic: no clock, no randomness, no
 * I/O; a restart, a replay and a replica that apply the same commands reach the same state and the same digest. What
 * changes on disk is put into the batch that the caller writes.
 */

import type { BlockRules } from '../../chain/block-rules.js';
import { decodeTransaction } from '../../chain/codec.js';
import type { Unicorn } from '../../chain/unicorn.js';
import type { UtxoLookup } from '../../chain/validation.js';
import type { KvBatch } from '../../db/kv.js';
import { UtxoTable } from '../../ledger/utxo/utxo-table.js';
import type { Pieces } from '../../lib/pieces.js';
import type { TxStatus } from '../service.js';
import {
  Acceptance,
  type AcceptanceContext,
  type CandidateTx,
  type GroupOutcome,
  type Outlook,
  SET_EXPIRED,
} from './acceptance.js';
import type { AdoptedBlock } from './adopted-block.js';
import { Adoption } from './adoption.js';
import { EMPTY_HEAD, factsAfter, headAfterAdopted, issuedBefore } from './chain-head.js';
import { Coins } from './coins.js';
import type { BlockStoredCommand, CloseBlockCommand, CutBlockCommand, ProofCommand } from './commands.js';
import { CurrentRound, type RoundContents } from './current-round.js';
import { FinalStatuses } from './final-statuses.js';
import { KeptBlocks } from './kept-blocks.js';
import { keys } from './layout.js';
import { isPending, oldestArrival, type PendingPlaces, type PendingTx, pendingTx } from './pending.js';
import { DruidPool, type DruidSet, type Kin, Pool, type PooledTx } from './pool.js';
import { encodeHead, type HeadRecord, type KeptName } from './records.js';
import {
  type ChainHead,
  closedBlockBytes,
  closedHash,
  openRound,
  planRound,
  type Round,
  type RoundPlan,
  type RoundRules,
} from './round.js';
import type { RoundFacts } from './round-facts.js';
import { type DigestParts, sharedDigest, sharedMark, wholeDigest } from './state-digest.js';
import { dropUnlawful } from './unlawful.js';

/** Transactions of a stored block that one piece looks at. */
const PIECE_TRANSACTIONS = 1_024;

/** What the rules of a network fix for the mempool; the same on every replica. */
export interface StateRules extends RoundRules {
  /** Blocks that a DRUID member waits for the others (decision B13). */
  readonly druidLifetime: number;
}

/** A transaction that a rule has taken out. */
export interface RejectedTx {
  readonly hash: string;
  readonly rule: string;
}

/** What a state is made of when it is read from disk; `load.ts` fills it. */
export interface StateContents extends RoundContents {
  readonly utxos: UtxoTable;
  readonly record: HeadRecord | null;
  readonly pooled: readonly PooledTx[];
  /** Members of DRUID sets that wait for others. */
  readonly waiting: readonly PooledTx[];
  readonly kept: readonly KeptName[];
}

export class MempoolState {
  /** What may be spent, what waits in the pool included. */
  readonly coins: Coins;
  /** The last blocks that are stored. */
  readonly kept: KeptBlocks;
  readonly #rules: StateRules;
  readonly #pool = new Pool();
  readonly #druids = new DruidPool();
  readonly #round: CurrentRound;
  readonly #places: PendingPlaces;
  readonly #statuses: FinalStatuses;
  readonly #acceptance: Acceptance;
  readonly #adoption: Adoption;
  #head: ChainHead;
  #arrivals: number;
  #seq: number;
  readonly #rejected: RejectedTx[] = [];
  #adoptions = 0;
  readonly #noteRejected = (hash: string, rule: string): void => {
    this.#rejected.push({ hash, rule });
  };

  /** A state with the given contents; without any, the state before the first command. */
  constructor(rules: StateRules, contents?: StateContents) {
    this.#rules = rules;
    this.coins = new Coins(contents?.utxos ?? new UtxoTable());
    this.#head = contents?.record?.head ?? EMPTY_HEAD;
    this.#arrivals = contents?.record?.arrivals ?? 0;
    this.#seq = contents?.record?.seq ?? 0;
    this.#round = new CurrentRound(this.coins, contents ?? { round: null, spent: [] });
    this.#places = { pool: this.#pool, druids: this.#druids, round: this.#round };
    this.kept = new KeptBlocks(contents?.kept);
    this.#statuses = new FinalStatuses(this.#seq);
    this.#acceptance = this.#createAcceptance();
    this.#adoption = this.#createAdoption();
    for (const tx of contents?.pooled ?? []) this.#restorePooled(tx);
    for (const tx of contents?.waiting ?? []) this.#restoreWaiting(tx);
  }

  /** The unspent outputs of blocks, the one being made included. */
  get utxos(): UtxoTable {
    return this.coins.utxos;
  }

  get head(): ChainHead {
    return this.#head;
  }

  /** The block being made; null between blocks. */
  get round(): Round | null {
    return this.#round.value;
  }

  /**
   * Another number when a block of storage begins to be taken in, and when it is taken in; odd between the two, while it is not
   * certain what can be spent.
   */
  get adoptions(): number {
    return this.#adoptions;
  }

  /** Number of the last command applied. */
  get seq(): number {
    return this.#seq;
  }

  /** Transactions that are ready for a block. */
  get ready(): number {
    return this.#pool.count;
  }

  /** What a block of this network may hold. */
  get blockRules(): BlockRules {
    return this.#rules.block;
  }

  /** A full block waits, which the network need not wait for. What costs its sender nothing is no reason to make one earlier. */
  get beginsRound(): boolean {
    const { start, transactions, bytes, signatureOperations } = this.#rules.block;
    if (start === 'interval') return false;
    const { count, bytes: size, operations } = this.#pool.moving;
    return count >= transactions || size >= bytes || operations >= signatureOperations;
  }

  /** Everything that waits, members of incomplete DRUID sets included. */
  get waiting(): { readonly count: number; readonly bytes: number } {
    return { count: this.#pool.count + this.#druids.count, bytes: this.#pool.bytes + this.#druids.bytes };
  }

  /** Those that are ready for a block and move no tokens. */
  get tokenless(): { readonly count: number; readonly bytes: number } {
    return this.#pool.tokenless;
  }

  /** Transactions that wait for others of their DRUID: their number, their bytes, and the sets they belong to. */
  get waitingDruids(): { readonly count: number; readonly bytes: number; readonly sets: number } {
    return { count: this.#druids.count, bytes: this.#druids.bytes, sets: this.#druids.sets };
  }

  /** The members that wait under a DRUID, and how many there must be; undefined when none waits. */
  druidSet(druid: string): DruidSet | undefined {
    return this.#druids.set(druid);
  }

  /** What the pool or the round knows about a transaction that is not stored yet. */
  pending(hash: string): PendingTx | undefined {
    return pendingTx(hash, this.#places);
  }

  /** Whether a transaction is ready for a block, and in none. */
  isReady(hash: string): boolean {
    return this.#pool.get(hash) !== undefined;
  }

  /** Whether a transaction waits for others of its DRUID. */
  waits(hash: string): boolean {
    return this.#druids.setOf(hash) !== undefined;
  }

  /** What a transaction of the pool is behind; undefined when it does not wait there. */
  kin(hash: string): Kin | undefined {
    return this.#pool.kin(hash);
  }

  /** A final status that is decided, until the batch that keeps it is on disk. */
  unwrittenStatus(hash: string): TxStatus | undefined {
    return this.#statuses.unwritten(hash);
  }

  /** The number of the last transaction accepted, and of the oldest that waits, if one does. */
  get waitingSince(): { readonly arrivals: number; oldest(): number | undefined } {
    return { arrivals: this.#arrivals, oldest: () => oldestArrival(this.#places) };
  }

  /** Digest of the whole state, equal on replicas that have applied the same commands since the first. */
  digest(): string {
    return wholeDigest(this.#digestParts(), this.#arrivals);
  }

  /** The same without what a state that was made anew counts otherwise: what nodes that share a journal compare. */
  sharedDigest(): string {
    return sharedDigest(this.#digestParts());
  }

  /** The shared digest in 32 bits, cheap enough for each command. */
  mark(): number {
    return sharedMark(this.#digestParts());
  }

  /** The first step of a command: its number. */
  begin(seq: number, batch: KvBatch): void {
    this.#statuses.begin(seq, batch);
  }

  /** Accepts groups in their order. */
  accept(
    groups: readonly (readonly CandidateTx[])[],
    context: Omit<AcceptanceContext, 'batch'>,
    batch: KvBatch,
  ): GroupOutcome[] {
    return groups.map((group) => this.#acceptance.accept(group, { ...context, batch }));
  }

  /** What `accept` would say of a group now. */
  outlook(group: readonly CandidateTx[]): Outlook {
    return this.#acceptance.outlook(group);
  }

  /** Removes from the pool what no block may hold: an earlier version admitted it. `time` is in unix seconds. */
  *dropUnlawful(time: number, batch: KvBatch): Pieces<void> {
    if (this.round !== null) return;
    const modules = { pool: this.#pool, coins: this.coins, statuses: this.#statuses, noteRejected: this.#noteRejected };
    yield* dropUnlawful(modules, time, batch);
  }

  /** What a cut would put into the next block now; null when a round is under way. */
  planCut(order?: { readonly setsFirst: boolean }): RoundPlan | null {
    return this.round === null ? planRound(this.#rules, this.#head, this.#pool, order) : null;
  }

  /**
   * The new round, or null when one is under way. Nothing may be applied between the plan and the end of the cut. Between two
   * pieces whoever reads finds each transaction waiting or in the round, and the outputs as before or after it.
   */
  *cutBlock(command: CutBlockCommand, plan: RoundPlan, unicorn: Unicorn, batch: KvBatch): Pieces<Round | null> {
    if (this.round !== null) return null;
    yield* this.#expireDruids(plan.height, command.time, batch);
    const opened = yield* openRound(this.#rules, this.#head, plan, unicorn, command);
    this.#head = { ...this.#head, issued: this.#head.issued + plan.issued };
    const taken = (hash: string): void => this.#pool.remove(hash);
    yield* this.#round.open(opened, batch, { ...(plan.decoded && { transactions: plan.decoded }), taken });
    return opened;
  }

  /** False when the proof comes too late or is a second one of its miner. */
  addProof(command: ProofCommand, batch: KvBatch): boolean {
    return this.#round.addProof(command, batch);
  }

  /** The closed round, or null when it is not under way or has no proof. */
  closeBlock(command: CloseBlockCommand, batch: KvBatch): Round | null {
    const closed = this.#round.close(command.height, batch);
    if (closed !== null) this.#head = { ...this.#head, issued: this.#head.issued + closed.reward };
    return closed;
  }

  /** The round that this finishes, or null when it does not concern the closed block. */
  *blockStored(command: BlockStoredCommand, batch: KvBatch): Pieces<Round | null> {
    const done = this.round;
    if (done === null || done.winner === null || done.height !== command.height) return null;
    if (closedHash(done) !== command.hash) return null;
    const timestamp = Number(done.header.timestamp);
    yield* this.#confirm(done, command.hash, timestamp, batch);
    const bytes = closedBlockBytes(done);
    yield;
    const facts = this.factsOf(done);
    yield* this.kept.keep(done.height, command.hash, { bytes, facts }, batch);
    this.#head = { ...this.#head, height: done.height, hash: command.hash, timestamp, ...facts };
    this.#round.end(batch);
    return done;
  }

  /**
   * Takes in the next block as storage has it, in place of the one that is being made. False when it is not the next one.
   * Throws `data_corrupt` when the round cannot be given up. Between two pieces the outputs are those before or after a transaction,
   * whatever waited or was in the round is known, and the head is the one before: it moves with the last piece.
   */
  *adoptBlock(block: AdoptedBlock, batch: KvBatch, { isUnchained = false } = {}): Pieces<boolean> {
    const { height, hash, full, bytes } = block;
    if (height !== this.#head.height + 1 || full.block.header.previousHash !== this.#head.hash) return false;
    this.#adoptions++;
    const { round, issued } = this;
    const returned = round === null ? null : yield* this.#adoption.giveUp(round, this.#round.spent, batch);
    yield* this.#adoption.take(block, { returned, isUnchained }, batch);
    yield* this.#expireDruids(height, Number(full.block.header.timestamp), batch);
    const head = headAfterAdopted(this.#rules, this.#head, block, issued);
    yield* this.kept.keep(height, hash, { bytes, facts: head }, batch);
    this.#head = head;
    this.#round.end(batch);
    this.#adoptions++;
    return true;
  }

  /** What the round after this one depends on. */
  factsOf(round: Round): RoundFacts {
    return factsAfter(this.#rules, this.#head, round);
  }

  /** Raw units issued up to the last stored block, the block being made left out. */
  get issued(): bigint {
    return issuedBefore(this.#rules, this.#head, this.round);
  }

  /** The unspent outputs after the last stored block, as if no block were being made. */
  storedOutputs(): UtxoLookup {
    return this.#round.outputsBefore();
  }

  /** Transactions that were rejected since the last call, with the rule. */
  takeRejected(): readonly RejectedTx[] {
    return this.#rejected.splice(0);
  }

  /** Writes the head with the number of the last command applied; the last step of every batch. */
  seal(seq: number, batch: KvBatch): void {
    this.#seq = seq;
    this.#statuses.seal(seq, batch);
    const record = { seq, arrivals: this.#arrivals, head: this.#head, digest: this.digest() };
    batch.put(keys.head, encodeHead(record));
  }

  /** The sealed batch is in the store. */
  written(): void {
    this.#statuses.written();
  }

  #digestParts(): DigestParts {
    return {
      head: this.#head,
      round: this.round,
      sets: [this.utxos, this.#pool, this.#druids].map((set) => set.digest),
    };
  }

  #createAcceptance(): Acceptance {
    const height = (): number => this.#head.height;
    return new Acceptance({
      chain: {
        get height() {
          return height();
        },
        isPending: (hash) => isPending(hash, this.#places),
        nextArrival: () => ++this.#arrivals,
        noteRejected: this.#noteRejected,
      },
      coins: this.coins,
      pool: this.#pool,
      druids: this.#druids,
      statuses: this.#statuses,
    });
  }

  #createAdoption(): Adoption {
    return new Adoption({
      coins: this.coins,
      pool: this.#pool,
      druids: this.#druids,
      statuses: this.#statuses,
      noteArrival: () => {
        this.#arrivals++;
      },
      noteRejected: this.#noteRejected,
    });
  }

  #restorePooled(tx: PooledTx): void {
    const decoded = decodeTransaction(tx.bytes);
    this.coins.hold(decoded);
    this.coins.offer(tx.hash, decoded);
    this.#pool.add(tx, decoded);
  }

  #restoreWaiting(tx: PooledTx): void {
    const decoded = decodeTransaction(tx.bytes);
    if (decoded.druidInfo !== null) this.#druids.add(decoded.druidInfo, tx, decoded);
  }

  /** Rejects DRUID sets that have waited too long for block `height`; `time` is in unix seconds. */
  *#expireDruids(height: number, time: number, batch: KvBatch): Pieces<void> {
    for (const set of this.#druids.olderThan(height - this.#rules.druidLifetime)) {
      yield;
      this.#acceptance.rejectSet(set, SET_EXPIRED, time, batch);
    }
  }

  /** The transactions of a stored block get their final status; those of block 0 have none. */
  *#confirm({ height, transactions }: Round, hash: string, timestamp: number, batch: KvBatch): Pieces<void> {
    const additionalInfo = `In block ${height} ${hash}`;
    const confirmed = new Map<string, TxStatus>();
    for (const [i, tx] of transactions.entries()) {
      if (i % PIECE_TRANSACTIONS === 0) yield;
      if (tx.arrival !== 0) batch.del(keys.pooled(tx.arrival));
      if (height > 0) confirmed.set(tx.hash, { status: 'Confirmed', timestamp: tx.time, additionalInfo });
    }
    yield* this.#statuses.decideInPieces(confirmed, timestamp, batch);
  }
}
