/** A block in the form that the index takes: as it was stored just now, or read from the archive, a few transactions at a time. */

import { isCoinbase, isCreate, type Unscripted } from '../../chain/transaction.js';
import type { BlockHeader } from '../../chain/types.js';
import type { VerifiedTransaction } from '../../ledger/block/verified-block.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import type { ArchiveLookups, WrittenBlock } from '../archive/lookups.js';
import { present } from '../archive/records.js';
import type { Place } from './layout.js';
import type { TransactionKind } from './service.js';

/** Transactions that are read from the disk at once. */
export const READ_AT_ONCE = 32;
/** Bytes of the number of transactions in an encoded block (`joinFullBlock`). */
const COUNT_BYTES = 8;

export interface TransactionToIndex {
  readonly hash: string;
  readonly transaction: Unscripted;
  /** Bytes of the encoded transaction. */
  readonly size: number;
  /** Place of the transaction; its first place, if original nodes accepted it again by the same bytes. */
  readonly home: Place;
}

export interface BlockToIndex {
  readonly hash: string;
  readonly height: number;
  readonly header: BlockHeader;
  /** Raw units issued up to this block, itself included. */
  readonly issued: bigint;
  /** Bytes of the block with all its transactions, encoded. */
  readonly size: number;
  /** Transactions in block order, the coinbase last. */
  readonly transactions: readonly TransactionToIndex[];
}

export function writtenBlock({ record, verified, earlier }: WrittenBlock): BlockToIndex {
  const { hash, height, issued } = record;
  const transactions = verified.transactions.map((one, txNum) =>
    toIndex(one, earlier.get(one.hash) ?? { height, txNum }),
  );
  return { hash, height, issued, header: record.block.header, size: sizeOf(record.bytes, transactions), transactions };
}

/** Reads a block, which must be in the archive. */
export async function readBlockToIndex(
  height: number,
  archive: ArchiveLookups,
  slices: TimeSlices,
): Promise<BlockToIndex> {
  const { record, transactions: all } = await archive.wholeBlock(height, slices);
  const { header } = record.block;
  const transactions: TransactionToIndex[] = [];
  for (let from = 0; from < all.length; from += READ_AT_ONCE) {
    if (slices.isUsedUp) await slices.turn();
    const some = all.slice(from, from + READ_AT_ONCE);
    const names = some.map(({ hash }) => hash);
    // In blocks of original nodes a transaction may have an earlier place.
    const homes = header.isOriginal ? await archive.transactions(names, { turn: () => slices.turn() }) : some;
    for (const [i, one] of some.entries())
      transactions.push(toIndex(one, present(homes[i], `transaction ${one.hash}`)));
  }
  const { hash, issued } = record;
  return { hash, height, issued, header, size: sizeOf(record.bytes, transactions), transactions };
}

/** The transaction without the parts that the index does not need: the block may wait in memory for its turn. */
function toIndex({ hash, transaction, bytes }: VerifiedTransaction, { height, txNum }: Place): TransactionToIndex {
  const inputs = transaction.inputs.map(({ previousOut }) => ({ previousOut }));
  return { hash, transaction: { ...transaction, inputs }, size: bytes.length, home: { height, txNum } };
}

function sizeOf(block: Uint8Array, transactions: readonly TransactionToIndex[]): number {
  return transactions.reduce((sum, { size }) => sum + size, block.length + COUNT_BYTES);
}

/** Kind of a transaction; `isLast`: it is the last one of its block, its coinbase. */
export function kindOf(transaction: Unscripted, height: number, isLast: boolean): TransactionKind {
  if (isLast) return 'coinbase';
  if (height === 0) return 'genesis';
  if (isCoinbase(transaction)) return 'issuance';
  if (isCreate(transaction)) return 'creation';
  return transaction.druidInfo === null ? 'payment' : 'trade';
}
