/**
 * SHA3-256 (FIPS-202, not Keccak-256), the only hash of the chain. Texts are hashed as their UTF-8 bytes. In a browser
 * `sha3.browser.ts` takes the place of this file.
 */

import crypto from 'node:crypto';

const ALGORITHM = 'sha3-256';

// The one-shot form is three times as fast as createHash for the 100 to 600 bytes hashed here, but Node has it only from
// 20.12 on.
const hasOneShot = typeof crypto.hash === 'function';

/** Lower-case hex (64 characters) of the SHA3-256 of bytes, or of the UTF-8 bytes of a text. */
export function sha3Hex(data: Uint8Array | string): string {
  return hasOneShot ? crypto.hash(ALGORITHM, data, 'hex') : crypto.createHash(ALGORITHM).update(data).digest('hex');
}

/**
 * Lower-case hex of the SHA3-256 of `prefix` followed by the argument of the returned function; the prefix is hashed once.
 */
export function sha3HexAfter(prefix: string): (rest: string) => string {
  const begun = crypto.createHash(ALGORITHM).update(prefix);
  return (rest) => begun.copy().update(rest).digest('hex');
}

/** The 32 bytes of the SHA3-256 of bytes, or of the UTF-8 bytes of a text. */
export function sha3Bytes(data: Uint8Array | string): Uint8Array {
  return hasOneShot ? crypto.hash(ALGORITHM, data, 'buffer') : crypto.createHash(ALGORITHM).update(data).digest();
}
