/** A block being made: what it took out of the unspent outputs and put in, and its records in the database. */

import { decodeTransaction } from '../../chain/codec.js';
import { transactionHashOfBytes } from '../../chain/hash.js';
import { createdOutPoints, isCreate, isUnspendable, spentOutPoints } from '../../chain/transaction.js';
import type { Transaction, Utxo } from '../../chain/types.js';
import type { KvBatch } from '../../db/kv.js';
import { TesseraError } from '../../lib/errors.js';
import type { Pieces } from '../../lib/pieces.js';
import { APPROACHED, type Coins } from './coins.js';
import type { ProofCommand } from './commands.js';
import { keys, type RoundSlot } from './layout.js';
import { encodeCoinsPieces, encodeProof, encodeRoundPieces, encodeWinner } from './records.js';
import { drawWinner, isProofOf, type Round, type RoundTx } from './round.js';

const PIECE_TRANSACTIONS = 1_024;

/** A round as it is read from disk. */
export interface RoundContents {
  readonly slot: RoundSlot;
  readonly round: Round;
  /** Outputs that the round spends, in order, its own too; null when that is not known (a folder of an earlier version). */
  readonly spent: readonly Utxo[] | null;
}

export class CurrentRound {
  readonly slot: RoundSlot;
  readonly #coins: Coins;
  readonly #transactions: ReadonlyMap<string, RoundTx>;
  #round: Round;
  /** Kept so that it can be given back if the round is abandoned. */
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

  /** Outputs that it spends. Throws `data_corrupt` when that is not known. */
  get spent(): readonly Utxo[] {
    if (this.#spent !== null) return this.#spent;
    throw new TesseraError(
      'data_corrupt',
      'the block being made was cut by an earlier version and cannot be given up for the one that storage has: run tessera rebuild',
    );
  }

  /** Begins it, in pieces (decision V7): each transaction changes the outputs wholly or not at all. `taken`: for each. */
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
        if (isCreate(tx)) batch.put(keys.create(hash), new Uint8Array());
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

  /** False when the proof comes too late, is of another round, or a second one of its miner. */
  addProof({ height, miner, nonce, coinbase }: ProofCommand, batch: KvBatch): boolean {
    const round = this.#round;
    if (!this.#isOpenAt(height) || round.proofs.some((known) => known.miner === miner)) return false;
    const proof = { miner, nonce, coinbase, hash: transactionHashOfBytes(coinbase) };
    if (!isProofOf(round, proof)) return false;
    batch.put(keys.proof(this.slot, round.proofs.length), encodeProof(proof));
    this.#round = { ...round, proofs: [...round.proofs, proof] };
    return true;
  }

  /** Draws the winner, whose coinbase becomes unspent. Null when the round is not open, or nobody has proven it. */
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

  /** Ends the round, whose block is stored or given up: its records go. */
  end(batch: KvBatch): void {
    batch.del(keys.round(this.slot)).del(keys.spent(this.slot)).del(keys.winner(this.slot));
    for (const number of this.#round.proofs.keys()) batch.del(keys.proof(this.slot, number));
  }

  #isOpenAt(height: number): boolean {
    return this.#round.height === height && !this.isClosed;
  }
}

/** Some transactions of a round: all of it decoded at once would be several times its size, and long-lived. */
function* decodeAll(group: readonly RoundTx[]): Pieces<Transaction[]> {
  const decoded: Transaction[] = [];
  for (const { bytes } of group) {
    yield;
    decoded.push(decodeTransaction(bytes));
  }
  return decoded;
}
