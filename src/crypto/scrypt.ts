/** Derives keys from passphrases with scrypt (RFC 7914), on libuv's thread pool: one key takes a quarter of a second. */

import { scrypt } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import { toHex, utf8 } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';

const KEY_LENGTH = 32;
export const SALT_LENGTH = 32;

export interface ScryptCost {
  /** CPU and memory cost: a power of two. */
  readonly n: number;
  /** Block size. The memory in bytes is 128 * n * r. */
  readonly r: number;
  readonly p: number;
}

export const ScryptParameters = Type.Object({
  name: Type.Literal('scrypt'),
  n: Type.Integer(),
  r: Type.Integer(),
  p: Type.Integer(),
  salt: Type.String({ pattern: '^([0-9a-f]{2})+$', maxLength: 1_024 }),
});
export type ScryptParameters = Static<typeof ScryptParameters>;

export function scryptParameters({ n, r, p }: ScryptCost, salt: Uint8Array): ScryptParameters {
  return { name: 'scrypt', n, r, p, salt: toHex(salt) };
}

/** Cost for new keys: 128 MiB and about 240 ms of one core. */
export const DEFAULT_SCRYPT_COST: ScryptCost = { n: 2 ** 17, r: 8, p: 1 };

/** Cost for a blank passphrase, which anybody tries first, whatever it costs. */
export const BLANK_SCRYPT_COST: ScryptCost = { n: 2 ** 10, r: 8, p: 1 };

/** Limits for stored parameters, so that a damaged or planted file cannot exhaust the machine's memory. */
const MAX_N = 2 ** 20;
const MAX_R = 16;
const MAX_P = 16;
/** Limit for n and r together, which determine the memory: 512 MiB. */
const MAX_MEMORY_COST = 2 ** 22;
/** Limit for n, r and p together, which determine the time: sixteen times that of a new wallet, some seconds. */
const MAX_WORK = 2 ** 24;

/** True when scrypt accepts the cost and it is within this node's limits. */
export function isScryptCost({ n, r, p }: ScryptCost): boolean {
  const powerOfTwo = Number.isInteger(n) && n >= 2 && n <= MAX_N && Number.isInteger(Math.log2(n));
  const blocks = Number.isInteger(r) && r >= 1 && r <= MAX_R && Number.isInteger(p) && p >= 1 && p <= MAX_P;
  return powerOfTwo && blocks && n * r <= MAX_MEMORY_COST && n * r * p <= MAX_WORK;
}

/** The 32-byte key of a passphrase, normalized to NFKC so that systems agree. Throws `invalid_request` for a cost out of bounds. */
export function deriveKey(passphrase: string, salt: Uint8Array, cost: ScryptCost): Promise<Buffer> {
  if (!isScryptCost(cost)) throw new TesseraError('invalid_request', 'the scrypt parameters are out of bounds');
  const { n, r, p } = cost;
  // Node refuses to use more than maxmem: the vector, p blocks, and some room for OpenSSL's own accounting.
  const maxmem = 128 * n * r + 128 * r * p + 1024 * 1024;
  return new Promise((resolve, reject) => {
    scrypt(passphraseBytes(passphrase), salt, KEY_LENGTH, { N: n, r, p, maxmem }, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

export function passphraseBytes(passphrase: string): Uint8Array {
  return utf8(passphrase.normalize('NFKC'));
}
