/** The blocks being made (docs/adr/0044-rounds-that-overlap.md), at most two; transactions that wait for one; and the last blocks stored. */

import { decodeTransaction } from '../../chain/codec.js';
import { transactionHashOfBytes } from '../../chain/hash.js';
import { createdOutPoints, isCreate, isUnspendable, outPointKey, spentOutPoints } from '../../chain/transaction.js';
import type { Transaction, Utxo } from '../../chain/types.js';
import type { UtxoLookup } from '../../chain/validation.js';
import type { KvBatch } from '../../db/kv.js';
import { TesseraError } from '../../lib/errors.js';
import { atOnce, type Pieces } from '../../lib/pieces.js';
import { APPROACHED, type Coins } from './coins.js';
import type { ProofCommand } from './commands.js';
import { keys, ROUND_SLOTS, type RoundSlot } from './layout.js';
import type { DruidPool, Pool, PooledTx } from './pool.js';
import {
  encodeCoinsPieces,
  encodeKept,
  encodeKeptNames,
  encodeProof,
  encodeRoundPieces,
  encodeWinner,
  type KeptName,
  type KeptRecord,
} from './records.js';
import { drawWinner, isProofOf, type Round, type RoundTx } from './round.js';

export class Rounds {
  readonly #coins: Coins;
  /** Rounds in their order: the first is the one that storage gets first. */
  #rounds: readonly CurrentRound[];

  constructor(coins: Coins, contents: readonly RoundContents[]) {
    this.#coins = coins;
    this.#rounds = contents
      .map((one) => atOnce(CurrentRound.of(coins, one)))
      .sort((a, b) => a.value.height - b.value.height);
  }

  get values(): readonly Round[] {
    return this.#rounds.map((round) => round.value);
  }

  /** The closed block that storage keeps next. */
  get closing(): Round | null {
    const [first] = this.#rounds;
    return first?.isClosed ? first.value : null;
  }

  /** The block after the closing one: being mined, or closed and waiting for its turn. */
  get current(): Round | null {
    const last = this.#rounds.at(-1)?.value ?? null;
    return last === this.closing ? null : last;
  }

  /** True if another round may begin: all are closed, and there is room for it. */
  get mayOpen(): boolean {
    return this.#rounds.length < ROUND_SLOTS.length && this.#rounds.every((round) => round.isClosed);
  }

  transaction(hash: string): RoundTx | undefined {
    for (const round of this.#rounds) {
      const tx = round.transaction(hash);
      if (tx !== undefined) return tx;
    }
    return undefined;
  }

  heightOf(hash: string): number | undefined {
    return this.#rounds.find((round) => round.transaction(hash) !== undefined)?.value.height;
  }

  *prepare(round: Round): Pieces<CurrentRound> {
    const slot = ROUND_SLOTS.find((one) => this.#rounds.every((other) => other.slot !== one));
    if (slot === undefined) throw new Error('broken invariant: more rounds than there is room for');
    return yield* CurrentRound.of(this.#coins, { slot, round, spent: [] });
  }

  /** Begins a round in pieces: it counts as begun from the first piece on. `taken` is called for each of its transactions. */
  *open(prepared: CurrentRound, batch: KvBatch, taken: (hash: string) => void): Pieces<void> {
    this.#rounds = [...this.#rounds, prepared];
    yield* prepared.open(batch, taken);
  }

  /** Adds a proof; false when it comes too late or is a second one of its miner. */
  addProof(command: ProofCommand, batch: KvBatch): boolean {
    return this.#rounds.at(-1)?.addProof(command, batch) ?? false;
  }

  /** Closes the last round; null when it is not open or has no proof. */
  close(height: number, batch: KvBatch): Round | null {
    return this.#rounds.at(-1)?.close(height, batch) ?? null;
  }

  endFirst(batch: KvBatch): void {
    const [first, ...rest] = this.#rounds;
    first?.end(batch);
    this.#rounds = rest;
  }

  /** Undoes all rounds, the last first. Returns what `undo` gives of each, in their order; null when there is no round. */
  *giveUp<T>(undo: (round: Round, spent: readonly Utxo[]) => Pieces<readonly T[]>): Pieces<readonly T[] | null> {
    if (this.#rounds.length === 0) return null;
    let returned: readonly T[] = [];
    for (const { value, spent } of [...this.#rounds].reverse())
      returned = [...(yield* undo(value, spent)), ...returned];
    return returned;
  }

  endAll(batch: KvBatch): void {
    for (const round of this.#rounds) round.end(batch);
    this.#rounds = [];
  }

  /** The unspent outputs after the last stored block, as if no block were being made. */
  outputsBefore(): UtxoLookup {
    const spent = new Map<string, Utxo[1]>();
    const made = new Set<string>();
    for (const round of this.#rounds) {
      for (const [at, txOut] of round.spent) spent.set(outPointKey(at), txOut);
      for (const { hash } of round.value.transactions) made.add(hash);
      for (const { hash } of round.value.proofs) made.add(hash);
    }
    return (outPoint) => {
      // An output of the first block may be spent in the second; it did not exist before either.
      if (made.has(outPoint.tHash)) return undefined;
      const { utxos } = this.#coins;
      const slot = utxos.find(outPoint);
      return slot === 0 ? spent.get(outPointKey(outPoint)) : utxos.output(slot);
    };
  }
}

export interface PendingTx {
  readonly bytes: Uint8Array;
  /** Unix seconds when the transaction was first seen. */
  readonly time: number;
  /** Description of what the transaction waits for. */
  readonly info: string;
}

/** Places where a transaction can wait. */
export interface PendingPlaces {
  readonly pool: Pool;
  readonly druids: DruidPool;
  readonly rounds: Rounds;
}

/** Facts about a waiting transaction; undefined when it is in none of the places. */
export function pendingTx(hash: string, { pool, druids, rounds }: PendingPlaces): PendingTx | undefined {
  const pooled = pool.get(hash);
  if (pooled !== undefined) return { bytes: pooled.bytes, time: pooled.time, info: 'Waits for a block' };
  const mined = rounds.transaction(hash);
  if (mined !== undefined) {
    return { bytes: mined.bytes, time: mined.time, info: `In block ${rounds.heightOf(hash)}, which is being made` };
  }
  const set = druids.setOf(hash);
  const member = set?.members.find((tx) => tx.hash === hash);
  if (set === undefined || member === undefined) return undefined;
  const missing = set.participants - BigInt(set.members.length);
  const info = `DRUID transaction: waits for ${missing} of ${set.participants}`;
  return { bytes: member.bytes, time: member.time, info };
}

/** Transactions that wait to be stored. */
export interface Waiting {
  readonly rounds: readonly number[];
  /** Number of the oldest transaction that is not stored; undefined for none. A DRUID member is as old as its own command. */
  oldest(): number | undefined;
}

export function waitingIn(places: PendingPlaces): Waiting {
  return { rounds: places.rounds.values.map(({ height }) => height), oldest: () => oldestArrival(places) };
}

function oldestArrival({ pool, druids, rounds }: PendingPlaces): number | undefined {
  let oldest: number | undefined;
  const see = ({ arrival, waitedAs = arrival }: Pick<PooledTx, 'arrival' | 'waitedAs'>): void => {
    // Issuances have no arrival number.
    if (arrival > 0 && waitedAs < (oldest ?? Number.POSITIVE_INFINITY)) oldest = waitedAs;
  };
  for (const unit of pool.units()) unit.forEach(see);
  for (const set of druids.olderThan(Number.POSITIVE_INFINITY)) set.members.forEach(see);
  for (const round of rounds.values) round.transactions.forEach(see);
  return oldest;
}

/** True if a transaction waits. Quicker than `pendingTx`, because it is asked for every transaction that arrives. */
export function isPending(hash: string, { pool, druids, rounds }: PendingPlaces): boolean {
  return pool.get(hash) !== undefined || rounds.transaction(hash) !== undefined || druids.setOf(hash) !== undefined;
}

const MAX_KEPT_BLOCKS = 64;
/** The most bytes of kept blocks; the last block is kept whatever its size. */
const MAX_KEPT_BYTES = 256 * 1024 * 1024;

export class KeptBlocks {
  #names: readonly KeptName[];

  constructor(names: readonly KeptName[] = []) {
    this.#names = names;
  }

  hashAt(height: number): string | undefined {
    return this.#names.find((name) => name.height === height)?.hash;
  }

  /** Adds a block to the batch and removes those that are too old, in pieces. */
  *keep(height: number, hash: string, record: KeptRecord, batch: KvBatch): Pieces<void> {
    const parts = encodeKept(record);
    yield* batch.putInPieces(keys.kept(height), parts);
    yield;
    const names = [...this.#names, { height, hash, size: parts.reduce((sum, part) => sum + part.length, 0) }];
    let size = names.reduce((sum, name) => sum + name.size, 0);
    while (names.length > MAX_KEPT_BLOCKS || (size > MAX_KEPT_BYTES && names.length > 1)) {
      const oldest = names.shift();
      if (oldest === undefined) break;
      size -= oldest.size;
      batch.del(keys.kept(oldest.height));
    }
    batch.put(keys.keptNames, encodeKeptNames(names));
    this.#names = names;
  }
}

const PIECE_TRANSACTIONS = 1_024;

/** A round as it is read from disk. */
export interface RoundContents {
  readonly slot: RoundSlot;
  readonly round: Round;
  /** Outputs that the round spends, in order, its own too; null when they are not known (a folder of an earlier version). */
  readonly spent: readonly Utxo[] | null;
}

class CurrentRound {
  readonly slot: RoundSlot;
  readonly #coins: Coins;
  readonly #transactions: ReadonlyMap<string, RoundTx>;
  #round: Round;
  /** Outputs that the round spends, to be restored if it is given up. */
  #spent: readonly Utxo[] | null;

  private constructor(coins: Coins, { slot, round, spent }: RoundContents, byHash: ReadonlyMap<string, RoundTx>) {
    this.slot = slot;
    this.#coins = coins;
    this.#round = round;
    this.#transactions = byHash;
    this.#spent = spent;
  }

  static *of(coins: Coins, contents: RoundContents): Pieces<CurrentRound> {
    const byHash = new Map<string, RoundTx>();
    for (const [i, tx] of contents.round.transactions.entries()) {
      if (i % PIECE_TRANSACTIONS === PIECE_TRANSACTIONS - 1) yield;
      byHash.set(tx.hash, tx);
    }
    return new CurrentRound(coins, contents, byHash);
  }

  get value(): Round {
    return this.#round;
  }

  get isClosed(): boolean {
    return this.#round.winner !== null;
  }

  transaction(hash: string): RoundTx | undefined {
    return this.#transactions.get(hash);
  }

  /** Outputs that the round spends. Throws `data_corrupt` when they are not known. */
  get spent(): readonly Utxo[] {
    if (this.#spent !== null) return this.#spent;
    throw new TesseraError(
      'data_corrupt',
      'the block being made was cut by an earlier version and cannot be given up for the one that storage has: run tessera rebuild',
    );
  }

  /** Begins the round in pieces (decision V7): each transaction changes the outputs wholly or not at all. `taken`: called for each. */
  *open(batch: KvBatch, taken: (hash: string) => void): Pieces<void> {
    const spent: Utxo[] = [];
    this.#spent = spent;
    batch.put(keys.round(this.slot), yield* encodeRoundPieces(this.#round));
    for (let from = 0; from < this.#round.transactions.length; from += APPROACHED) {
      const group = this.#round.transactions.slice(from, from + APPROACHED);
      const decoded = yield* decodeAll(group);
      this.#coins.approach(decoded);
      for (const [i, { hash }] of group.entries()) {
        yield;
        const tx = decoded[i] as Transaction;
        if (isCreate(tx)) batch.put(keys.known(hash), new Uint8Array());
        const created = createdOutPoints(tx, hash).filter(({ txOut }) => !isUnspendable(txOut));
        yield* this.#coins.record(created, batch);
        for (const outPoint of spentOutPoints(tx)) spent.push([outPoint, this.#coins.spend(outPoint, batch)]);
        this.#coins.add(created);
        taken(hash);
      }
    }
    yield;
    batch.put(keys.spent(this.slot), yield* encodeCoinsPieces(spent));
  }

  /** Adds a proof; false when it comes too late, is of another round, or a second one of its miner. */
  addProof({ height, miner, nonce, coinbase }: ProofCommand, batch: KvBatch): boolean {
    const round = this.#round;
    if (!this.#isOpenAt(height) || round.proofs.some((known) => known.miner === miner)) return false;
    const proof = { miner, nonce, coinbase, hash: transactionHashOfBytes(coinbase) };
    if (!isProofOf(round, proof)) return false;
    batch.put(keys.proof(this.slot, round.proofs.length), encodeProof(proof));
    this.#round = { ...round, proofs: [...round.proofs, proof] };
    return true;
  }

  /** Draws the winner, whose coinbase becomes unspent. Null when the round is not open, or has no proof. */
  close(height: number, batch: KvBatch): Round | null {
    const round = this.#round;
    // The command may be of another round of this height, which was given up.
    if (!this.#isOpenAt(height) || round.proofs.length === 0) return null;
    const winner = drawWinner(round);
    const proof = round.proofs[winner];
    if (proof === undefined) return null;
    for (const { outPoint, txOut } of createdOutPoints(decodeTransaction(proof.coinbase), proof.hash)) {
      this.#coins.insert(outPoint, txOut, batch);
    }
    batch.put(keys.winner(this.slot), encodeWinner(winner));
    this.#round = { ...round, winner };
    return this.#round;
  }

  /** Removes the records of the round, whose block is stored or given up. */
  end(batch: KvBatch): void {
    batch.del(keys.round(this.slot)).del(keys.spent(this.slot)).del(keys.winner(this.slot));
    for (const number of this.#round.proofs.keys()) batch.del(keys.proof(this.slot, number));
  }

  #isOpenAt(height: number): boolean {
    return this.#round.height === height && !this.isClosed;
  }
}

/** Decodes a group of transactions in pieces: a whole round decoded at once would be several times its size, and long-lived. */
function* decodeAll(group: readonly RoundTx[]): Pieces<Transaction[]> {
  const decoded: Transaction[] = [];
  for (const { bytes } of group) {
    yield;
    decoded.push(decodeTransaction(bytes));
  }
  return decoded;
}
