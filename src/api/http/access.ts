/** Checks API keys on routes that need one (decision H3), before the body is read, and counts wrong ones. */

import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Clock } from '../../lib/clock.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import type { Operation } from '../operation.js';
import type { ApiKeys, Caller } from './api-key.js';
import { clientAddress } from './client-address.js';
import { KeyGuesses } from './key-guesses.js';
import { type AllowedOrigins, isStrangeHost, needsPreflight } from './web-pages.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Throws unless the caller has an API key for the operation. For operations that need one only in some uses. */
    authorize(operation: Operation, request: FastifyRequest): void;
  }
}

/**
 * What needs no key anywhere is not told, by a node that asks for none, under a name that a stranger may have pointed at it (DNS
 * rebinding): his page would read it. Where a key is asked for elsewhere, `ApiKeys` asks for it then.
 */
export const ownNames = fp<{ readonly cors: AllowedOrigins }>((app, { cors }, done) => {
  app.addHook('onRequest', ({ headers, operation }, _reply, next) => {
    if (operation === null || operation.apiKey === true || !isStrangeHost(headers.host, cors)) return next();
    throw new TesseraError(
      'unknown_host',
      'This node asks for no API key, so it answers to addresses and to names of its own only: list the name that is in the Host ' +
        'header in api.cors, as https://NAME.',
    );
  });
  done();
});

export const access = fp<{ readonly keys: ApiKeys; readonly clock: Clock }>((app, { keys, clock }, done) => {
  const guesses = new KeyGuesses(clock);
  const authorize = (operation: Operation, request: FastifyRequest): void => {
    const caller = callerOf(request);
    const address = clientAddress(request);
    if (caller.apiKey !== undefined) guesses.assertMayTry(address);
    try {
      keys.check(operation, caller);
    } catch (error) {
      if (isTesseraError(error, 'invalid_api_key')) guesses.failed(address);
      throw error;
    }
  };
  app.decorate('authorize', authorize);
  app.addHook('onRequest', (request, reply, next) => {
    const { operation } = request;
    if (operation?.apiKey !== true) return next();
    reply.header('cache-control', 'no-store');
    authorize(operation, request);
    next();
  });
  done();
});

/** What a key is asked of, by the connection itself: a client behind a proxy is never on this machine. */
function callerOf({ headers, method, socket }: FastifyRequest): Caller {
  const apiKey = headers['x-api-key'];
  const fetchSite = headers['sec-fetch-site'];
  return {
    apiKey: Array.isArray(apiKey) ? apiKey[0] : apiKey,
    address: socket.remoteAddress,
    host: headers.host,
    origin: headers.origin,
    fetchSite: Array.isArray(fetchSite) ? fetchSite[0] : fetchSite,
    preflighted: method === 'PUT' || needsPreflight(headers),
    forwarded: headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined,
  };
}
