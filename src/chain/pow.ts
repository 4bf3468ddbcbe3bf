/** Proof of work (docs/chain.md#proof-of-work), by a compact target or a leading zero byte; and the ASERT difficulty. */

import { compareBytes, fromHex } from '../lib/bytes.js';
import { type Fault, fault, type Verdict } from '../lib/fault.js';
import { MAX_NONCE_LENGTH, MINING_DIFFICULTY } from './constants.js';
import { headerHash } from './hash.js';
import type { BlockHeader } from './types.js';

/** The easiest target, 2^248: as hard as one leading zero byte. */
export const MAX_COMPACT_TARGET = 0x22000001;

export const INVALID_NONCE = refused(`the nonce does not have 1 to ${MAX_NONCE_LENGTH} bytes`);
export const INVALID_DIFFICULTY = refused('the difficulty is not a compact target of 4 bytes');
export const ABOVE_TARGET = refused('the hash of the header is above the target');

const TARGET_LENGTH = 32;
const COMPACT_LENGTH = 4;
const MANTISSA_MASK = 0x007f_ffff;
const MANTISSA_SIGN = 0x0080_0000;
const MANTISSA_BYTES = 3;

/** `MAX_COMPACT_TARGET` as a number. */
export const MAX_TARGET: bigint = expandCompact(MAX_COMPACT_TARGET);

/** The number that a compact target stands for: the low 23 bits, shifted to as many bytes as the top byte says. */
export function expandCompact(compact: number): bigint {
  const exponent = compact >>> 24;
  const mantissa = BigInt(compact & MANTISSA_MASK);
  const shift = BigInt(8 * Math.abs(exponent - MANTISSA_BYTES));
  return exponent <= MANTISSA_BYTES ? mantissa >> shift : mantissa << shift;
}

/** The compact form of a target that is not negative: its upper 23 or more bits, rounded down. */
export function compressTarget(target: bigint): number {
  let size = Math.ceil(target.toString(16).length / 2);
  const shift = BigInt(8 * Math.abs(size - MANTISSA_BYTES));
  let mantissa = Number(size <= MANTISSA_BYTES ? target << shift : target >> shift);
  // The top bit of the mantissa is a sign; a mantissa that would set it moves down a byte.
  if ((mantissa & MANTISSA_SIGN) !== 0) {
    mantissa >>>= 8;
    size += 1;
  }
  return ((size << 24) | mantissa) >>> 0;
}

/** A compact target as headers carry it. */
export function compactToBytes(compact: number): Uint8Array {
  return Uint8Array.of(compact >>> 24, (compact >>> 16) & 0xff, (compact >>> 8) & 0xff, compact & 0xff);
}

/** The compact target in a header's `difficulty`; undefined unless it has 4 bytes. */
export function compactFromBytes(bytes: Uint8Array): number | undefined {
  if (bytes.length !== COMPACT_LENGTH) return undefined;
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0);
}

/** The largest hash that satisfies `difficulty`, as 32 big-endian bytes; undefined for a malformed difficulty. */
export function targetBytes(difficulty: Uint8Array): Uint8Array | undefined {
  const largest = new Uint8Array(TARGET_LENGTH).fill(0xff);
  if (difficulty.length === 0) return largest.fill(0, 0, MINING_DIFFICULTY);
  const compact = compactFromBytes(difficulty);
  if (compact === undefined) return undefined;
  const hex = expandCompact(compact)
    .toString(16)
    .padStart(TARGET_LENGTH * 2, '0');
  return hex.length > TARGET_LENGTH * 2 ? largest : fromHex(hex);
}

/** True when the hash is not above the target, both 32 big-endian bytes. */
export function meetsTarget(hash: Uint8Array, target: Uint8Array): boolean {
  return compareBytes(hash, target) <= 0;
}

/** Fault of the proof of work of a header. */
export function proofOfWorkFault(header: BlockHeader): Verdict {
  if (header.nonce.length < 1 || header.nonce.length > MAX_NONCE_LENGTH) return INVALID_NONCE;
  const difficulty = difficultyOf(header);
  const target = difficulty === undefined ? undefined : targetBytes(difficulty);
  if (target === undefined) return INVALID_DIFFICULTY;
  return meetsTarget(headerHash(header), target) ? null : ABOVE_TARGET;
}

/** Fault in the form of a header's target. Its value for this height is not checked. */
export function difficultyFault(header: BlockHeader, activationHeight: number): Verdict {
  const { bNum, layout, isOriginal } = header;
  const difficulty = difficultyOf(header) ?? header.difficulty;
  // Nothing says from which block on a chain of original nodes has targets; a header without one is as hard as the easiest target.
  const isFree = layout !== undefined || isOriginal === true;
  if (isFree && difficulty.length === 0) return null;
  if (!isFree && Number(bNum) <= activationHeight) {
    if (difficulty.length === 0) return null;
    return fault('block_refused', `blocks up to ${activationHeight} carry no target`);
  }
  const compact = compactFromBytes(difficulty);
  if (compact === undefined) {
    return fault('block_refused', `blocks after ${activationHeight} carry a target of 4 bytes`);
  }
  const target = expandCompact(compact);
  if (target >= 1n && target <= MAX_TARGET) return null;
  return fault('block_refused', 'the target is not one the chain can set');
}

function refused(what: string): Fault {
  return fault('block_refused', `the proof of work is not valid: ${what}`);
}

/** The compact target of a header, empty without one (docs/chain.md#header-layouts). Undefined when malformed. */
function difficultyOf({ layout, bits, difficulty }: BlockHeader): Uint8Array | undefined {
  if (layout === undefined) return difficulty;
  if (layout === 'oldest' || bits === 0n) return new Uint8Array(0);
  return bits > 0xffff_ffffn ? undefined : compactToBytes(Number(bits));
}

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
