/** The hashes of the chain (docs/chain.md#hashes). Block and list hashes cover transaction hashes, not transactions. */

import { sha3Bytes, sha3Hex, sha3Into } from '../crypto/sha3.js';
import { readable, toHex } from '../lib/bytes.js';
import { atOnce, type Pieces } from '../lib/pieces.js';
import { encodeHashedHeader, encodeStringsPieces, viewTransaction } from './codec.js';
import { BLOCK_PREFIX, TX_HASH_LENGTH, TX_PREFIX } from './constants.js';
import type { BlockHeader, Transaction } from './types.js';

const HASH_BYTES = 32;
/** Hashes that one piece of a Merkle root takes: about half a millisecond. */
const PIECE_HASHES = 256;
/** Most bytes of a list that are hashed in the turn in which they were encoded: about a tenth of a millisecond. */
const HASHED_AT_ONCE = 32 * 1024;

/** The hash of a transaction: `g` and the first 31 hex digits of the SHA3-256 of its encoding. */
export function transactionHash(tx: Transaction): string {
  return transactionHashOfBytes(viewTransaction(tx));
}

/** The hash of a transaction that is already encoded. */
export function transactionHashOfBytes(bytes: Uint8Array): string {
  return TX_PREFIX + sha3Hex(bytes).slice(0, TX_HASH_LENGTH - TX_PREFIX.length);
}

/** The 32 bytes that proof of work is judged by. */
export function headerHash(header: BlockHeader): Uint8Array {
  return sha3Bytes(encodeHashedHeader(header));
}

/** The hash of a block: `b` and the 64 hex digits of the header hash. It is the block's name and storage key. */
export function blockHash(header: BlockHeader): string {
  return BLOCK_PREFIX + toHex(headerHash(header));
}

/** The hash of a list of transaction hashes in block order, as 64 hex digits, by which a header commits to its transactions. */
export function txsHash(transactionHashes: readonly string[]): string {
  return atOnce(txsHashPieces(transactionHashes));
}

/** The hash as of `txsHash`, in pieces. */
export function* txsHashPieces(transactionHashes: readonly string[]): Pieces<string> {
  const bytes = yield* encodeStringsPieces(transactionHashes);
  if (bytes.length > HASHED_AT_ONCE) yield;
  return sha3Hex(bytes);
}

/** The Merkle root over hashes, as hex without prefix, '' for none. A lone right edge is promoted, not doubled. */
export function merkleRoot(transactionHashes: readonly string[]): string {
  return atOnce(merkleRootPieces(transactionHashes));
}

/** The root as of `merkleRoot`, in pieces: a block may have a hundred thousand transactions. */
export function* merkleRootPieces(transactionHashes: readonly string[]): Pieces<string> {
  let count = transactionHashes.length;
  if (count === 0) return '';
  const level = readable(new Uint8Array(count * HASH_BYTES));
  for (const [i, hash] of transactionHashes.entries()) {
    if (i % PIECE_HASHES === 0) yield;
    sha3Into(hash, level, i * HASH_BYTES);
  }
  // Pairing from the left and carrying an odd last node up unchanged gives exactly the tree of RFC 6962.
  while (count > 1) count = yield* toParents(level, count);
  return toHex(level.subarray(0, HASH_BYTES));
}

/** Writes the level above the first `count` hashes over them; returns the number of hashes of that level. */
function* toParents(level: Uint8Array, count: number): Pieces<number> {
  for (let i = 0; i < count; i += 2) {
    if (i % PIECE_HASHES === 0) yield;
    const left = i * HASH_BYTES;
    const parent = left / 2;
    if (i + 1 === count) level.copyWithin(parent, left, left + HASH_BYTES);
    else sha3Into(level.subarray(left, left + 2 * HASH_BYTES), level, parent);
  }
  return Math.ceil(count / 2);
}
