/** Asks for an API key on routes that need one (decision H3), before anything of the request is read. */

import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Operation } from '../operation.js';
import type { ApiKeys, Caller } from './api-key.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Throws unless the caller shows an API key for the operation: for operations that ask for one in some uses only. */
    authorize(operation: Operation, request: FastifyRequest): void;
  }
}

export const access = fp<{ readonly keys: ApiKeys }>((app, { keys }, done) => {
  app.decorate('authorize', (operation: Operation, request: FastifyRequest) =>
    keys.check(operation, callerOf(request)),
  );
  app.addHook('onRequest', (request, reply, next) => {
    const { operation } = request;
    if (operation?.apiKey !== true) return next();
    reply.header('cache-control', 'no-store');
    keys.check(operation, callerOf(request));
    next();
  });
  done();
});

function callerOf({ headers, socket }: FastifyRequest): Caller {
  const apiKey = headers['x-api-key'];
  return {
    apiKey: Array.isArray(apiKey) ? apiKey[0] : apiKey,
    address: socket.remoteAddress,
    host: headers.host,
    origin: headers.origin,
    forwarded: headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined,
  };
}
