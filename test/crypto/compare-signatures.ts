/**
 * libsodium against node:crypto on signatures that are made up: whole ones, ones with a bit flipped in key, signature or
 * message, and sums with points of small order, in which implementations differ. What libsodium accepts, node:crypto has to
 * accept (decision B3); what it refuses costs time and no more.
 */

import { createHash } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { verifyByOpenssl } from '../../src/crypto/ed25519-backend.js';
import { openSodium, type Verify } from '../../src/crypto/sodium.js';
import { isUnusualKey } from '../../src/crypto/unusual-keys.js';

const { Point } = ed25519;
const ORDER = Point.Fn.ORDER;
/** A point of order 8. */
const TORSION = Point.fromHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a', true);
const KINDS = ['whole', 'flipped', 'flipped', 'torsion', 'large S'] as const;
/** A key and the scalar of R are used for this many signatures, since making a point costs more than verifying. */
const PER_KEY = 16;

export interface Comparison {
  readonly signatures: number;
  /** Accepted by node:crypto. */
  readonly accepted: number;
  /** Accepted by node:crypto and not by libsodium: they take longer. */
  readonly slow: number;
  /** Accepted by libsodium and not by node:crypto: the hex of key, signature and message. */
  readonly wrong: readonly string[];
}

export interface ComparisonOptions {
  readonly count: number;
  readonly seed: string;
  /** In place of libsodium, to see that a wrong one is found. */
  readonly verify?: Verify;
  readonly onProgress?: (done: number) => void;
}

interface Signer {
  readonly scalar: bigint;
  readonly publicKey: Uint8Array;
  readonly nonce: bigint;
  /** R, with each of the eight points of small order added. */
  readonly points: readonly Uint8Array[];
}

/** Bytes that follow from a text. */
const bytesOf = (text: string): Buffer => createHash('sha512').update(text).digest();

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
}

const encoded = (scalar: bigint): Buffer => Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse();

const SMALL_ORDER = Array.from({ length: 8 }, (_, i) => (i === 0 ? Point.ZERO : TORSION.multiplyUnsafe(BigInt(i))));

const scalarOf = (text: string): bigint => (littleEndian(bytesOf(text)) % (ORDER - 1n)) + 1n;

/** A key with the point of small order number `torsion` added. */
function signer(text: string, torsion: number): Signer {
  const [scalar, nonce] = [scalarOf(`key ${text}`), scalarOf(`R ${text}`)];
  const r = Point.BASE.multiply(nonce);
  const publicKey = Point.BASE.multiply(scalar)
    .add(SMALL_ORDER[torsion] ?? Point.ZERO)
    .toBytes();
  return { scalar, publicKey, nonce, points: SMALL_ORDER.map((small) => r.add(small).toBytes()) };
}

function signed({ scalar, publicKey, nonce, points }: Signer, torsion: number, message: Uint8Array): Buffer {
  const r = points[torsion] ?? new Uint8Array(32);
  const hash = createHash('sha512').update(r).update(publicKey).update(message).digest();
  return Buffer.concat([r, encoded((nonce + littleEndian(hash) * scalar) % ORDER)]);
}

function flip(bytes: Uint8Array, bit: number): void {
  const at = (bit >> 3) % bytes.length;
  bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
}

export function compareSignatures({ count, seed, verify, onProgress }: ComparisonOptions): Comparison {
  const sodium = verify ?? openSodium(verifyByOpenssl).verify;
  if (sodium === null) throw new Error('libsodium is not here: npm install sodium-native');
  const wrong: string[] = [];
  let [accepted, slow] = [0, 0];
  let secret = signer(seed, 0);
  for (let n = 0; n < count; n++) {
    if (n % PER_KEY === 0) secret = signer(`${seed} ${n}`, (n / PER_KEY) % 8);
    const dice = bytesOf(`${seed} ${n}`);
    const kind = KINDS[dice.readUInt8(0) % KINDS.length];
    const message = dice.subarray(8, 8 + (dice.readUInt8(1) % 56));
    const publicKey = Uint8Array.from(secret.publicKey);
    const signature = signed(secret, kind === 'torsion' ? dice.readUInt8(2) % 8 : 0, message);
    if (kind === 'flipped')
      flip([publicKey, signature, signature][dice.readUInt8(3) % 3] ?? signature, dice.readUInt16LE(4));
    if (kind === 'large S') signature.set(encoded(littleEndian(signature.subarray(32)) + ORDER), 32);
    // These never get to either (unusual-keys.ts).
    if (isUnusualKey(publicKey)) continue;
    const [bySodium, byOpenssl] = [
      sodium(publicKey, message, signature),
      verifyByOpenssl(publicKey, message, signature),
    ];
    if (byOpenssl) accepted++;
    if (byOpenssl && !bySodium) slow++;
    if (bySodium && !byOpenssl)
      wrong.push([publicKey, signature, message].map((part) => Buffer.from(part).toString('hex')).join(' '));
    if (n % 10_000 === 0) onProgress?.(n);
  }
  return { signatures: count, accepted, slow, wrong };
}
