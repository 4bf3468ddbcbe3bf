/**
 * Ed25519 signatures and the forms in which a secret key is written (docs/chain.md#keys). Verification is node:crypto's
 * and nothing else: cofactorless with a byte-wise R, as the network's; other libraries disagree on edge inputs, which
 * would split consensus (decision B3). Keys are never made with node's key generation, which can hang the process.
 */

import { createPrivateKey, createPublicKey, type KeyObject, sign as nodeSign, verify as nodeVerify } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { asBuffer, concatBytes, equalBytes, fromHex, utf8 } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import type { Random } from '../lib/random.js';

export const PUBLIC_KEY_LENGTH = 32;
export const SIGNATURE_LENGTH = 64;
export const SEED_LENGTH = 32;
/** Bytes of ring's PKCS#8 v2 document, the form in which the network stores secret keys. */
export const PKCS8_V2_LENGTH = 85;

/** Keys whose imported form is kept; about 1 KB each. */
const KEY_CACHE_SIZE = 10_000;

/** A JWK must have a public key; that of a private one is made from `d`. */
const UNUSED_X = 'A'.repeat(43);
const PKCS8_V2_PREFIX = fromHex('3053020101300506032b657004220420');
const PKCS8_V2_MIDDLE = fromHex('a123032100');
const PKCS8_V2_PUBLIC_OFFSET = PKCS8_V2_PREFIX.length + SEED_LENGTH + PKCS8_V2_MIDDLE.length;

/** A key pair: the 32-byte seed is the secret, the public key belongs to it. */
export interface KeyPair {
  readonly seed: Uint8Array;
  readonly publicKey: Uint8Array;
}

const publicKeys = new LRUCache<string, KeyObject>({ max: KEY_CACHE_SIZE });

/**
 * True when `signature` (64 bytes) is one of `publicKey` (32 bytes) over `message`; a text is signed as its UTF-8 bytes.
 * False for any malformed input; never throws.
 */
export function verifySignature(publicKey: Uint8Array, message: Uint8Array | string, signature: Uint8Array): boolean {
  if (publicKey.length !== PUBLIC_KEY_LENGTH || signature.length !== SIGNATURE_LENGTH) return false;
  try {
    return nodeVerify(null, messageBytes(message), importPublicKey(publicKey), signature);
  } catch {
    // OpenSSL throws on what it cannot parse; a key that is no key has signed nothing.
    return false;
  }
}

/** As `verifySignature`, on libuv's thread pool: the event loop stays free, and several run at once. */
export function verifySignatureAsync(
  publicKey: Uint8Array,
  message: Uint8Array | string,
  signature: Uint8Array,
): Promise<boolean> {
  if (publicKey.length !== PUBLIC_KEY_LENGTH || signature.length !== SIGNATURE_LENGTH) return Promise.resolve(false);
  return new Promise((resolve) => {
    try {
      const key = importPublicKey(publicKey);
      nodeVerify(null, messageBytes(message), key, signature, (error, valid) => resolve(error === null && valid));
    } catch {
      resolve(false);
    }
  });
}

/** The 64-byte signature of `message` by the secret `seed`; a text is signed as its UTF-8 bytes. Throws `malformed_key_pair`. */
export function sign(seed: Uint8Array, message: Uint8Array | string): Uint8Array {
  return new Uint8Array(nodeSign(null, messageBytes(message), importSeed(seed)));
}

/** The public key (32 bytes) of a 32-byte seed. Throws `malformed_key_pair` when the seed has another length. */
export function publicKeyFromSeed(seed: Uint8Array): Uint8Array {
  // The last 32 bytes of the SPKI document are the key; a JWK export here is the pattern that can hang (docs/adr/0006-node-crypto-verification.md).
  const spki = createPublicKey(importSeed(seed)).export({ format: 'der', type: 'spki' });
  return Uint8Array.from(spki.subarray(spki.length - PUBLIC_KEY_LENGTH));
}

/** The key pair of a 32-byte seed. Throws `malformed_key_pair`. */
export function keyPairFromSeed(seed: Uint8Array): KeyPair {
  return { seed: Uint8Array.from(seed), publicKey: publicKeyFromSeed(seed) };
}

/** A new key pair out of 32 random bytes. */
export function generateKeyPair(random: Random): KeyPair {
  return keyPairFromSeed(random.bytes(SEED_LENGTH));
}

/** The network's form of a secret key: ring's PKCS#8 v2 document of 85 bytes, seed and public key inside. */
export function encodePkcs8(pair: KeyPair): Uint8Array {
  return concatBytes(PKCS8_V2_PREFIX, pair.seed, PKCS8_V2_MIDDLE, pair.publicKey);
}

/** The 64-byte form of clients: seed, then public key. */
export function encodeSecretKey64(pair: KeyPair): Uint8Array {
  return concatBytes(pair.seed, pair.publicKey);
}

/**
 * Reads a secret key in any of its forms: PKCS#8 v2 (85 bytes), seed and public key (64), seed alone (32). Where a public
 * key is inside, it must belong to the seed. Throws `malformed_key_pair`; the message never holds key material.
 */
export function parseSecretKey(bytes: Uint8Array): KeyPair {
  if (bytes.length === SEED_LENGTH) return keyPairFromSeed(bytes);
  if (bytes.length === SEED_LENGTH + PUBLIC_KEY_LENGTH) {
    return checkedPair(bytes.subarray(0, SEED_LENGTH), bytes.subarray(SEED_LENGTH));
  }
  if (bytes.length === PKCS8_V2_LENGTH) return parsePkcs8(bytes);
  throw malformed(`a secret key has 32, 64 or ${PKCS8_V2_LENGTH} bytes, not ${bytes.length}`);
}

function parsePkcs8(bytes: Uint8Array): KeyPair {
  const seedEnd = PKCS8_V2_PREFIX.length + SEED_LENGTH;
  const prefixFits = equalBytes(bytes.subarray(0, PKCS8_V2_PREFIX.length), PKCS8_V2_PREFIX);
  const middleFits = equalBytes(bytes.subarray(seedEnd, PKCS8_V2_PUBLIC_OFFSET), PKCS8_V2_MIDDLE);
  if (!prefixFits || !middleFits) throw malformed('the secret key is not an Ed25519 PKCS#8 v2 document');
  return checkedPair(bytes.subarray(PKCS8_V2_PREFIX.length, seedEnd), bytes.subarray(PKCS8_V2_PUBLIC_OFFSET));
}

function checkedPair(seed: Uint8Array, publicKey: Uint8Array): KeyPair {
  const pair = keyPairFromSeed(seed);
  if (!equalBytes(pair.publicKey, publicKey)) throw malformed('the public key inside the secret key is not its own');
  return pair;
}

function importSeed(seed: Uint8Array): KeyObject {
  if (seed.length !== SEED_LENGTH) throw malformed(`an Ed25519 seed has ${SEED_LENGTH} bytes, not ${seed.length}`);
  // As a JWK: a DER import takes ten times as long. Signing and the public key are made from `d`; `x` is not looked at.
  const d = asBuffer(seed).toString('base64url');
  return createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x: UNUSED_X }, format: 'jwk' });
}

function importPublicKey(publicKey: Uint8Array): KeyObject {
  const bytes = asBuffer(publicKey);
  const id = bytes.toString('latin1');
  const known = publicKeys.get(id);
  if (known) return known;
  // JWK, because a DER import on this path halves the speed of verification.
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') }, format: 'jwk' });
  publicKeys.set(id, key);
  return key;
}

function messageBytes(message: Uint8Array | string): Uint8Array {
  return typeof message === 'string' ? utf8(message) : message;
}

function malformed(message: string): TesseraError {
  return new TesseraError('malformed_key_pair', message);
}
