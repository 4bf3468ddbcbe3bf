/**
 * Names of requests: the client's own when it is harmless, else one of ours (decision H7); and what every answer carries.
 */

import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { toHex } from '../../lib/bytes.js';
import type { Random } from '../../lib/random.js';
import type { Operation } from '../operation.js';

const SANE = /^[A-Za-z0-9._:-]{1,128}$/;
/** Bytes that keep the ids of two runs of a node apart. */
const RUN_BYTES = 4;

/** Gives the id of a request: `x-request-id` if it is sane, else `<run>-<count>`. */
export function createRequestIds(random: Random): (request: Pick<IncomingMessage, 'headers'>) => string {
  const run = toHex(random.bytes(RUN_BYTES));
  let count = 0;
  return ({ headers }) => {
    const given = headers['x-request-id'];
    if (typeof given === 'string' && SANE.test(given)) return given;
    count++;
    return `${run}-${count.toString(36)}`;
  };
}

/** Sets the headers that every answer has. */
export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request asks for; null when no route of ours takes it. */
    operation: Operation | null;
  }
}

/** The first hook of a request: what it asks for, and what its answer carries. */
export const commonHeaders = fp((app, _options, done) => {
  app.decorateRequest('operation', null);
  app.addHook('onRequest', (request, reply, next) => {
    // Kept, because Fastify makes the options of a route anew whenever they are asked for.
    request.operation = request.routeOptions.config.operation ?? null;
    setCommonHeaders(request, reply);
    next();
  });
  done();
});
