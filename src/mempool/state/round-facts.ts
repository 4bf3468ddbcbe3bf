/**
 * Facts that the next round depends on but no block carries: who took part in the last round, and all its proofs, including
 * those that lost. Storage keeps this with its last block, so that a mempool node that has lost its folder continues as if it
 * had not.
 */

import type { BincodeReader, BincodeWriter } from '../../chain/bincode.js';
import { writeStrings } from '../../chain/codec.js';

export interface RoundFacts {
  readonly participants: readonly string[];
  /** Hashes of the coinbases, in order. */
  readonly proofHashes: readonly string[];
  /** Winning proofs from the activation height on, those of this block included. */
  readonly asertHashes: number;
}

export function writeFacts(writer: BincodeWriter, { participants, proofHashes, asertHashes }: RoundFacts): void {
  writeStrings(writer, participants);
  writeStrings(writer, proofHashes);
  writer.length64(asertHashes);
}

export function readFacts(reader: BincodeReader): RoundFacts {
  const participants = reader.list(8, () => reader.string());
  const proofHashes = reader.list(8, () => reader.string());
  return { participants, proofHashes, asertHashes: reader.number64() };
}
