/** The hash of `sha3.ts` by @noble/hashes, for a browser. */

import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

export const SHA3_LENGTH = 32;

export function sha3Hex(data: Uint8Array | string): string {
  return bytesToHex(sha3Bytes(data));
}

export function sha3Bytes(data: Uint8Array | string): Uint8Array {
  return sha3_256(typeof data === 'string' ? utf8ToBytes(data) : data);
}
