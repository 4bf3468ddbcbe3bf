/** The hash of `sha3.ts` by @noble/hashes, for a browser. */

import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

export function sha3Hex(data: Uint8Array | string): string {
  return bytesToHex(sha3Bytes(data));
}

export function sha3HexAfter(prefix: string): (rest: string) => string {
  const begun = sha3_256.create().update(utf8ToBytes(prefix));
  return (rest) => bytesToHex(begun.clone().update(utf8ToBytes(rest)).digest());
}

export function sha3Into(data: Uint8Array | string, target: Uint8Array, at: number): void {
  target.set(sha3Bytes(data), at);
}

export function sha3Bytes(data: Uint8Array | string): Uint8Array {
  return sha3_256(typeof data === 'string' ? utf8ToBytes(data) : data);
}
