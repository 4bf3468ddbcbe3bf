/**
 * Ed25519 by node:crypto. Its verification is consensus (decision B3): cofactorless, comparing R byte by byte; other libraries disagree on
 * edge cases. libsodium is asked first, as it is faster and accepts nothing else (`sodium.ts`). Node's key generation can hang the process
 * and is not used. Callers check lengths.
 */

import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { asBuffer } from '../lib/bytes.js';
import { openSodium, type Signer, type SodiumState } from './sodium.js';

/** Number of imported keys that are cached; about 1 KB each. */
const KEY_CACHE_SIZE = 10_000;
const PUBLIC_KEY_LENGTH = 32;
/** Placeholder for the public key `x` that a JWK must have; for a private key, Node.js derives it from `d` instead. */
const UNUSED_X = 'A'.repeat(43);

const publicKeys = new LRUCache<string, KeyObject>({ maxSize: KEY_CACHE_SIZE, sizeCalculation: () => 1 });

/** State of libsodium, which is looked for when the first signature is verified or made. */
let sodium: SodiumState | undefined;

function openedSodium(): SodiumState {
  sodium ??= openSodium(verifyByOpenssl);
  return sodium;
}

/** The reason why signatures are verified and made by node:crypto alone, which takes longer; null when libsodium is asked first. */
export function whyNoSodium(): string | null {
  return openedSodium().reason;
}

/** False for a malformed key; never throws. */
export function verifyBytes(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const { verify } = openedSodium();
  return verify?.(publicKey, message, signature) === true || verifyByOpenssl(publicKey, message, signature);
}

/** The verdict of OpenSSL, which is the one that counts. False for a malformed key; never throws. */
export function verifyByOpenssl(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verify(null, message, importPublicKey(publicKey), signature);
  } catch {
    // OpenSSL throws on a key that it cannot parse. Such a key has signed nothing.
    return false;
  }
}

export function signBytes(seed: Uint8Array, message: Uint8Array): Uint8Array {
  return (openedSodium().signer ?? opensslSigner).sign(seed, message);
}

export function publicKeyOf(seed: Uint8Array): Uint8Array {
  return (openedSodium().signer ?? opensslSigner).publicKeyOf(seed);
}

/** Signer without libsodium, which makes the same signatures. */
export const opensslSigner: Signer = {
  sign: (seed, message) => new Uint8Array(sign(null, message, importSeed(seed))),
  publicKeyOf: publicKeyByOpenssl,
};

function publicKeyByOpenssl(seed: Uint8Array): Uint8Array {
  // The last 32 bytes of the SPKI document are the key; a JWK export here is the pattern that can hang
  // (docs/adr/0006-node-crypto-verification.md).
  const spki = createPublicKey(importSeed(seed)).export({ format: 'der', type: 'spki' });
  return Uint8Array.from(spki.subarray(spki.length - PUBLIC_KEY_LENGTH));
}

function importSeed(seed: Uint8Array): KeyObject {
  // Importing a JWK takes a tenth of the time of importing DER.
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

export function sha512(bytes: Uint8Array): Uint8Array {
  return createHash('sha512').update(bytes).digest();
}
