/** The Host header: its form, and the names under which a node without API keys answers. */

import type { IncomingMessage } from 'node:http';
import { TesseraError } from '../../lib/errors.js';
import { type AllowedOrigins, isStrangeHost } from './web-pages.js';

/** Form of the Host header by RFC 9112 (3.2). */
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/;
const HOST_NAME = 'host';

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
    if (name?.length === HOST_NAME.length && name.toLowerCase() === HOST_NAME) count++;
  }
  if (count > 1) throw invalid('Send one Host header only.');
}

function invalid(message: string): TesseraError {
  return new TesseraError('invalid_request', message);
}

/**
 * The names under which a node that asks for no key answers at all, on routes that never need a key: not one that a
 * stranger may have pointed at it (DNS rebinding), whose page would read the answer. On the other routes `ApiKeys` asks
 * for a key in that case.
 */
export class OwnNames {
  readonly #cors: AllowedOrigins;
  /** The last that passed: a client sends the same again and again, and to read one takes as long as all other checks. */
  #known: string | undefined;

  constructor(cors: AllowedOrigins) {
    this.#cors = cors;
  }

  check(host: string | undefined): void {
    if (host === undefined || host === this.#known) return;
    if (isStrangeHost(host, this.#cors)) {
      throw new TesseraError(
        'unknown_host',
        'This node asks for no API key, so it answers to addresses and to names of its own only: list the name that is in the Host ' +
          'header in api.cors, as https://NAME.',
      );
    }
    this.#known = host;
  }
}
