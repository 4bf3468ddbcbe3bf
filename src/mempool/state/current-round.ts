/**
 * The round that is under way: the block being made, what it took out of the unspent outputs and put in, and its record in
 * the database. There is none between two blocks.
 */

import { decodeTransaction } from '../../chain/codec.js';
import { transactionHashOfBytes } from '../../chain/hash.js';
import { createdOutPoints, isCreate, isUnspendable, outPointKey, spentOutPoints } from '../../chain/transaction.js';
import type { Transaction, Utxo } from '../../chain/types.js';
import type { UtxoLookup } from '../../chain/validation.js';
import type { KvBatch } from '../../db/kv.js';
import { TesseraError } from '../../lib/errors.js';
import type { Pieces } from '../../lib/pieces.js';
import type { Coins } from './coins.js';
import type { ProofCommand } from './commands.js';
import { keys } from './layout.js';
import { encodeCoins, encodeRound } from './records.js';
import { drawWinner, type Round, type RoundTx } from './round.js';

/** The round as it is read from disk. */
export interface RoundContents {
  readonly round: Round | null;
  /** What the round spends, in order, its own outputs too; null when that is not known (a folder of an earlier version). */
  readonly spent: readonly Utxo[] | null;
}

export class CurrentRound {
  readonly #coins: Coins;
  #round: Round | null;
  #transactions: ReadonlyMap<string, RoundTx>;
  /** Kept so that it can be given back if the round is abandoned. */
  #spent: readonly Utxo[] | null;

  constructor(coins: Coins, { round, spent }: RoundContents) {
    this.#coins = coins;
    this.#round = round;
    this.#transactions = byHash(round);
    this.#spent = spent;
  }

  /** Null between blocks. */
  get value(): Round | null {
    return this.#round;
  }

  transaction(hash: string): RoundTx | undefined {
    return this.#transactions.get(hash);
  }

  /**
   * Begins a round, in pieces: it is there from the first of them on, and its transactions change the unspent outputs one
   * after the other (decision V7). Between two pieces each of them has done so wholly or not at all, and `outputsBefore`
   * is right. `transactions` spares decoding what the caller has decoded; `taken` is called for each with its change.
   */
  *open(
    round: Round,
    batch: KvBatch,
    { transactions, taken }: { readonly transactions?: readonly Transaction[]; readonly taken: (hash: string) => void },
  ): Pieces<void> {
    const spent: Utxo[] = [];
    this.#spent = spent;
    this.#set(round, batch);
    for (const [i, { hash, bytes }] of round.transactions.entries()) {
      yield;
      const tx = transactions?.[i] ?? decodeTransaction(bytes);
      if (isCreate(tx)) batch.put(keys.create(hash), new Uint8Array());
      const created = createdOutPoints(tx, hash).filter(({ txOut }) => !isUnspendable(txOut));
      yield* this.#coins.record(created, batch);
      for (const outPoint of spentOutPoints(tx)) spent.push([outPoint, this.#coins.spend(outPoint, batch)]);
      this.#coins.add(created);
      taken(hash);
    }
    yield;
    batch.put(keys.spent, encodeCoins(spent));
  }

  /** False when the proof comes too late or is a second one of its miner. */
  addProof({ height, miner, nonce, coinbase }: ProofCommand, batch: KvBatch): boolean {
    const round = this.#openAt(height);
    if (round === null || round.proofs.some((proof) => proof.miner === miner)) return false;
    const hash = transactionHashOfBytes(coinbase);
    this.#set({ ...round, proofs: [...round.proofs, { miner, nonce, coinbase, hash }] }, batch);
    return true;
  }

  /** Draws the winner, whose coinbase becomes unspent. Null when the round is not open or has no proof. */
  close(height: number, batch: KvBatch): Round | null {
    const round = this.#openAt(height);
    if (round === null) return null;
    const winner = drawWinner(round);
    const proof = round.proofs[winner];
    if (proof === undefined) return null;
    for (const { outPoint, txOut } of createdOutPoints(decodeTransaction(proof.coinbase), proof.hash)) {
      this.#coins.insert(outPoint, txOut, batch);
    }
    const closed = { ...round, winner };
    this.#set(closed, batch);
    return closed;
  }

  /** The block is stored, or given up. */
  end(batch: KvBatch): void {
    this.#round = null;
    this.#transactions = byHash(null);
    this.#spent = [];
    batch.del(keys.round).del(keys.spent);
  }

  /** What the round spends. Throws `data_corrupt` when that is not known. */
  get spent(): readonly Utxo[] {
    if (this.#spent !== null) return this.#spent;
    throw new TesseraError(
      'data_corrupt',
      'the block being made was cut by an earlier version and cannot be given up for the one that storage has: run tessera rebuild',
    );
  }

  /** The unspent outputs after the last stored block, as if no block were being made. */
  outputsBefore(): UtxoLookup {
    const round = this.#round;
    const spent = new Map(round === null ? [] : this.spent.map(([at, txOut]) => [outPointKey(at), txOut]));
    const made = new Set(round?.transactions.map(({ hash }) => hash));
    for (const { hash } of round?.proofs ?? []) made.add(hash);
    return (outPoint) => {
      if (made.has(outPoint.tHash)) return undefined;
      const { utxos } = this.#coins;
      const slot = utxos.find(outPoint);
      return slot === 0 ? spent.get(outPointKey(outPoint)) : utxos.output(slot);
    };
  }

  /** The round when it makes block `height` and has no winner yet. */
  #openAt(height: number): Round | null {
    const round = this.#round;
    return round !== null && round.height === height && round.winner === null ? round : null;
  }

  #set(next: Round, batch: KvBatch): void {
    // A proof or a winner leaves the transactions what they are, and there may be thousands.
    if (next.transactions !== this.#round?.transactions) this.#transactions = byHash(next);
    this.#round = next;
    batch.put(keys.round, encodeRound(next));
  }
}

function byHash(round: Round | null): ReadonlyMap<string, RoundTx> {
  return new Map(round?.transactions.map((tx) => [tx.hash, tx]));
}
