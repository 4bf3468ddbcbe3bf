/**
 * Ed25519 by @noble/curves, for a browser: keys and signatures, which are the same everywhere. Its verification is for
 * display only, since it may disagree with nodes on signatures that nobody makes by accident (decision B3).
 */

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
