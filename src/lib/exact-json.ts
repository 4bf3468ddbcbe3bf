/**
 * JSON without loss: integers that a double cannot hold are read as `bigint` and written as bare digits. Everything else
 * is what `JSON.parse` and `JSON.stringify` make of it.
 */

import { errorMessage, TesseraError } from './errors.js';

/** Nesting that the exact reader follows. */
const MAX_DEPTH = 200;
// Only a text with a run of 16 digits can hold an integer beyond 2^53; all others take the fast path.
const MAY_BE_LARGE = /\d{16}/;
const INTEGER = /^-?\d+$/;
// One token and the separators before it. The text is known to be valid JSON when this runs.
const TOKEN = /[\s,:]*("[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|true|false|null|[[\]{}])/y;

/** Reads JSON text; integers outside the safe range become bigints. Throws `malformed_json`. */
export function parseExactJson(text: string): unknown {
  let plain: unknown;
  try {
    plain = JSON.parse(text);
  } catch (cause) {
    throw new TesseraError('malformed_json', errorMessage(cause), { cause });
  }
  return MAY_BE_LARGE.test(text) ? new ExactReader(text).read() : plain;
}

/** Writes compact JSON; bigints become bare digits. Members that are undefined are left out, as by `JSON.stringify`. */
export function stringifyExactJson(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return `[${value.map(stringifyExactJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${stringifyExactJson(member)}`).join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

class ExactReader {
  readonly #tokens = new RegExp(TOKEN);
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  read(): unknown {
    return this.#value(this.#next(), 0);
  }

  #next(): string {
    return this.#tokens.exec(this.#text)?.[1] ?? '';
  }

  #value(token: string, depth: number): unknown {
    if (depth > MAX_DEPTH) throw new TesseraError('malformed_json', `nested deeper than ${MAX_DEPTH}`);
    if (token === '{') return this.#object(depth);
    if (token === '[') return this.#array(depth);
    if (!INTEGER.test(token)) return JSON.parse(token);
    const number = Number(token);
    return Number.isSafeInteger(number) ? number : BigInt(token);
  }

  #array(depth: number): unknown[] {
    const items: unknown[] = [];
    for (let token = this.#next(); token !== ']'; token = this.#next()) items.push(this.#value(token, depth + 1));
    return items;
  }

  #object(depth: number): Record<string, unknown> {
    const members: [string, unknown][] = [];
    for (let token = this.#next(); token !== '}'; token = this.#next()) {
      members.push([String(JSON.parse(token)), this.#value(this.#next(), depth + 1)]);
    }
    // fromEntries defines members, so one named __proto__ is a member like any other.
    return Object.fromEntries(members);
  }
}
