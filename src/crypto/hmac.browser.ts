/** The functions of `hmac.ts` by @noble/hashes, for a browser. They give way to the page now and then. */

import { hmac } from '@noble/hashes/hmac.js';
import { pbkdf2Async } from '@noble/hashes/pbkdf2.js';
import { sha512 } from '@noble/hashes/sha2.js';

export function hmacSha512(key: Uint8Array, data: Uint8Array): Uint8Array {
  return hmac(sha512, key, data);
}

export function pbkdf2Sha512(password: string, salt: string, rounds: number, length: number): Promise<Uint8Array> {
  return pbkdf2Async(sha512, password, salt, { c: rounds, dkLen: length });
}
