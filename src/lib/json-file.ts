/** The JSON of a file that people write and look into: what is wrong with it is told by its place there. */

import { isTesseraError, TesseraError } from './errors.js';
import { type ParseOptions, parseExactJson } from './json.js';
import type { JsonFault, JsonValue } from './json-careful.js';

/** As `parseExactJson`; the message goes after the name of the file, and has line and column. */
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

/** Both from 1, as editors count. */
function placeIn(input: string | Uint8Array, at: number): string {
  const text = typeof input === 'string' ? input : new TextDecoder('utf-8', { ignoreBOM: true }).decode(input);
  const before = text.slice(0, at).split('\n');
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}
