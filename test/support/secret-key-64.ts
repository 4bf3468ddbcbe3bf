import type { KeyPair } from '../../src/crypto/ed25519.js';

/** The encoding of clients, 64 bytes: seed, then public key. */
export function encodeSecretKey64({ seed, publicKey }: KeyPair): Uint8Array {
  return Buffer.concat([seed, publicKey]);
}
