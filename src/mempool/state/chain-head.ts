/** Moves the head of the chain from block to block. Pure functions. */

import type { AdoptedBlock } from './adopted-block.js';
import { type ChainHead, closedHash, issuedAt, type Round, type RoundRules } from './round.js';
import type { RoundFacts } from './round-facts.js';

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

/** The head with a closed block on top; what that issues, it counts already. */
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

/**
 * The head after a block that storage has. `issued` is what was issued before it. Where nobody knows how its round went, it
 * counts as one with a single proof and no participants.
 */
export function headAfterAdopted(rules: RoundRules, head: ChainHead, block: AdoptedBlock, issued: bigint): ChainHead {
  const { height, hash, full } = block;
  const { timestamp, miningTxHash } = full.block.header;
  const facts = block.facts ?? {
    participants: [],
    proofHashes: [miningTxHash],
    asertHashes: asertHashesAfter(rules, head, height, 1),
  };
  const reward = full.miningTransaction.outputs.reduce((sum, { value }) => sum + value.amount, 0n);
  return { height, hash, timestamp: Number(timestamp), issued: issued + issuedAt(rules, height) + reward, ...facts };
}

function asertHashesAfter(rules: RoundRules, head: ChainHead, height: number, proofs: number): number {
  return head.asertHashes + (height >= rules.asertActivationHeight ? proofs : 0);
}
