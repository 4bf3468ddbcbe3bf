/**
 * The target of the next block by ASERT, aserti3-2d (docs/chain.md#difficulty): exponential in how far the chain is ahead
 * of its schedule. The network measures by winning proofs of work instead of by time; 11 are expected for each block.
 */

import { compactToBytes, compressTarget, expandCompact, MAX_COMPACT_TARGET, MAX_TARGET } from './pow.js';

/** Winning proofs of work expected for each block; stands for the ideal block time. */
const TARGET_HASHES_PER_BLOCK = 11n;
/** Surplus of proofs that halves the target: two days of ten-minute blocks. */
const HALF_LIFE = 3168n;

const ANCHOR_COMPACT = 0xc800ffff;
const RADIX_BITS = 16n;
const RADIX = 1n << RADIX_BITS;
/** Left shifts of this many bits or more exceed every possible maximum, so the number is not computed. */
const SHIFT_BEYOND_MAX = 512n;

/** The schedule that an ASERT target refers to. `parentTime` and half-life have the same unit. */
export interface AsertAnchor {
  readonly target: bigint;
  readonly height: bigint;
  /** Time of the block before the anchor. */
  readonly parentTime: bigint;
  readonly idealBlockTime: bigint;
  readonly halfLife: bigint;
  readonly maxTarget: bigint;
}

/** The target after the block at `height`, found at `time`; from 1 to `maxTarget`. */
export function asertTarget(anchor: AsertAnchor, height: bigint, time: bigint): bigint {
  const schedule = anchor.idealBlockTime * (height - anchor.height + 1n);
  // BigInt division truncates towards zero and the shift floors, exactly as in the reference.
  const exponent = ((time - anchor.parentTime - schedule) * RADIX) / anchor.halfLife;
  const shifts = exponent >> RADIX_BITS;
  const fraction = exponent - shifts * RADIX;
  if (shifts > SHIFT_BEYOND_MAX) return anchor.maxTarget;
  const scaled = anchor.target * growthFactor(fraction);
  const target = shifts < RADIX_BITS ? scaled >> (RADIX_BITS - shifts) : scaled << (shifts - RADIX_BITS);
  if (target < 1n) return 1n;
  return target > anchor.maxTarget ? anchor.maxTarget : target;
}

/** Cubic approximation of 2^(fraction / 65536), times 65536. */
function growthFactor(fraction: bigint): bigint {
  const polynomial = 195_766_423_245_049n * fraction + 971_821_376n * fraction ** 2n + 5_127n * fraction ** 3n;
  return RADIX + ((polynomial + (1n << 47n)) >> 48n);
}

export interface DifficultyInput {
  /** The block whose `difficulty` is wanted. */
  readonly bNum: bigint;
  readonly activationHeight: bigint;
  /** Winning proofs committed in blocks from the activation height on. */
  readonly winningProofs: bigint;
}

/** The `difficulty` of a header: empty up to and including the activation height, then the compact target in 4 bytes. */
export function difficultyFor({ bNum, activationHeight, winningProofs }: DifficultyInput): Uint8Array {
  if (bNum <= activationHeight) return new Uint8Array(0);
  const expected = (bNum - activationHeight) * TARGET_HASHES_PER_BLOCK;
  // More proofs than expected count as less time; where that would be negative, the reference takes the height.
  const time = 2n * expected - winningProofs;
  const anchor: AsertAnchor = {
    target: expandCompact(ANCHOR_COMPACT),
    height: activationHeight,
    parentTime: 0n,
    idealBlockTime: TARGET_HASHES_PER_BLOCK,
    halfLife: HALF_LIFE,
    maxTarget: MAX_TARGET,
  };
  const target = asertTarget(anchor, bNum, time < 0n ? bNum : time);
  return compactToBytes(target === MAX_TARGET ? MAX_COMPACT_TARGET : compressTarget(target));
}
