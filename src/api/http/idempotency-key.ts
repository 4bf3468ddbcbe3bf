/** The header `Idempotency-Key` (decision H11, draft-ietf-httpapi-idempotency-key-header), with or without the quotes of the draft. */

import type { FastifyRequest } from 'fastify';
import { TesseraError } from '../../lib/errors.js';

const IDEMPOTENCY_KEY = 'idempotency-key';

/** Characters of a key. */
export const MAX_IDEMPOTENCY_KEY = 255;
const KEY = /^[\x20-\x7e]{1,255}$/;
/** A string of structured fields (RFC 9651, 3.3.3). */
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;

/** The key of a request; undefined when it has none. Throws `invalid_request`. */
export function idempotencyKeyOf({ headers, raw }: FastifyRequest): string | undefined {
  const value = headers[IDEMPOTENCY_KEY];
  if (value === undefined) return undefined;
  const count = raw.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === IDEMPOTENCY_KEY).length;
  if (typeof value !== 'string' || count > 1) throw invalid('there must be one of them');
  const key = value.startsWith('"') ? QUOTED.exec(value)?.[1]?.replaceAll(/\\(.)/g, '$1') : value;
  if (key === undefined || !KEY.test(key)) {
    throw invalid(`it must be 1 to ${MAX_IDEMPOTENCY_KEY} printable characters of ASCII, such as a UUID`);
  }
  return key;
}

function invalid(why: string): TesseraError {
  return new TesseraError('invalid_request', `Idempotency-Key: ${why}.`);
}
