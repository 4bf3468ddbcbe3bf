/** JSON with exact integers: beyond 2^53 - 1 they are bigints, both ways. */

import { type JsonValue, parseCarefully } from '../../src/lib/json-careful.js';

/** A run of digits that a double may not hold. In hashes it is rare, and costs only time there. */
const LONG_NUMBER = /\d{16}/;

/** Throws when the text is not JSON. */
export function parseExact(text: string): JsonValue {
  return LONG_NUMBER.test(text) ? parseCarefully(text, true) : (JSON.parse(text) as JsonValue);
}

/** JSON text with bigints as bare digits; members that are undefined are left out. */
export function stringifyExact(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(stringifyExact).join(',')}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${stringifyExact(member)}`).join(',')}}`;
}
