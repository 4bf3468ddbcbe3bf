/** The unicorn: public randomness that nobody can steer (docs/chain.md#unicorn), which draws participants and winner. */

import { gcmsiv } from '@noble/ciphers/aes.js';
import { sha3Bytes, sha3Hex } from '../crypto/sha3.js';
import { concatBytes, utf8 } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import { type Fault, fault, type Verdict } from '../lib/fault.js';
import { atOnce, type Pieces } from '../lib/pieces.js';
import { BincodeWriter } from './bincode.js';
import { txsHash, txsHashPieces } from './hash.js';

/** Draw of the miners that take part in a block. */
export const USAGE_PARTICIPANTS = 2;
/** Draw of the winner among the valid proofs. */
export const USAGE_WINNER = 3;

/** Generators behind the draws of a round (decision B11). */
export const DRAWS = ['sha3', 'fortuna'] as const;

/** Mark of a basis that draws by Fortuna. */
const FORTUNA = 'fortuna:';
const FORTUNA_BLOCK = 16;

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
  /** Lower-case hex of the witness in whole bytes, from which draws are made. */
  readonly g: string;
}

export interface UnicornInputs {
  /** Hashes of the transactions of the new block, in block order. */
  readonly transactions: readonly string[];
  /** Names of the participants selected last; or their list as original nodes encode it. */
  readonly participants: readonly string[] | Uint8Array;
  /** Hashes of the coinbases of all winning proofs of the last round. */
  readonly winners: readonly string[];
}

/** The seed: the hash of three hashes. Winners are taken as a sorted set; the order of the others counts. */
export function unicornSeed(inputs: UnicornInputs): bigint {
  return atOnce(unicornSeedPieces(inputs));
}

/** The seed as of `unicornSeed`, in pieces. */
export function* unicornSeedPieces({ transactions, participants, winners }: UnicornInputs): Pieces<bigint> {
  const sortedWinners = [...new Set(winners)].sort();
  const hashes: string[] = [];
  // Each list is hashed like the list of a block.
  for (const names of [transactions, participants, sortedWinners]) {
    hashes.push(names instanceof Uint8Array ? sha3Hex(names) : yield* txsHashPieces(names));
  }
  return BigInt(`0x${txsHash(hashes)}`);
}

/** Socket addresses as the reference encodes them: each the number of its kind, four bytes and the port. */
export function encodeSocketAddresses(addresses: readonly string[]): Uint8Array {
  const to = new BincodeWriter();
  to.length64(addresses.length);
  for (const address of addresses) {
    const [ip = '', port = ''] = address.split(':');
    to.u32(0);
    for (const part of ip.split('.')) to.u8(Number(part));
    to.u8(Number(port) & 0xff);
    to.u8(Number(port) >> 8);
  }
  return to.toBytes();
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

/** Basis of draws: `g`, marked where the network draws by Fortuna. */
export function drawBasis({ g }: Unicorn, draw: (typeof DRAWS)[number]): string {
  return draw === 'fortuna' ? FORTUNA + g : g;
}

/** The bytes of `seed_value`: ASCII of `<seed>-<witness>` in decimal. */
export function seedValueOf({ seed, witness }: Unicorn): Uint8Array {
  return utf8(`${seed}-${witness}`);
}

/** Draws a number from 0 to 2^64-1 for a usage: the first 8 bytes of SHA3-256(g || usage as u64le), or Fortuna's first number. */
export function drawNumber(g: string, usage: number): bigint {
  if (g.startsWith(FORTUNA)) return fortunaNumber(g.slice(FORTUNA.length), usage);
  const suffix = new DataView(new ArrayBuffer(8));
  suffix.setBigUint64(0, BigInt(usage), true);
  const digest = sha3Bytes(concatBytes(utf8(g), new Uint8Array(suffix.buffer)));
  return new DataView(digest.buffer, digest.byteOffset).getBigUint64(0);
}

/** The first number that the generator of original nodes draws: AES-256-GCM-SIV as a block cipher, keyed by 32 characters of `g` and the usage. */
function fortunaNumber(g: string, usage: number): bigint {
  const block = (key: Uint8Array, high: number, low: number): Uint8Array => {
    const counter = new DataView(new ArrayBuffer(FORTUNA_BLOCK));
    counter.setUint32(FORTUNA_BLOCK - 8, high);
    counter.setUint32(FORTUNA_BLOCK - 4, low);
    const sealed = gcmsiv(key, new Uint8Array(12)).encrypt(new Uint8Array(counter.buffer));
    return sealed.subarray(0, FORTUNA_BLOCK);
  };
  const seed = utf8(g.slice(0, 32).padStart(32, '0'));
  const key = concatBytes(block(seed, usage, 0), block(seed, usage, 1));
  const first = block(key, 0, 0);
  return new DataView(first.buffer, first.byteOffset).getBigUint64(0);
}

/** One of the items, drawn by `g` and `usage`. Throws `internal_error` when there is none. */
export function drawOne<T>(items: readonly T[], g: string, usage: number): T {
  const drawn = items[Number(drawNumber(g, usage) % BigInt(Math.max(items.length, 1)))];
  if (drawn === undefined) throw new TesseraError('internal_error', 'nothing to draw from');
  return drawn;
}

/** Draws `count` of the items, or all, in the order of the draw: a shuffle that uses the same number in every step. */
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

/** Rounds of the primality test; each passes a composite with a probability below 1/4. */
const PRIMALITY_ROUNDS = 15;
const SMALL_PRIMES = [2n, 3n, 5n, 7n, 11n, 13n, 17n, 19n, 23n, 29n, 31n, 37n, 41n, 43n, 47n];

/** `base` to the power of `exponent` modulo `modulus`; base at least 0, modulus above 1. */
export function modPow(base: bigint, exponent: bigint, modulus: bigint): bigint {
  const reduce = reduction(modulus);
  const start = base % modulus;
  let result = 1n;
  // The bits are read from left to right: the exponents of sloth are a one and zeros, so nearly every step only squares.
  for (const bit of exponent.toString(2)) {
    result = reduce(result * result);
    if (bit === '1') result = reduce(result * start);
  }
  return result;
}

/** Miller-Rabin with the first 15 primes as bases. */
export function isProbablePrime(n: bigint): boolean {
  if (n < 2n) return false;
  for (const prime of SMALL_PRIMES) {
    if (n === prime) return true;
    if (n % prime === 0n) return false;
  }
  let odd = n - 1n;
  let twos = 0;
  while ((odd & 1n) === 0n) {
    odd >>= 1n;
    twos += 1;
  }
  return SMALL_PRIMES.slice(0, PRIMALITY_ROUNDS).every((base) => passesRound(n, base, odd, twos));
}

function passesRound(n: bigint, base: bigint, odd: bigint, twos: number): boolean {
  let x = modPow(base, odd, n);
  if (x === 1n || x === n - 1n) return true;
  for (let i = 1; i < twos; i++) {
    x = (x * x) % n;
    if (x === n - 1n) return true;
  }
  return false;
}

/** Reduction modulo 2^k - 1, like the network's modulus, by folding, which is twice as fast as division. */
function reduction(modulus: bigint): (value: bigint) => bigint {
  if ((modulus & (modulus + 1n)) !== 0n) return (value) => value % modulus;
  const bits = BigInt(modulus.toString(2).length);
  return (value) => {
    let folded = (value & modulus) + (value >> bits);
    while (folded > modulus) folded = (folded & modulus) + (folded >> bits);
    return folded === modulus ? 0n : folded;
  };
}
