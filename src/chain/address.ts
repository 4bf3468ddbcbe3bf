/** Addresses (docs/chain.md#addresses): three forms made from a public key, one made from a script; none has a checksum. */

import { sha3Bytes, sha3Hex } from '../crypto/sha3.js';
import { concatBytes, fromHex, toBase64, toHex, utf8Length } from '../lib/bytes.js';
import { viewScript } from './codec.js';
import {
  ADDRESS_VERSION_TEMP,
  ADDRESS_VERSION_V0,
  P2SH_PREFIX,
  STANDARD_ADDRESS_LENGTH,
  V0_ADDRESS_LENGTH,
} from './constants.js';
import { OP } from './script/opcodes.js';
import type { AddressVersion, Script } from './types.js';

// Prefix of a key in its bincode form, which is hashed: the length 32 in 8 bytes, little-endian, before the bytes.
const V0_KEY_PREFIX = fromHex('2000000000000000');

/** Addresses of keys and scripts. The chain takes any text (docs/chain.md#addresses); a typing error would burn money. */
const PAYABLE_ADDRESS = /^(?:[0-9a-f]{64}|[0-9a-f]{32}|H[0-9a-f]{63})$/;

/** The script that nobody can satisfy. */
const BURN_SCRIPT: Script = [{ kind: 'op', op: OP.BURN }];

/** The address of a public key (32 bytes) in the given version. */
export function addressOf(publicKey: Uint8Array, version: AddressVersion = null): string {
  if (version === ADDRESS_VERSION_V0)
    return toHex(sha3Bytes(concatBytes(V0_KEY_PREFIX, publicKey))).slice(0, V0_ADDRESS_LENGTH);
  if (version === ADDRESS_VERSION_TEMP) return sha3Hex(decodeBase64AsHex(toBase64(publicKey)));
  return sha3Hex(publicKey);
}

/** The version that a selector means: 0 and 99999 mean themselves, every other number the current form. */
export function addressVersionOf(selector: number | bigint | null): AddressVersion {
  const value = Number(selector);
  if (selector !== null && value === ADDRESS_VERSION_V0) return ADDRESS_VERSION_V0;
  return value === ADDRESS_VERSION_TEMP ? ADDRESS_VERSION_TEMP : null;
}

/** The address of a script: `H` and 63 hex digits of the hash of its encoding. */
export function p2shAddress(script: Script): string {
  return P2SH_PREFIX + sha3Hex(viewScript(script)).slice(0, STANDARD_ADDRESS_LENGTH - P2SH_PREFIX.length);
}

/** The address whose outputs can never be spent: that of the script `OP_BURN`. */
export const BURN_ADDRESS: string = p2shAddress(BURN_SCRIPT);

/** True for an address that can belong to a key or script. */
export function isPayableAddress(address: string): boolean {
  return PAYABLE_ADDRESS.test(address);
}

/** True when the address has 32 or 64 UTF-8 bytes, the chain's only rule for it (docs/chain.md#conservation). */
export function hasValidAddressLength(address: string): boolean {
  // A UTF-16 unit has one to three bytes, so texts of more than 64 or fewer than 11 units need no counting.
  if (address.length > STANDARD_ADDRESS_LENGTH) return false;
  const bytes = utf8Length(address);
  return bytes === V0_ADDRESS_LENGTH || bytes === STANDARD_ADDRESS_LENGTH;
}

/** Reads any text as hex (temporary addresses): a pair gives both its digits, else its first digit alone, else zero. */
function decodeBase64AsHex(text: string): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(text.length / 2));
  for (let i = 0; i < text.length; i += 2) {
    const first = hexDigit(text.charCodeAt(i));
    const second = hexDigit(text.charCodeAt(i + 1));
    const signed = text[i] === '+' && second !== undefined;
    if (signed) bytes[i / 2] = second;
    else if (first === undefined) bytes[i / 2] = 0;
    else bytes[i / 2] = second === undefined ? first : first * 16 + second;
  }
  return bytes;
}

function hexDigit(code: number): number | undefined {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : undefined;
}

const NAMED = 3;

/** The warning about addresses of version 99999, which two keys can share; undefined when there are none. */
export function temporaryAddressWarning(addresses: readonly string[] = []): string | undefined {
  if (addresses.length === 0) return undefined;
  const more = addresses.length > NAMED ? ` and ${addresses.length - NAMED} more` : '';
  return (
    `${addresses.slice(0, NAMED).join(', ')}${more}: other keys have the same address of version 99999, and anyone who finds one can spend ` +
    'its coins. Move them away (tessera wallet sweep), and give the address to nobody'
  );
}

/** The names that a text may stand for: the text, and its lower-case form with the `H` of a script's address kept. */
export function nameForms(text: string): readonly string[] {
  const small = text.toLowerCase();
  return [...new Set([text, /^[bgh]?[0-9a-f]+$/.test(small) ? small.replace(/^h/, 'H') : text])];
}
