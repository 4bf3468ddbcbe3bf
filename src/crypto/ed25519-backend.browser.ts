/** Ed25519 by @noble/curves, for browsers. Its verification is for display only: it may differ for crafted signatures (decision B3). */

import { ed25519 } from '@noble/curves/ed25519.js';

export function verifyBytes(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, message, publicKey, { zip215: false });
  } catch {
    return false;
  }
}

export function signBytes(seed: Uint8Array, message: Uint8Array): Uint8Array {
  return ed25519.sign(message, seed);
}

export function publicKeyOf(seed: Uint8Array): Uint8Array {
  return ed25519.getPublicKey(seed);
}

export { sha512 } from '@noble/hashes/sha2.js';
