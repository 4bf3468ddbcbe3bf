/**
 * The unicorn: public randomness that nobody can steer (docs/chain.md#unicorn). A seed to which many contribute goes through
 * a slow function, sloth, that is quick to check; its result draws participants and winner. The draw itself uses SHA3-256
 * (decision B11).
 */

import { sha3Bytes } from '../crypto/sha3.js';
import { concatBytes, utf8 } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import { type Fault, fault, type Verdict } from '../lib/fault.js';
import { atOnce, type Pieces } from '../lib/pieces.js';
import { txsHash, txsHashPieces } from './hash.js';
import { isProbablePrime, modPow } from './modular.js';

/** Draw of the miners that take part in a block. */
export const USAGE_PARTICIPANTS = 2;
/** Draw of the winner among the valid proofs. */
export const USAGE_WINNER = 3;

/** The modulus of the network, 2^521 - 1. */
export const DEFAULT_MODULUS: bigint = (1n << 521n) - 1n;

export interface UnicornParameters {
  /** A prime that leaves 3 when divided by 4. */
  readonly modulus: bigint;
  /** Steps of sloth: 2 in development, 1000 on the main network. */
  readonly iterations: number;
}

export interface Unicorn {
  readonly seed: bigint;
  readonly witness: bigint;
  /** Lower-case hex of the witness in whole bytes: what draws are made from. */
  readonly g: string;
}

export interface UnicornInputs {
  /** Hashes of the transactions of the new block, in block order. */
  readonly transactions: readonly string[];
  /** Names of the participants selected last. */
  readonly participants: readonly string[];
  /** Hashes of the coinbases of all winning proofs of the last round. */
  readonly winners: readonly string[];
}

/** The seed: the hash of three hashes. Winners are taken as a sorted set; the order of the others counts. */
export function unicornSeed(inputs: UnicornInputs): bigint {
  return atOnce(unicornSeedPieces(inputs));
}

/** The same in pieces. */
export function* unicornSeedPieces({ transactions, participants, winners }: UnicornInputs): Pieces<bigint> {
  const sortedWinners = [...new Set(winners)].sort();
  const hashes: string[] = [];
  // Each is hashed as the list of a block is.
  for (const names of [transactions, participants, sortedWinners]) hashes.push(yield* txsHashPieces(names));
  return BigInt(`0x${txsHash(hashes)}`);
}

/** Fault of a modulus for sloth: it must be a prime, 3 modulo 4, and at least 2^(2 * security). */
export function modulusFault(modulus: bigint, security: number): Verdict {
  const invalid = (what: string): Fault => fault('invalid_config', what);
  if (modulus < 1n << BigInt(2 * security)) return invalid(`it must be at least 2^${2 * security} (2 x security)`);
  if ((modulus & 3n) !== 3n) return invalid('it must be congruent to 3 modulo 4');
  // The test of a prime this large takes longer than reading the rest of the configuration.
  return modulus === DEFAULT_MODULUS || isProbablePrime(modulus) ? null : invalid('it must be a prime');
}

/** Runs sloth. With 1000 iterations and the network's modulus this takes a good part of a second. */
export function createUnicorn(seed: bigint, { modulus, iterations }: UnicornParameters): Unicorn {
  const rootExponent = (modulus + 1n) >> 2n;
  let witness = seed % modulus;
  for (let i = 0; i < iterations; i++) witness = modPow(flip(witness, modulus), rootExponent, modulus);
  return { seed, witness, g: toWholeBytes(witness) };
}

/** The bytes of `seed_value`: ASCII of `<seed>-<witness>` in decimal. */
export function seedValueOf({ seed, witness }: Unicorn): Uint8Array {
  return utf8(`${seed}-${witness}`);
}

/**
 * A number from 0 to 2^64-1, fixed by the unicorn and what it is for: the first 8 bytes of SHA3-256(g || usage as u64le).
 */
export function drawNumber(g: string, usage: number): bigint {
  const suffix = new DataView(new ArrayBuffer(8));
  suffix.setBigUint64(0, BigInt(usage), true);
  const digest = sha3Bytes(concatBytes(utf8(g), new Uint8Array(suffix.buffer)));
  return new DataView(digest.buffer, digest.byteOffset).getBigUint64(0);
}

/** One of the items. Throws `internal_error` when there is none. */
export function drawOne<T>(items: readonly T[], g: string, usage: number): T {
  const drawn = items[Number(drawNumber(g, usage) % BigInt(Math.max(items.length, 1)))];
  if (drawn === undefined) throw new TesseraError('internal_error', 'nothing to draw from');
  return drawn;
}

/** `count` of the items, or all, in the order of the draw: a shuffle that uses the same number in every step. */
export function drawSelection<T>(items: readonly T[], count: number, g: string, usage: number): T[] {
  const number = drawNumber(g, usage);
  const rest = [...items];
  const drawn: T[] = [];
  const wanted = Math.min(count, items.length);
  while (drawn.length < wanted) {
    const index = Number(number % BigInt(rest.length));
    const [first] = rest;
    const chosen = rest[index];
    if (first === undefined || chosen === undefined) break;
    // The swap of the shuffle: the first remaining item takes the place of the drawn one.
    rest[index] = first;
    rest.shift();
    drawn.push(chosen);
  }
  return drawn;
}

/** Flips the lowest bit, unless the result would be outside 1 to modulus - 1. */
function flip(value: bigint, modulus: bigint): bigint {
  const flipped = value ^ 1n;
  return flipped >= modulus || flipped === 0n ? value : flipped;
}

function toWholeBytes(value: bigint): string {
  const hex = value.toString(16);
  return hex.length % 2 === 0 ? hex : `0${hex}`;
}
