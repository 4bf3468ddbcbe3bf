/** Digests of the state of a mempool: what two nodes with the same state have in common, in one text. Pure functions. */

import { sha3Hex } from '../../crypto/sha3.js';
import { mix, mixText, type SetDigest, setDigestText } from '../../lib/set-digest.js';
import type { ChainHead, Round } from './round.js';

export interface DigestParts {
  readonly head: ChainHead;
  /** The blocks being made, in their order. */
  readonly rounds: readonly Round[];
  /** Digests of the unspent outputs, of what is ready for a block, and of what waits for others. */
  readonly sets: readonly SetDigest[];
}

/** Digest with the number of all that was ever accepted: what a database must give when it is read. */
export function wholeDigest(parts: DigestParts, arrivals: number): string {
  return sha3Hex([...linesOf(parts), `${arrivals}`].join('\n'));
}

/** Digest of what decides on all that comes. A state that was made from blocks has it in common with one that took each command. */
export function sharedDigest(parts: DigestParts): string {
  return sha3Hex(linesOf(parts).join('\n'));
}

/** 32 bits of what a command can change. */
export function sharedMark({ head, rounds, sets }: DigestParts): number {
  let x = mixText(mix(1, head.height), head.hash ?? '');
  for (const { count, low, high } of sets) x = mix(mix(mix(x, count), low), high);
  for (const round of rounds)
    x = mix(mix(mixText(mix(x, round.height), round.header.txsHash), round.proofs.length), winnerOf(round));
  return x >>> 0;
}

function linesOf({ head, rounds, sets }: DigestParts): string[] {
  const { height, hash, timestamp, issued, asertHashes, participants, proofHashes } = head;
  return [
    `${height} ${hash} ${timestamp} ${issued} ${asertHashes}`,
    participants.join(','),
    proofHashes.join(','),
    ...sets.map(setDigestText),
    ...(rounds.length === 0 ? ['-'] : rounds.map(lineOf)),
  ];
}

function lineOf({ height, header, proofs, winner }: Round): string {
  return `${height} ${header.txsHash} ${proofs.length} ${winner}`;
}

function winnerOf({ winner }: Round): number {
  return winner === null ? 0 : winner + 1;
}
