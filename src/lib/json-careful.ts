/**
 * A JSON parser (RFC 8259) that refuses what `JSON.parse` accepts: duplicate names, names that would change a prototype, deep nesting. Integers stay
 * exact. It is slower than the built-in parser, and used only where that is not safe.
 */

import { TesseraError } from './errors.js';

/** Result of the parsers. */
export type JsonValue = null | boolean | number | bigint | string | JsonValue[] | { [key: string]: JsonValue };

/** Depth to which arrays and objects may be nested. */
export const MAX_JSON_DEPTH = 64;

/** Fault of a text; `at` is the number of the character where it was found, from 0. */
export interface JsonFault {
  readonly reason: string;
  readonly at?: number;
}

/** `malformed_json` as the sender of a body is told, with the `JsonFault` in its details. */
export function malformedJson(reason: string, at?: number): TesseraError {
  const place = at === undefined ? '' : `, at character ${at}`;
  const details = { reason, ...(at === undefined ? {} : { at }) } satisfies JsonFault;
  return new TesseraError('malformed_json', `The body is not acceptable JSON: ${reason}${place}.`, { details });
}

/** True for names that would change a prototype. */
export function isForbiddenName(name: string): boolean {
  return name === '__proto__' || name === 'constructor';
}

/** Parses a JSON text. Throws `malformed_json` without quoting it. `anyName`: the forbidden names are allowed. */
export function parseCarefully(text: string, anyName: boolean): JsonValue {
  return new CarefulParser(text, anyName).parse();
}

/** Sets a member like an assignment, but `__proto__` becomes an own member too. */
function setMember(members: { [key: string]: JsonValue }, name: string, value: JsonValue): void {
  if (name !== '__proto__') members[name] = value;
  else Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const UPPER_E = 0x45;
const LOWER_E = 0x65;
const LOWER_F = 0x66;
const LOWER_N = 0x6e;
const LOWER_T = 0x74;

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
    switch (this.#text.charCodeAt(this.#at)) {
      case OPEN_OBJECT:
        return this.#object(depth + 1);
      case OPEN_ARRAY:
        return this.#array(depth + 1);
      case QUOTE:
        return this.#string();
      case LOWER_T:
        return this.#word('true', true);
      case LOWER_F:
        return this.#word('false', false);
      case LOWER_N:
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  #object(depth: number): JsonValue {
    this.#enter(depth);
    const members: { [key: string]: JsonValue } = {};
    if (this.#closes(CLOSE_OBJECT)) return members;
    do {
      this.#skipBlank();
      if (this.#text.charCodeAt(this.#at) !== QUOTE) throw this.#unexpected('where a member name should be');
      const start = this.#at;
      const key = this.#string();
      if (!this.#anyName && isForbiddenName(key)) throw malformedJson('a member has a forbidden name', start);
      if (Object.hasOwn(members, key)) throw malformedJson('a member name occurs twice in one object', start);
      this.#expect(COLON);
      setMember(members, key, this.#value(depth));
    } while (this.#continues(CLOSE_OBJECT));
    return members;
  }

  #array(depth: number): JsonValue {
    this.#enter(depth);
    const items: JsonValue[] = [];
    if (this.#closes(CLOSE_ARRAY)) return items;
    do items.push(this.#value(depth));
    while (this.#continues(CLOSE_ARRAY));
    return items;
  }

  #enter(depth: number): void {
    if (depth > MAX_JSON_DEPTH) throw malformedJson(`it is nested deeper than ${MAX_JSON_DEPTH} levels`, this.#at);
    this.#at++;
  }

  /** Consumes the bracket if it follows; true when it does. */
  #closes(bracket: number): boolean {
    this.#skipBlank();
    if (this.#text.charCodeAt(this.#at) !== bracket) return false;
    this.#at++;
    return true;
  }

  /** True after a comma, false after the closing bracket. */
  #continues(bracket: number): boolean {
    if (this.#closes(bracket)) return false;
    this.#expect(COMMA);
    return true;
  }

  #expect(char: number): void {
    this.#skipBlank();
    if (this.#text.charCodeAt(this.#at) !== char) {
      throw this.#unexpected(`where "${String.fromCharCode(char)}" should be`);
    }
    this.#at++;
  }

  #string(): string {
    const start = this.#at;
    let isPlain = true;
    let end = start + 1;
    for (; ; end++) {
      const char = this.#text.charCodeAt(end);
      if (char === QUOTE) break;
      if (Number.isNaN(char)) throw malformedJson('a string has no end', start);
      if (char >= SPACE && char !== BACKSLASH) continue;
      isPlain = false;
      if (char === BACKSLASH) end++;
    }
    this.#at = end + 1;
    if (isPlain) return this.#text.slice(start + 1, end);
    try {
      return JSON.parse(this.#text.slice(start, end + 1));
    } catch {
      throw malformedJson('a string has a bad escape or a control character', start);
    }
  }

  #word(word: string, value: JsonValue): JsonValue {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected('where a value should be');
    this.#at += word.length;
    return value;
  }

  #number(): JsonValue {
    const start = this.#at;
    let at = start;
    if (this.#text.charCodeAt(at) === MINUS) at++;
    const firstDigit = at;
    at = this.#afterDigits(at);
    // A leading zero is the whole integer: a digit after it is unexpected.
    if (at > firstDigit && this.#text.charCodeAt(firstDigit) === ZERO) at = firstDigit + 1;
    if (at === firstDigit) throw this.#unexpected('where a value should be');
    const integerEnd = at;
    at = this.#afterExponent(this.#afterFraction(at));
    this.#at = at;
    const literal = this.#text.slice(start, at);
    const value = Number(literal);
    if (!Number.isFinite(value)) throw malformedJson('a number is out of range', start);
    if (Number.isInteger(value) && (at > integerEnd || Object.is(value, -0))) {
      throw malformedJson('a whole number must be written in digits alone', start);
    }
    return at === integerEnd && !Number.isSafeInteger(value) ? BigInt(literal) : value;
  }

  /** The position after `.` and its digits; the given one if there are none. */
  #afterFraction(at: number): number {
    if (this.#text.charCodeAt(at) !== POINT) return at;
    const end = this.#afterDigits(at + 1);
    return end === at + 1 ? at : end;
  }

  /** The position after `e`, its sign and its digits; the given one if there are none. */
  #afterExponent(at: number): number {
    const mark = this.#text.charCodeAt(at);
    if (mark !== LOWER_E && mark !== UPPER_E) return at;
    const sign = this.#text.charCodeAt(at + 1);
    const digits = sign === PLUS || sign === MINUS ? at + 2 : at + 1;
    const end = this.#afterDigits(digits);
    return end === digits ? at : end;
  }

  #afterDigits(from: number): number {
    let at = from;
    for (;;) {
      const char = this.#text.charCodeAt(at);
      if (!(char >= ZERO && char <= NINE)) return at;
      at++;
    }
  }

  #skipBlank(): void {
    for (;;) {
      const char = this.#text.charCodeAt(this.#at);
      if (char !== SPACE && char !== LINE_FEED && char !== CARRIAGE_RETURN && char !== TAB) return;
      this.#at++;
    }
  }

  #unexpected(where: string): TesseraError {
    if (this.#at >= this.#text.length) return malformedJson('it ends too early', this.#at);
    return malformedJson(`unexpected character ${where}`, this.#at);
  }
}
