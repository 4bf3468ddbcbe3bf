/**
 * Parts of database keys: a prefix byte for the kind of record, fixed-width big-endian numbers, then at most one text,
 * so that byte order is the order of the numbers.
 */

import { asBuffer } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import type { KvRange } from './kv.js';

const U64_LENGTH = 8;
const U32_LENGTH = 4;
const U32_RANGE = 0x1_0000_0000;

/** The key of a single record: its prefix, one ASCII character. */
export function prefixKey(prefix: string): Uint8Array {
  return Buffer.from(prefix, 'latin1');
}

/** The key `prefix ‖ text` (UTF-8). */
export function textKey(prefix: string, text: string): Uint8Array {
  return Buffer.from(prefix + text, 'utf8');
}

/** The key `prefix ‖ u64 big-endian`; `value` is a safe integer that is not negative. */
export function u64Key(prefix: string, value: number): Uint8Array {
  const key = Buffer.allocUnsafe(1 + U64_LENGTH);
  key[0] = prefix.charCodeAt(0);
  writeU64(key, value, 1);
  return key;
}

/** The key `prefix ‖ u64 big-endian ‖ u32 big-endian`. */
export function u64u32Key(prefix: string, first: number, second: number): Uint8Array {
  const key = Buffer.allocUnsafe(1 + U64_LENGTH + U32_LENGTH);
  key[0] = prefix.charCodeAt(0);
  writeU64(key, first, 1);
  key.writeUInt32BE(second, 1 + U64_LENGTH);
  return key;
}

/** The number at `offset` of a key. Throws `data_corrupt` when it is cut off or not a safe integer. */
export function readU64(key: Uint8Array, offset: number): number {
  const buffer = asBuffer(key);
  if (buffer.length < offset + U64_LENGTH) throw new TesseraError('data_corrupt', 'a number in the database is cut');
  const value = buffer.readUInt32BE(offset) * U32_RANGE + buffer.readUInt32BE(offset + U32_LENGTH);
  if (!Number.isSafeInteger(value)) throw new TesseraError('data_corrupt', 'a number in the database is out of range');
  return value;
}

/** A number as a value: 8 bytes, big-endian. */
export function encodeU64(value: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(U64_LENGTH);
  writeU64(bytes, value, 0);
  return bytes;
}

/** The range of all keys that begin with `prefix` (one ASCII character). */
export function prefixRange(prefix: string): KvRange {
  return { gte: prefixKey(prefix), lt: Buffer.from([prefix.charCodeAt(0) + 1]) };
}

function writeU64(to: Buffer, value: number, offset: number): void {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new TesseraError('internal_error', `${value} cannot be part of a database key`);
  }
  to.writeUInt32BE(Math.floor(value / U32_RANGE), offset);
  to.writeUInt32BE(value % U32_RANGE, offset + U32_LENGTH);
}
