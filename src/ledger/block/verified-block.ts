/** A block that has passed every rule, with the changes it makes. */

import {
  createdOutPoints,
  isUnspendable,
  outPointKey,
  type PlacedTxOut,
  spentOutPoints,
} from '../../chain/transaction.js';
import type { BlockHeader, OutPoint, Transaction } from '../../chain/types.js';
import type { Pieces } from '../../lib/pieces.js';

export interface VerifiedTransaction {
  readonly hash: string;
  readonly bytes: Uint8Array;
  readonly transaction: Transaction;
}

/** Changes of a block. An output that one transaction creates and a later one of the block spends is in neither list. */
export interface OutputChanges {
  /** Outputs that the block removes from the unspent ones. */
  readonly spent: readonly OutPoint[];
  /** Outputs that the block adds to the unspent ones. */
  readonly created: readonly PlacedTxOut[];
}

export interface VerifiedBlock extends OutputChanges {
  readonly hash: string;
  readonly height: number;
  /** Transactions in block order, the coinbase last. */
  readonly transactions: readonly VerifiedTransaction[];
  /** Raw units issued with this block. */
  readonly issued: bigint;
  readonly isOriginal?: true | undefined;
}

/**
 * Changes by all transactions of a block together. An input that no earlier transaction has created was there before the block. In a block of
 * original nodes every input was: the block spends first and then creates, so an output that it spends and creates again is there at its end.
 */
export function* changesBy(
  transactions: readonly Pick<VerifiedTransaction, 'hash' | 'transaction'>[],
  { isOriginal }: Pick<BlockHeader, 'isOriginal'>,
): Pieces<OutputChanges> {
  const earlier = new Set<string>();
  const spent: OutPoint[] = [];
  /** Outputs of transactions of the block that the block spends, by key. */
  const inner = new Map<string, OutPoint>();
  const parents = new Set<string>();
  for (const { hash, transaction } of transactions) {
    yield;
    for (const outPoint of spentOutPoints(transaction)) {
      if (!earlier.has(outPoint.tHash)) spent.push(outPoint);
      else {
        inner.set(outPointKey(outPoint), outPoint);
        parents.add(outPoint.tHash);
      }
    }
    if (!isOriginal) earlier.add(hash);
  }
  const isLeft = ({ outPoint, txOut }: PlacedTxOut): boolean =>
    !isUnspendable(txOut) && !(parents.has(outPoint.tHash) && inner.delete(outPointKey(outPoint)));
  const created: PlacedTxOut[] = [];
  for (const { hash, transaction } of transactions) {
    yield;
    for (const one of createdOutPoints(transaction, hash)) if (isLeft(one)) created.push(one);
  }
  return { spent: [...spent, ...inner.values()], created };
}
