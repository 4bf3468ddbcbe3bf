/** A block that storage has, as the state takes it in. */

import { encodeTransaction } from '../../chain/codec.js';
import { decodeFullBlockInPieces, type Turn } from '../../chain/decode-in-pieces.js';
import { blockHash } from '../../chain/hash.js';
import type { FullBlock } from '../../chain/types.js';
import type { CandidateTx } from './acceptance.js';
import type { RoundFacts } from './round-facts.js';

export interface AdoptedBlock {
  readonly height: number;
  readonly hash: string;
  readonly full: FullBlock;
  /** The FullBlock. */
  readonly bytes: Uint8Array;
  /** Transactions by the names that the block gives them. */
  readonly transactions: readonly CandidateTx[];
  readonly facts: RoundFacts | null;
}

/** Decodes a block, in pieces, and checks nothing but its form. Throws `malformed_transaction`. */
export async function readAdoptedBlock(bytes: Uint8Array, facts: RoundFacts | null, turn: Turn): Promise<AdoptedBlock> {
  const full = await decodeFullBlockInPieces(bytes, turn);
  const { header, transactions: names } = full.block;
  const transactions: CandidateTx[] = [];
  for (const [i, tx] of full.transactions.entries()) {
    await turn();
    transactions.push({ hash: names[i] ?? '', bytes: encodeTransaction(tx), tx });
  }
  return { height: Number(header.bNum), hash: blockHash(header), full, bytes, transactions, facts };
}
