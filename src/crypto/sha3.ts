/** SHA3-256 (FIPS 202, not Keccak-256), the only hash function of the chain; `sha3.browser.ts` in browsers. Texts are hashed as UTF-8. */

import crypto from 'node:crypto';
import { asBuffer } from '../lib/bytes.js';

// The one-shot `crypto.hash` is three times as fast as `createHash` for the 100 to 600 bytes hashed here.
const ALGORITHM = 'sha3-256';

/** Lower-case hex (64 characters) of the SHA3-256 of bytes, or of the UTF-8 bytes of a text. */
export function sha3Hex(data: Uint8Array | string): string {
  return crypto.hash(ALGORITHM, data, 'hex');
}

/** Hashes a common prefix once: the returned function gives the SHA3-256, in hex, of the prefix and its argument. */
export function sha3HexAfter(prefix: string): (rest: string) => string {
  const begun = crypto.createHash(ALGORITHM).update(prefix);
  return (rest) => begun.copy().update(rest).digest('hex');
}

/** Writes the 32 bytes of the SHA3-256 of bytes, or of the UTF-8 bytes of a text, to `target` from `at` on, where there must be room. */
export function sha3Into(data: Uint8Array | string, target: Uint8Array, at: number): void {
  // Writing the hex text is cheaper than a new Buffer for each hash.
  asBuffer(target).write(sha3Hex(data), at, 'hex');
}

/** The 32 bytes of the SHA3-256 of bytes, or of the UTF-8 bytes of a text. */
export function sha3Bytes(data: Uint8Array | string): Uint8Array {
  return crypto.hash(ALGORITHM, data, 'buffer');
}
