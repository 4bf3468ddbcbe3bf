/**
 * JSON with exact integers. Parsing gives a bigint for an integer beyond 2^53 - 1 and a number otherwise, refuses what
 * clients should never send (duplicate keys, `__proto__` and `constructor` members, nesting beyond 64, bad UTF-8) and
 * takes the built-in parser wherever that is safe. Writing takes bigints, and maps as objects whose members keep the
 * order of the map.
 */

import { isUtf8 } from 'node:buffer';
import { asBuffer } from './bytes.js';
import { TesseraError } from './errors.js';

/** Levels of arrays and objects that a text may have. */
export const MAX_JSON_DEPTH = 64;

/** What the parser gives. */
export type JsonValue = null | boolean | number | bigint | string | JsonValue[] | { [key: string]: JsonValue };

/** From here on an integer literal has 16 digits or more and may not fit a double. */
const INEXACT_FROM = 1e15;

/**
 * The value of a JSON text, given as text or as UTF-8 bytes. Integers beyond ±(2^53 - 1) become bigints. Throws
 * `malformed_json` with the reason; the message never holds a part of the text.
 *
 * Members called `__proto__` or `constructor` are refused, because a request has no use for them. With `anyName` they are
 * data like others: in the answers of a node, names of items are names of members.
 */
export function parseExactJson(input: string | Uint8Array, { anyName = false } = {}): JsonValue {
  const text = typeof input === 'string' ? input : textOf(input);
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch {
    // The built-in message quotes the text, which may hold a passphrase: ours says the place only.
    return parseSlowly(text, anyName);
  }
  if (typeof value !== 'object' || value === null) {
    return typeof value === 'number' && isInexact(value) ? parseSlowly(text, anyName) : value;
  }
  // Every member has one colon; colons in strings only make the count larger. So equal counts mean no key came twice.
  const keys = countKeys(value, 1, anyName);
  return keys < 0 || keys !== countColons(text) ? parseSlowly(text, anyName) : value;
}

function textOf(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw malformed('it is not valid UTF-8');
  return asBuffer(bytes).toString('utf8');
}

function malformed(reason: string): TesseraError {
  return new TesseraError('malformed_json', `The body is not acceptable JSON: ${reason}.`);
}

function isInexact(value: number): boolean {
  return value >= INEXACT_FROM || value <= -INEXACT_FROM;
}

/** Number of members in the whole value, or a very negative number when it needs the careful parser. */
function countKeys(value: JsonValue[] | { [key: string]: JsonValue }, depth: number, anyName: boolean): number {
  if (depth > MAX_JSON_DEPTH) return Number.NEGATIVE_INFINITY;
  let count = 0;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) count += countIn(value[i], depth, anyName);
    return count;
  }
  for (const key in value) {
    // A name that would change a prototype is refused with a clear message by the careful parser.
    if (!anyName && isForbidden(key)) return Number.NEGATIVE_INFINITY;
    count += 1 + countIn(value[key], depth, anyName);
  }
  return count;
}

function isForbidden(name: string): boolean {
  return name === '__proto__' || name === 'constructor';
}

function countIn(value: JsonValue | undefined, depth: number, anyName: boolean): number {
  if (typeof value === 'object' && value !== null) return countKeys(value, depth + 1, anyName);
  return typeof value === 'number' && isInexact(value) ? Number.NEGATIVE_INFINITY : 0;
}

function countColons(text: string): number {
  let count = 0;
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) count++;
  return count;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const BLANK = /[ \t\n\r]*/y;

function parseSlowly(text: string, anyName: boolean): JsonValue {
  return new CarefulParser(text, anyName).parse();
}

/** As an assignment, but `__proto__` becomes a member too. */
function setMember(members: { [key: string]: JsonValue }, name: string, value: JsonValue): void {
  if (name !== '__proto__') members[name] = value;
  else Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
}

/** RFC 8259 by recursive descent, with everything checked that `JSON.parse` lets pass. */
class CarefulParser {
  readonly #text: string;
  readonly #anyName: boolean;
  #at = 0;

  constructor(text: string, anyName: boolean) {
    this.#text = text;
    this.#anyName = anyName;
  }

  parse(): JsonValue {
    const value = this.#value(0);
    this.#skipBlank();
    if (this.#at < this.#text.length) throw this.#unexpected('after the end of the value');
    return value;
  }

  #value(depth: number): JsonValue {
    this.#skipBlank();
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth + 1);
      case '[':
        return this.#array(depth + 1);
      case '"':
        return this.#string();
      case 't':
        return this.#word('true', true);
      case 'f':
        return this.#word('false', false);
      case 'n':
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  #object(depth: number): JsonValue {
    this.#enter(depth);
    const members: { [key: string]: JsonValue } = {};
    if (this.#closes('}')) return members;
    do {
      this.#skipBlank();
      if (this.#text.charCodeAt(this.#at) !== QUOTE) throw this.#unexpected('where a member name should be');
      const key = this.#string();
      if (!this.#anyName && isForbidden(key)) throw malformed('a member has a forbidden name');
      if (Object.hasOwn(members, key)) throw malformed('a member name occurs twice in one object');
      this.#expect(':');
      setMember(members, key, this.#value(depth));
    } while (this.#continues('}'));
    return members;
  }

  #array(depth: number): JsonValue {
    this.#enter(depth);
    const items: JsonValue[] = [];
    if (this.#closes(']')) return items;
    do items.push(this.#value(depth));
    while (this.#continues(']'));
    return items;
  }

  #enter(depth: number): void {
    if (depth > MAX_JSON_DEPTH) throw malformed(`it is nested deeper than ${MAX_JSON_DEPTH} levels`);
    this.#at++;
  }

  /** True, and past it, when the bracket follows. */
  #closes(bracket: string): boolean {
    this.#skipBlank();
    if (this.#text[this.#at] !== bracket) return false;
    this.#at++;
    return true;
  }

  /** True after a comma, false after the closing bracket. */
  #continues(bracket: string): boolean {
    if (this.#closes(bracket)) return false;
    this.#expect(',');
    return true;
  }

  #expect(char: string): void {
    this.#skipBlank();
    if (this.#text[this.#at] !== char) throw this.#unexpected(`where "${char}" should be`);
    this.#at++;
  }

  #string(): string {
    const start = this.#at;
    let end = this.#text.indexOf('"', start + 1);
    while (end !== -1 && this.#isEscaped(end, start)) end = this.#text.indexOf('"', end + 1);
    if (end === -1) throw malformed('a string has no end');
    this.#at = end + 1;
    try {
      return JSON.parse(this.#text.slice(start, end + 1));
    } catch {
      throw malformed(`the string at character ${start} has a bad escape or a control character`);
    }
  }

  #isEscaped(quote: number, start: number): boolean {
    let backslashes = 0;
    for (let i = quote - 1; i > start && this.#text.charCodeAt(i) === BACKSLASH; i--) backslashes++;
    return backslashes % 2 === 1;
  }

  #word(word: string, value: JsonValue): JsonValue {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected('where a value should be');
    this.#at += word.length;
    return value;
  }

  #number(): JsonValue {
    NUMBER.lastIndex = this.#at;
    const found = NUMBER.exec(this.#text);
    if (found === null) throw this.#unexpected('where a value should be');
    this.#at = NUMBER.lastIndex;
    const value = Number(found[0]);
    if (!Number.isFinite(value)) throw malformed('a number is out of range');
    const isInteger = found[1] === undefined && found[2] === undefined;
    return isInteger && !Number.isSafeInteger(value) ? BigInt(found[0]) : value;
  }

  #skipBlank(): void {
    BLANK.lastIndex = this.#at;
    BLANK.test(this.#text);
    this.#at = BLANK.lastIndex;
  }

  #unexpected(where: string): TesseraError {
    if (this.#at >= this.#text.length) return malformed('it ends too early');
    return malformed(`unexpected character ${where}, at character ${this.#at}`);
  }
}

/** Printable ASCII without quote and backslash is its own JSON; nearly every text here is. */
const PLAIN = /^[ !#-[\]-~]*$/;

function stringJson(text: string): string {
  return text.length < 200 && PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/**
 * Compact JSON. As `JSON.stringify`, but bigints are written as bare digits and a `Map` as an object in the order of the
 * map. Members that are undefined are left out. Throws `internal_error` on what JSON cannot hold.
 */
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
    for (const [key, member] of Object.entries(value)) json = withMember(json, key, member);
  }
  return `{${json}}`;
}

function withMember(json: string, key: string, member: unknown): string {
  if (member === undefined) return json;
  const comma = json === '' ? '' : ',';
  return `${json}${comma}${stringJson(key)}:${stringifyExact(member)}`;
}

/** As `stringifyExact`, over several lines and indented by two, for people. */
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
