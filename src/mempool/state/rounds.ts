/** Blocks being made (docs/adr/0044-rounds-that-overlap.md), at most two; what waits for one; and the last ones stored. */

import { outPointKey } from '../../chain/transaction.js';
import type { Utxo } from '../../chain/types.js';
import type { UtxoLookup } from '../../chain/validation.js';
import type { KvBatch } from '../../db/kv.js';
import { atOnce, type Pieces } from '../../lib/pieces.js';
import type { Coins } from './coins.js';
import type { ProofCommand } from './commands.js';
import { CurrentRound, type RoundContents } from './current-round.js';
import { keys, ROUND_SLOTS } from './layout.js';
import type { DruidPool, Pool, PooledTx } from './pool.js';
import { encodeKept, encodeKeptNames, type KeptName, type KeptRecord } from './records.js';
import type { Round, RoundTx } from './round.js';

export class Rounds {
  readonly #coins: Coins;
  /** The first is the one that storage gets first. */
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

  /** The block after that one: being mined, or closed and waiting for its turn. */
  get current(): Round | null {
    const last = this.#rounds.at(-1)?.value ?? null;
    return last === this.closing ? null : last;
  }

  /** True if another one may begin: all are closed, and there is room for it. */
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

  /** Begins it, in pieces: it is there from the first of them on. `taken` is called for each of its transactions. */
  *open(prepared: CurrentRound, batch: KvBatch, taken: (hash: string) => void): Pieces<void> {
    this.#rounds = [...this.#rounds, prepared];
    yield* prepared.open(batch, taken);
  }

  /** False when the proof comes too late or is a second one of its miner. */
  addProof(command: ProofCommand, batch: KvBatch): boolean {
    return this.#rounds.at(-1)?.addProof(command, batch) ?? false;
  }

  /** The closed round; null when it is not open or has no proof. */
  close(height: number, batch: KvBatch): Round | null {
    return this.#rounds.at(-1)?.close(height, batch) ?? null;
  }

  endFirst(batch: KvBatch): void {
    const [first, ...rest] = this.#rounds;
    first?.end(batch);
    this.#rounds = rest;
  }

  /** Undoes all, the last first. Gives what `undo` gives of each, in their order; null when there is none. */
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
      // An output of the first block may be spent in the second; it was not there before either.
      if (made.has(outPoint.tHash)) return undefined;
      const { utxos } = this.#coins;
      const slot = utxos.find(outPoint);
      return slot === 0 ? spent.get(outPointKey(outPoint)) : utxos.output(slot);
    };
  }
}

export interface PendingTx {
  readonly bytes: Uint8Array;
  /** Unix seconds of the first sight. */
  readonly time: number;
  /** Description of what it waits for. */
  readonly info: string;
}

/** Places where it can be. */
export interface PendingPlaces {
  readonly pool: Pool;
  readonly druids: DruidPool;
  readonly rounds: Rounds;
}

/** Undefined when it is in none of the places. */
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
  /** The oldest transaction that is not stored; undefined for none. A member of a DRUID set is as old as its command. */
  oldest(): number | undefined;
}

export function waitingIn(places: PendingPlaces): Waiting {
  return { rounds: places.rounds.values.map(({ height }) => height), oldest: () => oldestArrival(places) };
}

function oldestArrival({ pool, druids, rounds }: PendingPlaces): number | undefined {
  let oldest: number | undefined;
  const see = ({ arrival, waitedAs = arrival }: Pick<PooledTx, 'arrival' | 'waitedAs'>): void => {
    // Issuances have no number.
    if (arrival > 0 && waitedAs < (oldest ?? Number.POSITIVE_INFINITY)) oldest = waitedAs;
  };
  for (const unit of pool.units()) unit.forEach(see);
  for (const set of druids.olderThan(Number.POSITIVE_INFINITY)) set.members.forEach(see);
  for (const round of rounds.values) round.transactions.forEach(see);
  return oldest;
}

/** The same question without the words: asked for every transaction that arrives. */
export function isPending(hash: string, { pool, druids, rounds }: PendingPlaces): boolean {
  return pool.get(hash) !== undefined || rounds.transaction(hash) !== undefined || druids.setOf(hash) !== undefined;
}

const MAX_KEPT_BLOCKS = 64;
/** Bytes of all of them; the last block is kept whatever its size. */
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
