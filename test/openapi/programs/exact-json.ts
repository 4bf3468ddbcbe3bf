/**
 * JSON with exact integers, for clients made by a generator: `JSON.parse` rounds what is beyond 2^53 - 1, and amounts are.
 * docs/openapi.md quotes this file.
 */

/** The tokens of JSON that matter: texts, which are left alone, and numbers. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;
/** Begins a text that was a number. No member of an answer does. */
const MARK = '\u0000';

const isInexact = (token: string): boolean => /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));

/** The JSON with large integers in quotes, for readers that do `BigInt(value)` themselves. */
export function quoteLargeIntegers(json: string, mark = ''): string {
  return json.replace(TOKENS, (token) => (isInexact(token) ? JSON.stringify(mark + token) : token));
}

/** As `JSON.parse`; integers beyond 2^53 - 1 become bigints. */
export function parseExact(json: string): unknown {
  return JSON.parse(quoteLargeIntegers(json, MARK), (_, value) =>
    typeof value === 'string' && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value,
  );
}

/** As `JSON.stringify`; bigints become numbers. */
export function stringifyExact(value: unknown): string {
  const json = JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? `${MARK}${one}` : one));
  return json.replace(/"\\u0000(-?\d+)"/g, '$1');
}
