/** Key derivation by SLIP-0010 for ed25519: a tree of keys from one seed, with hardened children only. */

import { utf8 } from '../lib/bytes.js';
import { hmacSha512 } from './hmac.js';

const MASTER = utf8('ed25519 seed');
const HARDENED = 0x8000_0000;
const KEY_LENGTH = 32;

/** A place in the tree: the secret (an ed25519 seed of 32 bytes), and what derives its children. */
export interface ExtendedKey {
  readonly seed: Uint8Array;
  readonly chainCode: Uint8Array;
}

/** The root of the tree of a seed (16 to 64 bytes). */
export function masterKeyOf(seed: Uint8Array): ExtendedKey {
  return split(hmacSha512(MASTER, seed));
}

/** The hardened child of this number: `index'`. The index is from 0 to 2^31 - 1. */
export function childKeyOf(parent: ExtendedKey, index: number): ExtendedKey {
  if (!Number.isInteger(index) || index < 0 || index >= HARDENED) throw new RangeError(`${index} numbers no child`);
  const data = new Uint8Array(1 + KEY_LENGTH + 4);
  data.set(parent.seed, 1);
  new DataView(data.buffer).setUint32(1 + KEY_LENGTH, HARDENED + index);
  const child = split(hmacSha512(parent.chainCode, data));
  data.fill(0);
  return child;
}

/** The key at a path of hardened children: `[44, 0]` is `m/44'/0'`. The keys in between are wiped. */
export function keyAtPath(seed: Uint8Array, path: readonly number[]): ExtendedKey {
  let key = masterKeyOf(seed);
  for (const index of path) {
    const child = childKeyOf(key, index);
    wipeKey(key);
    key = child;
  }
  return key;
}

export function wipeKey({ seed, chainCode }: ExtendedKey): void {
  seed.fill(0);
  chainCode.fill(0);
}

function split(digest: Uint8Array): ExtendedKey {
  const key = {
    seed: Uint8Array.from(digest.subarray(0, KEY_LENGTH)),
    chainCode: Uint8Array.from(digest.subarray(KEY_LENGTH)),
  };
  digest.fill(0);
  return key;
}
