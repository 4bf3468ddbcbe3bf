/** Reads members of parsed JSON. Nothing is coerced; a misfit throws `malformed_transaction` with its place. */

import { parseHex } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import { U64_MAX } from './constants.js';

/** A place in a JSON value, as a list from the leaf upwards: text only for an error. */
export interface Place {
  readonly up: Place | null;
  readonly key: string | number;
}

export type JsonObject = Readonly<Record<string, unknown>>;

const LONE_SURROGATE = /\p{Surrogate}/u;
const I32_MIN = -0x8000_0000;
const I32_MAX = 0x7fff_ffff;
const U32_MAX = 0xffff_ffff;
const I64_MIN = -0x8000_0000_0000_0000n;
const I64_MAX = 0x7fff_ffff_ffff_ffffn;
const BYTE_MAX = 0xff;

/** The place called `name` (may be empty) at which a value starts. */
export function rootPlace(name: string): Place {
  return { up: null, key: name };
}

/** The member `key` of the value at `place`. */
export function at(place: Place, key: string | number): Place {
  return { up: place, key };
}

/** Throws `malformed_transaction` for the member `key` of `place`. */
export function fail(place: Place, key: string | number | null, problem: string): never {
  const where = placeText(key === null ? place : at(place, key));
  throw new TesseraError('malformed_transaction', where === '' ? problem : `${where}: ${problem}`, {
    details: { path: where },
  });
}

export function readObject(value: unknown, place: Place): JsonObject {
  if (!isObject(value)) return fail(place, null, `must be an object, not ${kindOf(value)}`);
  return value;
}

export function readArray<T>(value: unknown, place: Place, read: (item: unknown, place: Place) => T): T[] {
  if (!Array.isArray(value)) return fail(place, null, `must be an array, not ${kindOf(value)}`);
  return value.map((item, index) => read(item, { up: place, key: index }));
}

export function readText(value: unknown, place: Place, key: string | number): string {
  if (typeof value !== 'string') return fail(place, key, `must be a string, not ${kindOf(value)}`);
  // Texts of the chain are UTF-8, which cannot express half a character.
  if (LONE_SURROGATE.test(value)) return fail(place, key, 'holds half of a surrogate pair');
  return value;
}

/** Reads a text that may be null; an absent member counts as null. */
export function readOptionalText(value: unknown, place: Place, key: string | number): string | null {
  return value === undefined || value === null ? null : readText(value, place, key);
}

/** Reads a whole number from 0 to 2^64-1: a number, where a double can hold it, else a bigint. */
export function readU64(value: unknown, place: Place, key: string | number): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0))
    return BigInt(value);
  if (typeof value === 'bigint' && value >= 0n && value <= U64_MAX) return value;
  return fail(place, key, `must be an integer from 0 to ${U64_MAX}, not ${kindOf(value)}`);
}

export function readI64(value: unknown, place: Place, key: string | number): bigint {
  const integer = typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof integer === 'bigint' && integer >= I64_MIN && integer <= I64_MAX) return integer;
  return fail(place, key, `must be an integer from ${I64_MIN} to ${I64_MAX}, not ${kindOf(value)}`);
}

export function readI32(value: unknown, place: Place, key: string | number): number {
  return readInteger(value, place, key, I32_MIN, I32_MAX);
}

export function readU32(value: unknown, place: Place, key: string | number): number {
  return readInteger(value, place, key, 0, U32_MAX);
}

/** Reads bytes, as an array of numbers or as hex; `length` of them, if given. `problem` is what an error says. */
export function readBytes(
  value: unknown,
  place: Place,
  key: string | number,
  length?: number,
  problem = 'is malformed',
): Uint8Array {
  if (typeof value === 'string') {
    const bytes = parseHex(value, length);
    if (bytes !== undefined) return bytes;
    return fail(place, key, `${problem}: must be ${length === undefined ? 'pairs of' : length * 2} hexadecimal digits`);
  }
  if (!Array.isArray(value))
    return fail(place, key, `${problem}: must be hex or an array of bytes, not ${kindOf(value)}`);
  if (length !== undefined && value.length !== length) return fail(place, key, `${problem}: must have ${length} bytes`);
  if (!value.every(isByte)) return fail(place, key, `${problem}: every byte must be an integer from 0 to ${BYTE_MAX}`);
  return Uint8Array.from(value);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Kind of a value, for error texts. Never shows the value itself, which may be long or secret. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer out of range' : 'a fraction';
  if (typeof value === 'bigint') return 'an integer out of range';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function readInteger(value: unknown, place: Place, key: string | number, min: number, max: number): number {
  const integer = typeof value === 'bigint' ? Number(value) : value;
  if (typeof integer === 'number' && Number.isInteger(integer) && integer >= min && integer <= max) return integer + 0;
  return fail(place, key, `must be an integer from ${min} to ${max}, not ${kindOf(value)}`);
}

function isByte(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= BYTE_MAX;
}

function placeText(place: Place | null): string {
  if (place === null) return '';
  const above = placeText(place.up);
  if (typeof place.key === 'number') return `${above}[${place.key}]`;
  return above === '' ? place.key : `${above}.${place.key}`;
}
