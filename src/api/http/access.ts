/** The hook that refuses a request before its body is read: for its Host header, under overload, or without an API key (decision H3). */

import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Clock } from '../../lib/clock.js';
import { isTesseraError } from '../../lib/errors.js';
import { addressGroup } from '../../lib/ip-address.js';
import type { PassphraseCaller } from '../../wallet/service.js';
import type { Operation } from '../operation.js';
import type { ApiKeys, Caller } from './api-key.js';
import { clientAddress } from './client-address.js';
import { checkHostHeader, OwnNames } from './host-header.js';
import { KeyGuesses } from './key-guesses.js';
import { OverloadGuard } from './overload-guard.js';
import { type AllowedOrigins, needsPreflight } from './web-pages.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Throws unless the caller has an API key for the operation. For operations that need one only in some uses. */
    authorize(operation: Operation, request: FastifyRequest): void;
  }
  interface FastifyRequest {
    /** Name of the API key that was asked for and is right; empty where none was asked for. */
    keyName: string;
  }
}

/** The caller of an operation that takes the passphrase of the wallet. */
export function passphraseCaller(request: FastifyRequest): PassphraseCaller {
  return { key: request.keyName, address: addressGroup(clientAddress(request)) };
}

export interface AccessOptions {
  readonly keys: ApiKeys;
  readonly clock: Clock;
  /** Origins that may read a node that asks for no key. */
  readonly openTo: AllowedOrigins | undefined;
}

/** One hook for all that may be said against a request before its body is read. */
export const access = fp<AccessOptions>((app, { keys, clock, openTo }, done) => {
  const guard = new OverloadGuard(clock);
  const names = openTo === undefined ? undefined : new OwnNames(openTo);
  const guesses = new KeyGuesses(clock);
  const authorize = (operation: Operation, request: FastifyRequest): void => {
    const caller = callerOf(request);
    const address = clientAddress(request);
    if (caller.apiKey !== undefined) guesses.assertMayTry(address);
    try {
      request.keyName = keys.check(operation, caller);
    } catch (error) {
      if (isTesseraError(error, 'invalid_api_key')) guesses.failed(address);
      throw error;
    }
  };
  app.decorateRequest('keyName', '');
  app.decorate('authorize', authorize);
  app.addHook('onRequest', (request, reply, next) => {
    const { operation } = request;
    checkHostHeader(request.raw);
    if (operation === null) return next();
    if (operation.apiKey !== true) names?.check(request.headers.host);
    // Health checks must be answered, above all under overload.
    if (operation.family !== 'node') guard.check();
    if (operation.apiKey !== true) return next();
    reply.header('cache-control', 'no-store');
    authorize(operation, request);
    next();
  });
  app.addHook('onClose', async () => guard.stop());
  done();
});

/** Caller of a request, by the connection itself: a client behind a proxy is never on this machine. */
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
