/** Moves the head of the chain from block to block; and digests of the state. Pure functions. */

import { sha3Hex } from '../../crypto/sha3.js';
import { mix, mixText, type SetDigest, setDigestText } from '../../lib/set-digest.js';
import type { AdoptedBlock } from './adoption.js';
import type { RoundFacts } from './commands.js';
import { type ChainHead, closedHash, issuedAt, type Round, type RoundRules } from './round.js';

/** Head before block 0. */
export const EMPTY_HEAD: ChainHead = {
  height: -1,
  hash: null,
  timestamp: 0,
  issued: 0n,
  asertHashes: 0,
  participants: [],
  proofHashes: [],
};

/** Raw units issued up to the last stored block, the blocks being made left out. */
export function issuedBefore(rules: RoundRules, { issued }: ChainHead, rounds: readonly Round[]): bigint {
  return rounds.reduce(
    (sum, { height, reward, winner }) => sum - issuedAt(rules, height) - (winner === null ? 0n : reward),
    issued,
  );
}

/** The head with a closed block on top; it counts already what that block issues. */
export function headAfterClosed(rules: RoundRules, head: ChainHead, round: Round): ChainHead {
  const { height, header } = round;
  const timestamp = Number(header.timestamp);
  return { ...head, height, hash: closedHash(round), timestamp, ...factsAfter(rules, head, round) };
}

/** Facts that the round after this one, which follows the head, depends on. */
export function factsAfter(rules: RoundRules, head: ChainHead, { height, participants, proofs }: Round): RoundFacts {
  return {
    participants,
    proofHashes: proofs.map((proof) => proof.hash).sort(),
    asertHashes: asertHashesAfter(rules, head, height, proofs.length),
  };
}

/** The head after a block of storage. `issued`: before the block. Without facts: a round of one proof and no participants. */
export function headAfterAdopted(rules: RoundRules, head: ChainHead, block: AdoptedBlock, issued: bigint): ChainHead {
  const { height, hash, time, full } = block;
  const facts = block.facts ?? {
    participants: [],
    proofHashes: [full.block.header.miningTxHash],
    asertHashes: asertHashesAfter(rules, head, height, 1),
  };
  const reward = full.miningTransaction.outputs.reduce((sum, { value }) => sum + value.amount, 0n);
  return { height, hash, timestamp: time, issued: issued + issuedAt(rules, height) + reward, ...facts };
}

function asertHashesAfter(rules: RoundRules, head: ChainHead, height: number, proofs: number): number {
  return head.asertHashes + (height >= rules.asertActivationHeight ? proofs : 0);
}

export interface DigestParts {
  readonly head: ChainHead;
  readonly rounds: readonly Round[];
  /** Digests of the unspent outputs, of the pool, and of transactions that wait for others. */
  readonly sets: readonly SetDigest[];
}

/** Digest with the number of all transactions ever accepted: what a database must give when it is read. */
export function wholeDigest(parts: DigestParts, arrivals: number): string {
  return sha3Hex([...linesOf(parts), `${arrivals}`].join('\n'));
}

/** Digest of all that later commands depend on. A state made from blocks has the same as one that took each command. */
export function sharedDigest(parts: DigestParts): string {
  return sha3Hex(linesOf(parts).join('\n'));
}

/** Mark of 32 bits over all that a command can change. */
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
