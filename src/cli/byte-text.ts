/** Bytes that the API shows as lists of numbers, for people: as hex. */

import { toHex } from '../lib/bytes.js';

/** The members of the chain that hold bytes; a pair may have them in its first place. */
const MEMBERS: ReadonlySet<string> = new Set([
  'nonce',
  'nonce_and_mining_tx_hash',
  'difficulty',
  'seed_value',
  'Signature',
  'PubKey',
  'Bytes',
]);

/** The same value with a text of hex for each list of bytes. */
export function hexForBytes(value: unknown, isBytes = false): unknown {
  if (Array.isArray(value)) {
    if (isBytes && value.every(isByte)) return toHex(Uint8Array.from(value));
    return value.map((member, i) => hexForBytes(member, isBytes && i === 0));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, hexForBytes(member, MEMBERS.has(name))]),
  );
}

function isByte(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xff;
}
