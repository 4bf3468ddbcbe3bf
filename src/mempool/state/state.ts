/**
 * The state of the mempool and how each command changes it. Deterministic, without clock, randomness or I/O: who
 * applies the same commands has the same digest. What changes on disk goes into the caller's batch.
 */

import { decodeTransaction } from '../../chain/codec.js';
import type { Unicorn } from '../../chain/unicorn.js';
import type { UtxoLookup } from '../../chain/validation.js';
import type { KvBatch } from '../../db/kv.js';
import type { LastEntry } from '../../journal/journal.js';
import { UtxoTable } from '../../ledger/utxo/utxo-table.js';
import type { Pieces } from '../../lib/pieces.js';
import { Acceptance, type AcceptanceContext, type CandidateTx, type GroupOutcome, type Outlook } from './acceptance.js';
import { type AdoptedBlock, Adoption } from './adoption.js';
import {
  type DigestParts,
  EMPTY_HEAD,
  factsAfter,
  headAfterAdopted,
  headAfterClosed,
  issuedBefore,
  sharedDigest,
  sharedMark,
  wholeDigest,
} from './chain-head.js';
import { Coins } from './coins.js';
import type { BlockStoredCommand, CloseBlockCommand, CutBlockCommand, ProofCommand, RoundFacts } from './commands.js';
import { FinalStatuses } from './final-statuses.js';
import { keys } from './layout.js';
import { DruidPool, type DruidSet, type Kin, Pool, type PooledTx } from './pool.js';
import { encodeHead, type HeadRecord, type KeptName, viewPooled } from './records.js';
import { dropUnlawful } from './resettle.js';
import {
  type ChainHead,
  closedBlockPieces,
  closedHash,
  openRound,
  planRound,
  type Round,
  type RoundPlan,
  type RoundRules,
} from './round.js';
import {
  isPending,
  KeptBlocks,
  type PendingPlaces,
  type PendingTx,
  pendingTx,
  type RoundContents,
  Rounds,
  type Waiting,
  waitingIn,
} from './rounds.js';

/** Rules of a network for the mempool; the same on every replica. */
export interface StateRules extends RoundRules {
  /** Blocks that a DRUID member waits for the others (decision B13). */
  readonly druidLifetime: number;
}

export type { RejectedTx } from './final-statuses.js';

/** Parts of a state when it is read from disk; `load.ts` fills it. */
export interface StateContents {
  readonly utxos: UtxoTable;
  readonly rounds: readonly RoundContents[];
  readonly record: HeadRecord | null;
  readonly pooled: readonly PooledTx[];
  readonly waiting: readonly PooledTx[];
  readonly kept: readonly KeptName[];
}

export class MempoolState {
  /** Outputs that may be spent, those of the pool included. */
  readonly coins: Coins;
  readonly kept: KeptBlocks;
  /** Statuses that commands have decided, until they are on disk. */
  readonly statuses: FinalStatuses;
  readonly rules: StateRules;
  readonly #pool = new Pool();
  readonly #druids = new DruidPool();
  readonly #rounds: Rounds;
  readonly #places: PendingPlaces;
  readonly #acceptance: Acceptance;
  readonly #adoption: Adoption;
  #head: ChainHead;
  #arrivals: number;
  #last: LastEntry;
  #adoptions = 0;

  /** A state with the given contents; without any, the state before the first command. */
  constructor(rules: StateRules, contents?: StateContents) {
    this.rules = rules;
    this.coins = new Coins(contents?.utxos ?? new UtxoTable());
    this.#head = contents?.record?.head ?? EMPTY_HEAD;
    this.#arrivals = contents?.record?.arrivals ?? 0;
    this.#last = contents?.record ?? { seq: 0 };
    this.#rounds = new Rounds(this.coins, contents?.rounds ?? []);
    this.#places = { pool: this.#pool, druids: this.#druids, rounds: this.#rounds };
    this.kept = new KeptBlocks(contents?.kept);
    this.statuses = new FinalStatuses(this.seq);
    this.#acceptance = this.#createAcceptance();
    this.#adoption = this.#createAdoption();
    for (const tx of contents?.pooled ?? []) this.#restorePooled(tx);
    for (const tx of contents?.waiting ?? []) {
      const decoded = decodeTransaction(tx.bytes);
      if (decoded.druidInfo !== null) this.#druids.add(decoded.druidInfo, tx, decoded);
    }
  }

  /** The unspent outputs of blocks, those being made included. */
  get utxos(): UtxoTable {
    return this.coins.utxos;
  }

  get head(): ChainHead {
    return this.#head;
  }

  /** The closed block that storage has not confirmed; null when there is none. */
  get closing(): Round | null {
    return this.#rounds.closing;
  }

  /** The block after the closing one: being mined, or closed and waiting until that one is stored. Null when there is none. */
  get round(): Round | null {
    return this.#rounds.current;
  }

  /** The blocks being made, in their order: two at most. */
  get rounds(): readonly Round[] {
    return this.#rounds.values;
  }

  /** The number of the last block that is closed, whether storage has it or not: the next one follows it. */
  get closedHeight(): number {
    return this.#rounds.values.findLast(({ winner }) => winner !== null)?.height ?? this.#head.height;
  }

  /** Number that changes when a block of storage is adopted, or the pool is rebuilt: odd while it is not certain what can be spent. */
  get adoptions(): number {
    return this.#adoptions;
  }

  get seq(): number {
    return this.#last.seq;
  }

  get ready(): number {
    return this.#pool.count;
  }

  /** True when a full block waits, for which the interval is not awaited. Transactions that cost nothing do not count. */
  get beginsRound(): boolean {
    const { start, transactions, bytes, signatureOperations } = this.rules.block;
    if (start === 'interval') return false;
    const { count, bytes: size, operations } = this.#pool.moving;
    return count >= transactions || size >= bytes || operations >= signatureOperations;
  }

  /** Number and bytes of all waiting transactions, members of incomplete DRUID sets included. */
  get waiting(): { readonly count: number; readonly bytes: number } {
    return { count: this.#pool.count + this.#druids.count, bytes: this.#pool.bytes + this.#druids.bytes };
  }

  /** Number and bytes of the transactions that are ready for a block and move no tokens. */
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

  /** Facts of the pool or the round about a transaction that is not stored yet. */
  pending(hash: string): PendingTx | undefined {
    return pendingTx(hash, this.#places);
  }

  /** True if a transaction is ready for a block, and in none. */
  isReady(hash: string): boolean {
    return this.#pool.get(hash) !== undefined;
  }

  /** Transactions that are ready for a block, in the order of service. */
  readyUnits(): Iterable<readonly PooledTx[]> {
    return this.#pool.units();
  }

  waits(hash: string): boolean {
    return this.#druids.setOf(hash) !== undefined;
  }

  /** Kin of a transaction in the pool; undefined when it does not wait there. */
  kin(hash: string): Kin | undefined {
    return this.#pool.kin(hash);
  }

  /** The number of the last transaction accepted, of the oldest one that waits, if any, of blocks being made, and of the last stored. */
  get waitingSince(): Waiting & { readonly arrivals: number; readonly height: number } {
    return { arrivals: this.#arrivals, height: this.#head.height, ...waitingIn(this.#places) };
  }

  /** Digest of the whole state, equal on replicas that have applied the same commands since the first. */
  digest(): string {
    return wholeDigest(this.#digestParts(), this.#arrivals);
  }

  /** Digest that nodes at a journal compare: without what a state made from blocks counts otherwise. */
  sharedDigest(): string {
    return sharedDigest(this.#digestParts());
  }

  /** The shared digest in 32 bits, cheap enough for each command. */
  mark(): number {
    return sharedMark(this.#digestParts());
  }

  /** Takes the number of a command, as its first step. */
  begin(seq: number, batch: KvBatch): void {
    this.statuses.begin(seq, batch);
  }

  accept(
    groups: readonly (readonly CandidateTx[])[],
    context: Omit<AcceptanceContext, 'batch'>,
    batch: KvBatch,
  ): Pieces<GroupOutcome[]> {
    return this.#acceptance.accept(groups, { ...context, batch });
  }

  /** Verdict that `accept` would give on a group now. */
  outlook(group: readonly CandidateTx[]): Outlook {
    return this.#acceptance.outlook(group);
  }

  isBeingMade(hash: string): boolean {
    return this.#rounds.transaction(hash) !== undefined;
  }

  /** True if a command cuts a block. One of an earlier version, which names no block, does not while another block is being made. */
  isDue({ height }: Pick<CutBlockCommand, 'height'>): boolean {
    if (height === undefined) return this.#rounds.values.length === 0;
    return this.#rounds.mayOpen && height === this.closedHeight + 1;
  }

  /** Removes transactions from the pool that an earlier version admitted and no block may hold. `time` is in unix seconds. */
  *dropUnlawful(time: number, batch: KvBatch): Pieces<void> {
    if (!this.#pool.hasUnlawful) return;
    this.#adoptions++;
    yield* dropUnlawful({ pool: this.#pool, coins: this.coins, statuses: this.statuses }, time, batch);
    this.#adoptions++;
  }

  /** Contents of the next block if it were cut now; null if that is too early. No command may be applied between two pieces. */
  *planCut(): Pieces<RoundPlan | null> {
    return this.#rounds.mayOpen ? yield* planRound(this.rules, this.#closedHead(), this.#pool) : null;
  }

  /** The new round, or null when it comes too early. Between two pieces each transaction is found waiting or in the round. */
  *cutBlock(command: CutBlockCommand, plan: RoundPlan, unicorn: Unicorn, batch: KvBatch): Pieces<Round | null> {
    if (!this.#rounds.mayOpen) return null;
    yield* this.#acceptance.expire(plan.height - this.rules.druidLifetime, command.time, batch);
    const opened = yield* openRound(this.rules, this.#closedHead(), plan, unicorn, command);
    const prepared = yield* this.#rounds.prepare(opened);
    this.#head = { ...this.#head, issued: this.#head.issued + plan.issued };
    const taken = (hash: string): void => this.#pool.remove(hash);
    yield* this.#rounds.open(prepared, batch, taken);
    return opened;
  }

  /** Adds a proof; false when it comes too late or is a second one of its miner. */
  addProof(command: ProofCommand, batch: KvBatch): boolean {
    return this.#rounds.addProof(command, batch);
  }

  /** The closed round, or null when no round is under way or it has no proof. */
  closeBlock(command: CloseBlockCommand, batch: KvBatch): Round | null {
    const closed = this.#rounds.close(command.height, batch);
    if (closed !== null) this.#head = { ...this.#head, issued: this.#head.issued + closed.reward };
    return closed;
  }

  /** The round whose block is stored now, or null when the command is not about the closed block. */
  *blockStored(command: BlockStoredCommand, batch: KvBatch): Pieces<Round | null> {
    const done = this.closing;
    if (done === null || done.height !== command.height || closedHash(done) !== command.hash) return null;
    yield* this.statuses.confirm(done, command.hash, batch);
    const bytes = yield* closedBlockPieces(done);
    yield;
    yield* this.kept.keep(done.height, command.hash, { bytes, facts: this.closingFacts(done) }, batch);
    this.#head = headAfterClosed(this.rules, this.#head, done);
    this.#rounds.endFirst(batch);
    return done;
  }

  /**
   * Takes in the next block of storage in place of those being made; false when it is not the next. Throws
   * `data_corrupt` when a round cannot be given up. The head moves with the last piece.
   */
  *adoptBlock(block: AdoptedBlock, batch: KvBatch): Pieces<boolean> {
    const { height, hash, full, bytes } = block;
    if (height !== this.#head.height + 1 || full.block.header.previousHash !== this.#head.hash) return false;
    this.#adoptions++;
    const { issued } = this;
    const returned = yield* this.#rounds.giveUp((round, spent) => this.#adoption.giveUp(round, spent, batch));
    yield* this.#adoption.take(block, returned, batch);
    yield* this.#acceptance.expire(height - this.rules.druidLifetime, block.time, batch);
    const head = headAfterAdopted(this.rules, this.#head, block, issued);
    yield* this.kept.keep(height, hash, { bytes, facts: head }, batch);
    this.#head = head;
    this.#rounds.endAll(batch);
    this.#adoptions++;
    return true;
  }

  /** Gives up the rounds on top of a block that was never stored: their transactions wait again. `time` is in unix seconds. */
  *giveUpRounds(time: number, batch: KvBatch): Pieces<void> {
    if (this.rounds.length === 0) return;
    this.#adoptions++;
    const { issued } = this;
    const returned = yield* this.#rounds.giveUp((round, spent) => this.#adoption.giveUp(round, spent, batch));
    yield* this.#adoption.putBack(returned ?? [], time, batch);
    this.#head = { ...this.#head, issued };
    this.#rounds.endAll(batch);
    this.#adoptions++;
  }

  /** Notes that the journal has come to a block which is here already. `time` in unix seconds: remove sets that have waited too long. */
  *passBlock(height: number, time: number | null, batch: KvBatch): Pieces<void> {
    for (const tx of this.#druids.arrivedBy(Math.max(0, height - 1)))
      batch.put(keys.waiting(tx.arrival), viewPooled(tx));
    if (time !== null) yield* this.#acceptance.expire(height - this.rules.druidLifetime, time, batch);
  }

  /** Facts that the round after the closing block depends on. */
  closingFacts(closing: Round): RoundFacts {
    return factsAfter(this.rules, this.#head, closing);
  }

  /** Raw units issued up to the last stored block, the blocks being made left out. */
  get issued(): bigint {
    return issuedBefore(this.rules, this.#head, this.rounds);
  }

  /** The unspent outputs after the last stored block, as if no block were being made. */
  storedOutputs(): UtxoLookup {
    return this.#rounds.outputsBefore();
  }

  /** Writes the head with the last command applied; the last step of every batch. */
  seal(seq: number, batch: KvBatch, of: Partial<LastEntry> = seq === this.seq ? this.#last : {}): void {
    const { id, cluster } = of;
    this.#last = { seq, ...(cluster !== undefined && { id, cluster }) };
    this.statuses.seal(seq, batch);
    const record = { ...this.#last, arrivals: this.#arrivals, head: this.#head, digest: this.digest() };
    batch.put(keys.head, encodeHead(record));
  }

  written(): void {
    this.statuses.written();
  }

  #digestParts(): DigestParts {
    return {
      head: this.#head,
      rounds: this.rounds,
      sets: [this.utxos, this.#pool, this.#druids].map((set) => set.digest),
    };
  }

  #createAcceptance(): Acceptance {
    return new Acceptance({
      chain: {
        height: () => this.#head.height,
        isPending: (hash) => isPending(hash, this.#places),
        nextArrival: () => ++this.#arrivals,
      },
      coins: this.coins,
      pool: this.#pool,
      druids: this.#druids,
      statuses: this.statuses,
    });
  }

  #createAdoption(): Adoption {
    return new Adoption({
      coins: this.coins,
      pool: this.#pool,
      druids: this.#druids,
      statuses: this.statuses,
      noteArrival: () => void this.#arrivals++,
    });
  }

  /** Head that the next round follows: the closed block, where storage has not confirmed it. */
  #closedHead(): ChainHead {
    const { closing } = this;
    return closing === null ? this.#head : headAfterClosed(this.rules, this.#head, closing);
  }

  #restorePooled(tx: PooledTx): void {
    const decoded = decodeTransaction(tx.bytes);
    this.coins.hold(decoded);
    this.coins.offer(tx.hash, decoded);
    this.#pool.add(tx, decoded);
  }
}
