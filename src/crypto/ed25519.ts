/** Ed25519 signatures (docs/chain.md#signatures) and encodings of a secret key (docs/chain.md#keys), by `ed25519-backend.ts`. */

import { concatBytes, equalBytes, fromHex, utf8 } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import type { Random } from '../lib/random.js';
import { publicKeyOf, signBytes, verifyBytes } from './ed25519-backend.js';
import { hasSmallOrderR, isUnusualKey, verifyByEquation } from './unusual-keys.js';

export const PUBLIC_KEY_LENGTH = 32;
export const SIGNATURE_LENGTH = 64;
export const SEED_LENGTH = 32;
/** Bytes of ring's PKCS#8 v2 document, the form in which the network stores secret keys. */
const PKCS8_V2_LENGTH = 85;

const PKCS8_V2_PREFIX = fromHex('3053020101300506032b657004220420');
const PKCS8_V2_MIDDLE = fromHex('a123032100');
const PKCS8_V2_PUBLIC_OFFSET = PKCS8_V2_PREFIX.length + SEED_LENGTH + PKCS8_V2_MIDDLE.length;

export interface KeyPair {
  readonly seed: Uint8Array;
  readonly publicKey: Uint8Array;
}

/** True for a signature (64 bytes) of `publicKey` (32 bytes) over `message` (texts as UTF-8). False for malformed input; never throws. */
export function verifySignature(publicKey: Uint8Array, message: Uint8Array | string, signature: Uint8Array): boolean {
  if (!(publicKey.length === PUBLIC_KEY_LENGTH && signature.length === SIGNATURE_LENGTH)) return false;
  const bytes = messageBytes(message);
  if (isUnusualKey(publicKey)) return verifyByEquation(publicKey, bytes, signature);
  if (verifyBytes(publicKey, bytes, signature)) return true;
  return hasSmallOrderR(signature) && verifyByEquation(publicKey, bytes, signature);
}

/** The 64-byte signature of `message` by the secret `seed`; texts are signed as UTF-8. Throws `malformed_key_pair`. */
export function sign(seed: Uint8Array, message: Uint8Array | string): Uint8Array {
  return signBytes(checkedSeed(seed), messageBytes(message));
}

/** The public key (32 bytes) of a 32-byte seed. Throws `malformed_key_pair` when the seed has another length. */
function publicKeyFromSeed(seed: Uint8Array): Uint8Array {
  return publicKeyOf(checkedSeed(seed));
}

/** The key pair of a 32-byte seed. Throws `malformed_key_pair`. */
export function keyPairFromSeed(seed: Uint8Array): KeyPair {
  return { seed: Uint8Array.from(seed), publicKey: publicKeyFromSeed(seed) };
}

export function generateKeyPair(random: Random): KeyPair {
  return keyPairFromSeed(random.bytes(SEED_LENGTH));
}

/** The network's encoding of a secret key: the PKCS#8 v2 document of ring, 85 bytes with seed and public key. */
export function encodePkcs8(pair: KeyPair): Uint8Array {
  return concatBytes(PKCS8_V2_PREFIX, pair.seed, PKCS8_V2_MIDDLE, pair.publicKey);
}

/** Reads a secret key: PKCS#8 v2 (85 bytes), seed and public key (64), or seed (32). Throws `malformed_key_pair` without key material. */
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

function checkedSeed(seed: Uint8Array): Uint8Array {
  if (seed.length !== SEED_LENGTH) throw malformed(`an Ed25519 seed has ${SEED_LENGTH} bytes, not ${seed.length}`);
  return seed;
}

function messageBytes(message: Uint8Array | string): Uint8Array {
  return typeof message === 'string' ? utf8(message) : message;
}

function malformed(message: string): TesseraError {
  return new TesseraError('malformed_key_pair', message);
}
