/**
 * Verification by libsodium (optional package sodium-native), in six tenths of the time of OpenSSL. It only ever accepts; node:crypto
 * decides the rest (decision B3), so it must accept nothing that node:crypto refuses: it is tried on the edge cases when it is loaded, and
 * not used where it disagrees (`npm run compare:signatures`). It signs too, twice as fast. The public key is computed from the seed each
 * time: two signatures of one message under two public keys would tell the secret.
 */

import { createRequire } from 'node:module';
import { asBuffer, utf8 } from '../lib/bytes.js';
import { errorMessage } from '../lib/errors.js';
import { EDGE_MESSAGE, EDGE_SIGNATURES } from './edge-signatures.js';

/** Verifies `signature` (64 bytes) of `publicKey` (32 bytes) over `message`. */
export type Verify = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean;

export interface Signer {
  /** 64 bytes. */
  sign(seed: Uint8Array, message: Uint8Array): Uint8Array;
  /** 32 bytes. */
  publicKeyOf(seed: Uint8Array): Uint8Array;
}

interface Sodium {
  crypto_sign_verify_detached(signature: Buffer, message: Buffer, publicKey: Buffer): boolean;
  crypto_sign_seed_keypair(publicKey: Buffer, secretKey: Buffer, seed: Buffer): void;
  crypto_sign_detached(signature: Buffer, message: Buffer, secretKey: Buffer): void;
}

/** A verifier and a signer, or why there is none. */
export type SodiumState =
  | { readonly verify: Verify; readonly signer: Signer; readonly reason: null }
  | { readonly verify: null; readonly signer: null; readonly reason: string };

const KEY_LENGTH = 32;
const SECRET_LENGTH = 64;
const SIGNATURE_LENGTH = 64;

/** Opens libsodium, if its package is installed. It accepts no edge case that `decide` refuses, and makes what it accepts. */
export function openSodium(decide: Verify): SodiumState {
  let sodium: Sodium;
  try {
    sodium = createRequire(import.meta.url)('sodium-native') as Sodium;
  } catch (error) {
    return unused(`sodium-native cannot be loaded: ${errorMessage(error)}`);
  }
  const verify: Verify = (publicKey, message, signature) =>
    sodium.crypto_sign_verify_detached(asBuffer(signature), asBuffer(message), asBuffer(publicKey));
  return checkedSodium(verify, signerOf(sodium), decide);
}

function signerOf(sodium: Sodium): Signer {
  const secret = Buffer.alloc(SECRET_LENGTH);
  /** Gives the public key; the secret is there for `work` alone. */
  const withSecret = (seed: Uint8Array, work: () => void): Uint8Array => {
    const publicKey = new Uint8Array(KEY_LENGTH);
    try {
      sodium.crypto_sign_seed_keypair(asBuffer(publicKey), secret, asBuffer(seed));
      work();
    } finally {
      secret.fill(0);
    }
    return publicKey;
  };
  return {
    sign(seed, message) {
      const signature = new Uint8Array(SIGNATURE_LENGTH);
      withSecret(seed, () => sodium.crypto_sign_detached(asBuffer(signature), asBuffer(message), secret));
      return signature;
    },
    publicKeyOf: (seed) => withSecret(seed, () => undefined),
  };
}

/** Both, unless `verify` accepts an edge case that `decide` refuses, or refuses all of them, or `decide` refuses what is signed. */
export function checkedSodium(verify: Verify, signer: Signer, decide: Verify): SodiumState {
  const message = utf8(EDGE_MESSAGE);
  let accepted = 0;
  for (const [index, text] of EDGE_SIGNATURES.entries()) {
    const bytes = Buffer.from(text, 'base64');
    const [publicKey, signature] = [bytes.subarray(0, KEY_LENGTH), bytes.subarray(KEY_LENGTH)];
    if (!verify(publicKey, message, signature)) continue;
    accepted++;
    if (!decide(publicKey, message, signature)) {
      return unused(`sodium-native accepts edge case ${index}, which node:crypto refuses`);
    }
  }
  if (accepted === 0) return unused('sodium-native refuses every signature');
  const seed = new Uint8Array(KEY_LENGTH).fill(1);
  if (!decide(signer.publicKeyOf(seed), message, signer.sign(seed, message))) {
    return unused('sodium-native makes a signature that node:crypto refuses');
  }
  return { verify, signer, reason: null };
}

function unused(reason: string): SodiumState {
  return { verify: null, signer: null, reason };
}
