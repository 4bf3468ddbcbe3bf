/**
 * Decodes blocks and lists in pieces, between which the caller's `turn` lets other work run. As `codec.ts`; besides, a
 * transaction that is longer than the chain allows is not read to its end.
 */

import { BincodeReader } from './bincode.js';
import { inBlock, MIN_STRING, MIN_TRANSACTION, readHeader, readTransaction } from './codec.js';
import { MAX_TRANSACTION_BYTES } from './constants.js';
import type { FullBlock, Transaction } from './types.js';

/** Resolves when the next piece may run. */
export type Turn = () => Promise<void>;

/** Bytes and elements that are decoded in one piece: about half a millisecond. One transaction is not divided. */
const PIECE_BYTES = 16 * 1024;
const PIECE_ELEMENTS = 256;

/** Throws `malformed_transaction`. The transactions of block 0, and of blocks of original nodes, may have any length. */
export async function decodeFullBlockInPieces(bytes: Uint8Array, turn: Turn): Promise<FullBlock> {
  const from = new BincodeReader(bytes);
  const header = readHeader(from);
  const names = await readList(from, MIN_STRING, () => from.string(), turn);
  const most = header.bNum === 0n || header.isOriginal ? bytes.length : MAX_TRANSACTION_BYTES;
  const readOne = (): Transaction => from.within(most, () => inBlock(readTransaction(from), header));
  const transactions = await readList(from, MIN_TRANSACTION, readOne, turn);
  const miningTransaction = readOne();
  from.end();
  return { block: { header, transactions: names }, transactions, miningTransaction };
}

/** A list as `encodeTransactions` writes it (peers/payloads.ts). Throws `malformed_transaction`. */
export async function decodeTransactionsInPieces(bytes: Uint8Array, turn: Turn): Promise<Transaction[]> {
  const from = new BincodeReader(bytes);
  const readOne = (): Transaction => from.within(MAX_TRANSACTION_BYTES, () => readTransaction(from));
  const transactions = await readList(from, MIN_TRANSACTION, readOne, turn);
  from.end();
  return transactions;
}

async function readList<T>(from: BincodeReader, minimum: number, read: () => T, turn: Turn): Promise<T[]> {
  const count = from.length64(minimum);
  const items: T[] = [];
  let left = from.remaining;
  for (let i = 0; i < count; i++) {
    if (i % PIECE_ELEMENTS === 0 || left - from.remaining >= PIECE_BYTES) {
      await turn();
      left = from.remaining;
    }
    items.push(read());
  }
  return items;
}
