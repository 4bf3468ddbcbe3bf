/** A block that has passed every rule, with what it changes. */

import { createdOutPoints, isUnspendable, type PlacedTxOut } from '../../chain/transaction.js';
import type { OutPoint, Transaction } from '../../chain/types.js';

export interface VerifiedTransaction {
  readonly hash: string;
  readonly bytes: Uint8Array;
  readonly transaction: Transaction;
}

export interface VerifiedBlock {
  readonly hash: string;
  readonly height: number;
  /** In block order, the coinbase last. */
  readonly transactions: readonly VerifiedTransaction[];
  /** Raw units issued with this block. */
  readonly issued: bigint;
  /** What this block removes from the unspent outputs. */
  readonly spent: readonly OutPoint[];
  /** What it adds to them, after that. */
  readonly created: readonly PlacedTxOut[];
}

/** What the transactions of a block add to the unspent outputs. */
export function createdBy(transactions: readonly Pick<VerifiedTransaction, 'hash' | 'transaction'>[]): PlacedTxOut[] {
  return transactions.flatMap(({ hash, transaction }) =>
    createdOutPoints(transaction, hash).filter(({ txOut }) => !isUnspendable(txOut)),
  );
}
