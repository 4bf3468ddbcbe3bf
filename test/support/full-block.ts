import {
  decoder,
  encodeBlock,
  encodeTransaction,
  inBlock,
  joinFullBlockPieces,
  MIN_STRING,
  MIN_TRANSACTION,
  readHeader,
  readTransaction,
} from '../../src/chain/codec.js';
import type { FullBlock, Transaction } from '../../src/chain/types.js';
import { atOnce } from '../../src/lib/pieces.js';

/** Our own framing: block, number of transactions, transactions in order, coinbase. */
export function encodeFullBlock({ block, transactions, miningTransaction }: FullBlock): Uint8Array {
  const parts = [
    encodeBlock(block),
    transactions.map(encodeTransaction),
    encodeTransaction(miningTransaction),
  ] as const;
  return atOnce(joinFullBlockPieces(...parts));
}

/** Decodes a `FullBlock` at once, as the program does in pieces. */
export const decodeFullBlock = decoder((from): FullBlock => {
  const header = readHeader(from);
  const names = from.list(MIN_STRING, () => from.string());
  const readOne = (): Transaction => inBlock(readTransaction(from), header);
  const transactions = from.list(MIN_TRANSACTION, readOne);
  return { block: { header, transactions: names }, transactions, miningTransaction: readOne() };
});
