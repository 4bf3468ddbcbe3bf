/** The Host header as RFC 9112 (3.2) has it: one, in every request of HTTP/1.1, with nothing in it that no host has. */

import type { IncomingMessage } from 'node:http';
import { TesseraError } from '../../lib/errors.js';

const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/;
const NAME = 'host';

/**
 * Throws `invalid_request` for a request that a proxy may understand to be for another host than this node does. Node itself
 * refuses only one without Host, with an answer that has no body, and reads the first of two.
 */
export function checkHostHeader({ headers, rawHeaders, httpVersionMinor }: IncomingMessage): void {
  const { host } = headers;
  if (host === undefined) {
    if (httpVersionMinor === 0) return;
    throw invalid('Send a Host header, as every request of HTTP/1.1 has.');
  }
  if (!HOST.test(host)) throw invalid('The Host header holds no host.');
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === NAME.length && name.toLowerCase() === NAME) count++;
  }
  if (count > 1) throw invalid('Send one Host header only.');
}

function invalid(message: string): TesseraError {
  return new TesseraError('invalid_request', message);
}
