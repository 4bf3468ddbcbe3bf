/**
 * Verification by libsodium (the optional package sodium-native), in six tenths of the time of OpenSSL. It only ever
 * accepts: what it does not accept is put to node:crypto, which decides (decision B3). So it has to be certain that it
 * accepts nothing that node:crypto refuses. It is tried on the edge cases whenever a process or a worker thread loads it,
 * and is not used where it disagrees; `npm run compare:signatures` compares the two on as many signatures as one likes.
 */

import { createRequire } from 'node:module';
import { asBuffer, utf8 } from '../lib/bytes.js';
import { errorMessage } from '../lib/errors.js';
import { EDGE_MESSAGE, EDGE_SIGNATURES } from './edge-signatures.js';

/** Whether `signature` (64 bytes) is one of `publicKey` (32 bytes) over `message`. */
export type Verify = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean;

/** The part of sodium-native that is used. */
interface Sodium {
  crypto_sign_verify_detached(signature: Buffer, message: Buffer, publicKey: Buffer): boolean;
}

/** A verifier, or why there is none. */
export type SodiumState =
  | { readonly verify: Verify; readonly reason: null }
  | { readonly verify: null; readonly reason: string };

const KEY_LENGTH = 32;

/** libsodium, when the package is installed and accepts no edge case that `decide` refuses. */
export function openSodium(decide: Verify): SodiumState {
  let sodium: Sodium;
  try {
    sodium = createRequire(import.meta.url)('sodium-native') as Sodium;
  } catch (error) {
    return { verify: null, reason: `sodium-native cannot be loaded: ${errorMessage(error)}` };
  }
  const verify: Verify = (publicKey, message, signature) =>
    sodium.crypto_sign_verify_detached(asBuffer(signature), asBuffer(message), asBuffer(publicKey));
  return checkedSodium(verify, decide);
}

/** `verify`, unless it accepts an edge case that `decide` refuses, or refuses all of them. */
export function checkedSodium(verify: Verify, decide: Verify): SodiumState {
  const message = utf8(EDGE_MESSAGE);
  let accepted = 0;
  for (const [index, text] of EDGE_SIGNATURES.entries()) {
    const bytes = Buffer.from(text, 'base64');
    const [publicKey, signature] = [bytes.subarray(0, KEY_LENGTH), bytes.subarray(KEY_LENGTH)];
    if (!verify(publicKey, message, signature)) continue;
    accepted++;
    if (!decide(publicKey, message, signature)) {
      return { verify: null, reason: `sodium-native accepts edge case ${index}, which node:crypto refuses` };
    }
  }
  if (accepted === 0) return { verify: null, reason: 'sodium-native refuses every signature' };
  return { verify, reason: null };
}
