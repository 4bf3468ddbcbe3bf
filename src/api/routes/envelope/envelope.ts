/** The envelope that wraps every answer of the older routes, and their header `x-cache-id` (decisions E1, E2, E4, E7). */

import { STATUS_CODES } from 'node:http';
import { TesseraError } from '../../../lib/errors.js';
import { stringifyExact } from '../../../lib/json.js';
import { envelopeStatusOf } from '../../http/problem.js';

/** Pattern of a cache id. It is not hexadecimal: a real client sends base 36 (decision E2). */
const CACHE_ID = /^[a-z0-9]{32}$/;

/** A success, with its members in the order of the existing network. */
export function successEnvelope(
  id: string,
  reason: string,
  route: string,
  content: unknown,
  status: 'Success' | 'InProgress' = 'Success',
) {
  return { id, status, reason, route, content };
}

/** An error, with null for id, route and content. Given the `call`, the error of the original node, which names the call (decision E10). */
export function errorEnvelope(error: TesseraError, call?: { readonly id: string; readonly route: string }) {
  const status = envelopeStatusOf(error.code, call !== undefined);
  const named = call === undefined ? { id: null, route: null, content: null } : { ...call, content: 'null' };
  const reason = `${STATUS_CODES[status] ?? 'Error'}: ${error.message}`;
  const { id, route, content } = named;
  return { status, json: stringifyExact({ id, status: 'Error', reason, route, content }) };
}

/** The id of a request, '' when it has none. Throws `invalid_request` when it is malformed, or missing and required. */
export function cacheIdOf(header: string | string[] | undefined, required: boolean): string {
  if (header === undefined) {
    if (!required) return '';
    throw new TesseraError('invalid_request', 'the header x-cache-id is required.');
  }
  if (typeof header !== 'string' || !CACHE_ID.test(header)) {
    throw new TesseraError('invalid_request', 'x-cache-id must be 32 characters of a-z and 0-9.');
  }
  return header;
}
