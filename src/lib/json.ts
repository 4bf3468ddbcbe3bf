/**
 * JSON with exact integers: a bigint beyond 2^53 - 1. Parsing refuses what clients should never send (duplicate keys,
 * `__proto__` and `constructor` members, nesting beyond 64, bad UTF-8) and uses the built-in parser wherever that is
 * safe. Writing takes bigints, and maps as objects.
 */

import { readUtf8 } from './bytes.js';
import { isTesseraError, TesseraError } from './errors.js';
import {
  isForbiddenName,
  type JsonFault,
  type JsonValue,
  MAX_JSON_DEPTH,
  malformedJson,
  parseCarefully,
} from './json-careful.js';
import { shapeFault } from './json-scan.js';

export { type JsonValue, MAX_JSON_DEPTH } from './json-careful.js';

/** A number that the built-in parser may round to an integer: of 16 digits or more, with fraction or exponent, or -0. */
const INEXACT = /[:,[\s](?:-0|[-\d](?:\d{15}|\d*[.eE]))/;
/** Length in characters from which on texts are scanned first: shorter texts are cheap whatever they contain. */
const SCANNED_FROM = 4_096;

export interface ParseOptions {
  /** Allows members called `__proto__` or `constructor`: names of items become names of members in answers of a node. */
  readonly anyName?: boolean;
  /** Maximum number of different member names, for texts from strangers; unlimited by default. */
  readonly maxNames?: number;
}

/**
 * Parses a JSON text or its UTF-8 bytes. Integers beyond ±(2^53 - 1) become bigints. Throws `malformed_json` without
 * quoting the text. Time and memory are proportional to the length of the text.
 */
export function parseExactJson(
  input: string | Uint8Array,
  { anyName = false, maxNames }: ParseOptions = {},
): JsonValue {
  const text = typeof input === 'string' ? input : textOf(input);
  const fault = text.length > SCANNED_FROM ? shapeFault(text, { depth: MAX_JSON_DEPTH, names: maxNames }) : null;
  if (fault !== null) throw malformedJson(fault);
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch {
    // The built-in message quotes the text, which may hold a passphrase: ours says only where the error is.
    return parseCarefully(text, anyName);
  }
  if (typeof value !== 'object' || value === null) {
    return typeof value === 'number' ? parseCarefully(text, anyName) : value;
  }
  // Every member has one colon, and colons in strings only raise the count: if the counts are equal, no key is duplicated.
  const keys = countKeys(value, 1, anyName);
  const isSafe = keys >= 0 && keys === countColons(text) && !INEXACT.test(text);
  return isSafe ? value : parseCarefully(text, anyName);
}

function textOf(bytes: Uint8Array): string {
  const text = readUtf8(bytes, 0, bytes.length);
  if (text === undefined) throw malformedJson('it is not valid UTF-8');
  return text;
}

/** Number of members in the whole value, or minus infinity when the value needs the careful parser. */
function countKeys(value: JsonValue[] | { [key: string]: JsonValue }, depth: number, anyName: boolean): number {
  if (depth > MAX_JSON_DEPTH) return Number.NEGATIVE_INFINITY;
  let count = 0;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) count += countIn(value[i], depth, anyName);
    return count;
  }
  for (const key in value) {
    // The careful parser refuses a name that would change a prototype, with a clear message.
    if (!anyName && isForbiddenName(key)) return Number.NEGATIVE_INFINITY;
    count += 1 + countIn(value[key], depth, anyName);
  }
  return count;
}

function countIn(value: JsonValue | undefined, depth: number, anyName: boolean): number {
  return typeof value === 'object' && value !== null ? countKeys(value, depth + 1, anyName) : 0;
}

function countColons(text: string): number {
  let count = 0;
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) count++;
  return count;
}

/** Printable ASCII without quote and backslash needs no escaping; nearly every text here is that. */
const PLAIN = /^[ !#-[\]-~]*$/;

function stringJson(text: string): string {
  return text.length < 200 && PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Compact JSON: bigints as digits, a `Map` as an object in its order. Throws `internal_error` for other values. */
export function stringifyExact(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return stringJson(value);
    case 'number':
      return Number.isFinite(value) ? String(value) : 'null';
    case 'bigint':
      return value.toString();
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      return value === null ? 'null' : objectJson(value);
    default:
      throw new TesseraError('internal_error', `A value of type ${typeof value} has no JSON form.`);
  }
}

function objectJson(value: object): string {
  if (Array.isArray(value)) {
    let json = '[';
    for (let i = 0; i < value.length; i++) {
      if (i > 0) json += ',';
      json += value[i] === undefined ? 'null' : stringifyExact(value[i]);
    }
    return `${json}]`;
  }
  let json = '';
  if (value instanceof Map) {
    for (const [key, member] of value) json = withMember(json, String(key), member);
  } else {
    const members = value as { readonly [key: string]: unknown };
    // Making a pair for each member would take as long as writing the member.
    const keys = Object.keys(value);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] as string;
      json = withMember(json, key, members[key]);
    }
  }
  return `{${json}}`;
}

function withMember(json: string, key: string, member: unknown): string {
  if (member === undefined) return json;
  const comma = json === '' ? '' : ',';
  return `${json}${comma}${stringJson(key)}:${stringifyExact(member)}`;
}

/** JSON as of `stringifyExact`, but over several lines and indented by two, for people. */
export function prettyExact(value: unknown, margin = ''): string {
  if (typeof value !== 'object' || value === null) return stringifyExact(value);
  const inner = `${margin}  `;
  const lines = Array.isArray(value)
    ? value.map((item) => prettyExact(item ?? null, inner))
    : [...(value instanceof Map ? value : Object.entries(value))]
        .filter(([, member]) => member !== undefined)
        .map(([key, member]) => `${stringJson(String(key))}: ${prettyExact(member, inner)}`);
  const [first, last] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return lines.length === 0 ? `${first}${last}` : `${first}\n${inner}${lines.join(`,\n${inner}`)}\n${margin}${last}`;
}

/** Parses like `parseExactJson`; the message goes after the name of the file, and has line and column. */
export function parseJsonFile(input: string | Uint8Array, options?: ParseOptions): JsonValue {
  try {
    return parseExactJson(input, options);
  } catch (cause) {
    if (!isTesseraError(cause, 'malformed_json')) throw cause;
    // The parser throws nothing else under this code.
    const { reason, at } = cause.details as unknown as JsonFault;
    const place = at === undefined ? '' : ` (${placeIn(input, at)})`;
    throw new TesseraError('malformed_json', `it is not acceptable JSON: ${reason}${place}`, { cause });
  }
}

/** Line and column, from 1, as editors count. */
function placeIn(input: string | Uint8Array, at: number): string {
  const text = typeof input === 'string' ? input : new TextDecoder('utf-8', { ignoreBOM: true }).decode(input);
  const before = text.slice(0, at).split('\n');
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}
