/**
 * Stands for Ed25519 in a world (`src/crypto/ed25519-backend.ts`): as strict, and a tenth of the time. A signature is a hash of public key and
 * message, so a signature of another key or another message, or with a wrong bit, is none. Anybody could make one; nobody of a world does.
 */

import { createHash } from 'node:crypto';

const known = new Map<string, Uint8Array>();

export function sha512(bytes: Uint8Array): Uint8Array {
  return createHash('sha512').update(bytes).digest();
}

export function publicKeyOf(seed: Uint8Array): Uint8Array {
  const name = Buffer.from(seed).toString('latin1');
  const key = known.get(name) ?? new Uint8Array(createHash('sha256').update('public key').update(seed).digest());
  known.set(name, key);
  return key;
}

export function signBytes(seed: Uint8Array, message: Uint8Array): Uint8Array {
  return signatureOf(publicKeyOf(seed), message);
}

export function verifyBytes(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  return signatureOf(publicKey, message).every((byte, i) => byte === signature[i]);
}

export function whyNoSodium(): string | null {
  return null;
}

function signatureOf(publicKey: Uint8Array, message: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha512').update(publicKey).update(message).digest());
}
