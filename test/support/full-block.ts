import { encodeBlock, encodeTransaction, joinFullBlockPieces } from '../../src/chain/codec.js';
import type { FullBlock } from '../../src/chain/types.js';
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
