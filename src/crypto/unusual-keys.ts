/**
 * Ed25519 keys that nobody makes by accident: points of small order and non-canonical encodings. The network accepts them (decision B3),
 * OpenSSL only before 3.5, so they are verified here, cofactorless, with R compared byte by byte; so are signatures whose R is of small
 * order. They cost more than others: see `verificationCost`.
 */

import { ed25519 } from '@noble/curves/ed25519.js';
import { concatBytes, equalBytes, toHex } from '../lib/bytes.js';
import { sha512 } from './ed25519-backend.js';

const KEY_LENGTH = 32;
/** Order of the base point. */
const L = ed25519.Point.Fn.ORDER;

/** The y coordinates of the eight points of small order: 1, -1, 0, and two of the points of order 8. */
const SMALL_ORDER_Y: ReadonlySet<string> = new Set([
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  '00'.repeat(32),
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
]);
/** Lowest byte of 2^255 - 19, the first y that is not reduced. */
const FIRST_TOO_LARGE_BYTE = 0xed;

/** True when the key (32 bytes) is a point of small order, or its y is not reduced. */
export function isUnusualKey(publicKey: Uint8Array): boolean {
  const [first = 0] = publicKey;
  const last = (publicKey[KEY_LENGTH - 1] ?? 0) & 0x7f;
  // Nearly every key is ruled out by its last byte.
  if (last !== 0 && last !== 0x7f && last !== 0x05 && last !== 0x7a) return false;
  const y = Uint8Array.from(publicKey);
  y[KEY_LENGTH - 1] = last;
  const isTooLarge = last === 0x7f && first >= FIRST_TOO_LARGE_BYTE && y.subarray(1, -1).every((byte) => byte === 0xff);
  return isTooLarge || SMALL_ORDER_Y.has(toHex(y));
}

/** True when R is a point of small order. Only the key's owner can make such a signature; OpenSSL accepts it in some versions only. */
export function hasSmallOrderR(signature: Uint8Array): boolean {
  const last = (signature[KEY_LENGTH - 1] ?? 0) & 0x7f;
  if (last !== 0 && last !== 0x7f && last !== 0x05 && last !== 0x7a) return false;
  // `slice` of a Buffer is no copy: the signature would change.
  const y = Uint8Array.from(signature.subarray(0, KEY_LENGTH));
  y[KEY_LENGTH - 1] = last;
  return SMALL_ORDER_Y.has(toHex(y));
}

type Point = InstanceType<typeof ed25519.Point>;

/** Multiplies one key: a function of the scalar, which is below the order of the base point. */
type Multiplier = (scalar: bigint) => Point;

/** Multipliers by the encoding of the key; undefined for a key that is no point. Unusual keys only: a few dozen at most. */
const multipliers = new Map<string, Multiplier | undefined>();
const COFACTOR = 8n;
/** Window in bits of the precomputed table of a full-order key: 1,408 points, half a mebibyte. There are about twenty such keys. */
const TABLE_WINDOW = 6;
/** Cost of an unusual key in verifications of usual keys. Measured beside node:crypto: 2.2 for small order, 4.3 for others; libsodium: 0.57. */
const UNUSUAL_KEY_COST = 8;

/** Cost of an R of small order under an ordinary key, for which nothing is precomputed; measured: 27. */
const SMALL_ORDER_R_COST = 32;

/** Extra cost of verifying this signature, in ordinary verifications. */
export function signatureCost(signature: Uint8Array): number {
  return hasSmallOrderR(signature) ? SMALL_ORDER_R_COST : 1;
}

/** Cost of verifying a signature under the key, in verifications under usual keys. */
export function verificationCost(publicKey: Uint8Array): number {
  return isUnusualKey(publicKey) ? UNUSUAL_KEY_COST : 1;
}

/** True when S·B = R + k·A, with S below the order and R compared byte by byte. Callers check the lengths. */
export function verifyByEquation(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const r = signature.subarray(0, KEY_LENGTH);
  const s = littleEndian(signature.subarray(KEY_LENGTH));
  if (s >= L) return false;
  const timesKey = multiplierOf(publicKey);
  if (timesKey === undefined) return false;
  const k = littleEndian(sha512(concatBytes(r, publicKey, message))) % L;
  return equalBytes(ed25519.Point.BASE.multiplyUnsafe(s).subtract(timesKey(k)).toBytes(), r);
}

function multiplierOf(publicKey: Uint8Array): Multiplier | undefined {
  if (!isUnusualKey(publicKey)) {
    const point = decodePoint(publicKey);
    return point && ((scalar) => point.multiplyUnsafe(scalar));
  }
  const name = toHex(publicKey);
  if (!multipliers.has(name)) multipliers.set(name, createMultiplier(publicKey));
  return multipliers.get(name);
}

function createMultiplier(publicKey: Uint8Array): Multiplier | undefined {
  const point = decodePoint(publicKey);
  if (point === undefined) return undefined;
  if (!point.isSmallOrder()) {
    point.precompute(TABLE_WINDOW);
    return (scalar) => point.multiplyUnsafe(scalar);
  }
  const multiples = [ed25519.Point.ZERO];
  while (multiples.length < COFACTOR) multiples.push((multiples.at(-1) ?? ed25519.Point.ZERO).add(point));
  return (scalar) => multiples[Number(scalar % COFACTOR)] ?? ed25519.Point.ZERO;
}

function decodePoint(publicKey: Uint8Array): Point | undefined {
  try {
    // ZIP 215 (the argument `true`) accepts the non-canonical encodings of these keys.
    return ed25519.Point.fromBytes(publicKey, true);
  } catch {
    return undefined;
  }
}

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${toHex(Uint8Array.from(bytes).reverse())}`);
}
