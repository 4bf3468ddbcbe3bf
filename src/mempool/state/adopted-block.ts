/** A block that storage has, as the state takes it in. */

import { decodeFullBlock, encodeTransaction } from '../../chain/codec.js';
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
  /** By the names that the block gives them. */
  readonly transactions: readonly CandidateTx[];
  readonly facts: RoundFacts | null;
}

/** Decodes a block and checks nothing but its form. Throws `malformed_transaction`. */
export function readAdoptedBlock(bytes: Uint8Array, facts: RoundFacts | null): AdoptedBlock {
  const full = decodeFullBlock(bytes);
  const { header, transactions: names } = full.block;
  const transactions = full.transactions.map((tx, i) => ({
    hash: names[i] ?? '',
    bytes: encodeTransaction(tx),
    tx,
  }));
  return { height: Number(header.bNum), hash: blockHash(header), full, bytes, transactions, facts };
}
