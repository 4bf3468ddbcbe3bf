/** Outputs that may be spent: those of blocks, which the database keeps, and those of the pool. Waiting transactions claim theirs (rule P4). */

import { viewTxOut } from '../../chain/codec.js';
import {
  createdOutPoints,
  isUnspendable,
  outPointKey,
  type PlacedTxOut,
  spentOutPoints,
} from '../../chain/transaction.js';
import type { OutPoint, Transaction, TxOut } from '../../chain/types.js';
import { UNKNOWN_UTXO } from '../../chain/validation.js';
import type { KvBatch } from '../../db/kv.js';
import { GROUP } from '../../ledger/utxo/output-words.js';
import type { UtxoTable } from '../../ledger/utxo/utxo-table.js';
import { fault, type Verdict } from '../../lib/fault.js';
import type { Pieces } from '../../lib/pieces.js';
import { keys } from './layout.js';

export const SPENT = fault('double_spend', 'An input is spent by another transaction');

/** Transactions of a long list that are prefetched together. */
export const APPROACHED = GROUP;
const PIECE_OUTPUTS = 512;

interface Place {
  readonly table: UtxoTable;
  readonly slot: number;
}

export class Coins {
  readonly utxos: UtxoTable;
  /** Outputs of waiting transactions. */
  readonly #waiting: UtxoTable;

  constructor(utxos: UtxoTable) {
    this.utxos = utxos;
    this.#waiting = utxos.another();
  }

  /** Prefetches the places in the table that these transactions will need: several times as fast for a table beyond the caches. */
  approach(transactions: readonly Transaction[]): void {
    this.utxos.approach(transactions.flatMap(spentOutPoints));
  }

  find(outPoint: OutPoint): TxOut | undefined {
    const place = this.#place(outPoint);
    return place?.table.output(place.slot);
  }

  has(outPoint: OutPoint): boolean {
    return this.#place(outPoint) !== undefined;
  }

  isClaimed(outPoint: OutPoint): boolean {
    const place = this.#place(outPoint);
    return place?.table.isClaimed(place.slot) ?? false;
  }

  /** Why an output cannot be claimed now; null when it can. */
  claimFault(outPoint: OutPoint): Verdict {
    const place = this.#place(outPoint);
    if (place === undefined) return UNKNOWN_UTXO;
    return place.table.isClaimed(place.slot) ? SPENT : null;
  }

  /** Why not all inputs can be claimed now; null when they can. */
  claimsFault({ inputs }: Transaction): Verdict {
    for (const { previousOut } of inputs) {
      const wrong = previousOut === null ? null : this.claimFault(previousOut);
      if (wrong !== null) return wrong;
    }
    return null;
  }

  /** Claims all inputs, or none and tells why. */
  claim(tx: Transaction): Verdict {
    const claimed: Place[] = [];
    for (const outPoint of spentOutPoints(tx)) {
      const place = this.#place(outPoint);
      if (place !== undefined && !place.table.isClaimed(place.slot)) {
        place.table.setClaimed(place.slot, true);
        claimed.push(place);
        continue;
      }
      for (const { table, slot } of claimed) table.setClaimed(slot, false);
      return place === undefined ? UNKNOWN_UTXO : SPENT;
    }
    return null;
  }

  /** Claims the inputs that exist: the transaction was accepted before. */
  hold(tx: Transaction): void {
    for (const outPoint of spentOutPoints(tx)) {
      const place = this.#place(outPoint);
      place?.table.setClaimed(place.slot, true);
    }
  }

  release(tx: Transaction): void {
    for (const outPoint of spentOutPoints(tx)) {
      const place = this.#place(outPoint);
      place?.table.setClaimed(place.slot, false);
    }
  }

  /** Makes the outputs of a waiting transaction spendable for those after it. */
  offer(hash: string, tx: Transaction): void {
    for (const { outPoint, txOut } of createdOutPoints(tx, hash)) {
      if (!isUnspendable(txOut)) this.#waiting.insert(outPoint, txOut);
    }
  }

  /** Removes the outputs of a transaction that no longer waits and is in no block. */
  withdraw(hash: string, tx: Transaction): void {
    for (const { outPoint } of createdOutPoints(tx, hash)) {
      const slot = this.#waiting.find(outPoint);
      if (slot !== 0) this.#waiting.remove(slot);
    }
  }

  /** Writes outputs to a batch in pieces: the costly half of adding them. They show in the table after `add`, which must follow. */
  *record(created: readonly PlacedTxOut[], batch: KvBatch): Pieces<void> {
    for (const [i, { outPoint, txOut }] of created.entries()) {
      if (i > 0 && i % PIECE_OUTPUTS === 0) yield;
      batch.put(keys.utxo(outPoint), viewTxOut(txOut));
    }
    if (created.length > PIECE_OUTPUTS) yield;
  }

  /** Makes recorded outputs spendable, the other half of adding them. Claims of waiting transactions on them remain. */
  add(created: readonly PlacedTxOut[]): void {
    for (const { outPoint, txOut } of created) this.#insert(outPoint, txOut);
  }

  insert(outPoint: OutPoint, txOut: TxOut, batch: KvBatch): void {
    this.#insert(outPoint, txOut);
    batch.put(keys.utxo(outPoint), viewTxOut(txOut));
  }

  #insert(outPoint: OutPoint, txOut: TxOut): void {
    const waited = this.#waiting.find(outPoint);
    this.utxos.insert(outPoint, txOut);
    if (waited !== 0) {
      this.utxos.setClaimed(this.utxos.find(outPoint), this.#waiting.isClaimed(waited));
      this.#waiting.remove(waited);
    }
  }

  /** Deletes outputs in a batch in pieces: the costly half of removing them. They stay in the table until each is removed. */
  *erase(outPoints: readonly OutPoint[], batch: KvBatch): Pieces<void> {
    for (const [i, outPoint] of outPoints.entries()) {
      if (i > 0 && i % PIECE_OUTPUTS === 0) yield;
      batch.del(keys.utxo(outPoint));
    }
    if (outPoints.length > PIECE_OUTPUTS) yield;
  }

  /** Removes an output of a block that must be there, and returns it. */
  spend(outPoint: OutPoint, batch: KvBatch): TxOut {
    const txOut = this.remove(outPoint);
    batch.del(keys.utxo(outPoint));
    return txOut;
  }

  /** Removes an output from the table after `erase`, and returns it. */
  remove(outPoint: OutPoint): TxOut {
    const slot = this.utxos.find(outPoint);
    if (slot === 0) throw new Error(`broken invariant: ${outPoint.tHash}:${outPoint.n} is spent but not unspent`);
    const txOut = this.utxos.output(slot);
    this.utxos.remove(slot);
    return txOut;
  }

  #place(outPoint: OutPoint): Place | undefined {
    const slot = this.utxos.find(outPoint);
    if (slot !== 0) return { table: this.utxos, slot };
    const waits = this.#waiting.find(outPoint);
    return waits === 0 ? undefined : { table: this.#waiting, slot: waits };
  }
}

/** Coins as if some transactions had been accepted: for a look ahead that leaves the real ones unchanged. */
export class TrialCoins {
  readonly #coins: Pick<Coins, 'claimFault'>;
  readonly #claimed = new Set<string>();
  readonly #offered = new Set<string>();

  constructor(coins: Pick<Coins, 'claimFault'>) {
    this.#coins = coins;
  }

  claim(tx: Transaction): Verdict {
    const spent = spentOutPoints(tx);
    for (const outPoint of spent) {
      const wrong = this.#claimFault(outPoint);
      if (wrong !== null) return wrong;
    }
    for (const outPoint of spent) this.#claimed.add(outPointKey(outPoint));
    return null;
  }

  offer(hash: string, tx: Transaction): void {
    for (const { outPoint, txOut } of createdOutPoints(tx, hash)) {
      if (!isUnspendable(txOut)) this.#offered.add(outPointKey(outPoint));
    }
  }

  #claimFault(outPoint: OutPoint): Verdict {
    const key = outPointKey(outPoint);
    if (this.#claimed.has(key)) return SPENT;
    return this.#offered.has(key) ? null : this.#coins.claimFault(outPoint);
  }
}
