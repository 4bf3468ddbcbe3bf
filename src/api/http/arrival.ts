/** The first hook of a request: its turn on its connection, its log, its operation and common headers. One hook, as each costs time. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { toHex } from '../../lib/bytes.js';
import type { Random } from '../../lib/random.js';
import type { Operation } from '../operation.js';
import type { RequestLog } from './request-log.js';

/** Number of requests of a connection that may wait for the answers before them. */
const MAX_AHEAD = 64;

declare module 'fastify' {
  interface FastifyRequest {
    /** The operation of the route; null when there is no such route. */
    operation: Operation | null;
    /** Response to the request; the end of the response ends the work on the request's body. */
    response: ServerResponse | null;
  }
}

export const arrival = fp<{ readonly log: RequestLog }>((app, { log }, done) => {
  const connections = new WorkInTurn();
  app.decorateRequest('operation', null);
  app.decorateRequest('response', null);
  app.addHook('onRequest', (request, reply, next) => {
    // The operation is kept, because Fastify makes the options of a route anew at each access.
    request.operation = request.routeOptions.config.operation ?? null;
    request.response = reply.raw;
    log.arrives(request);
    setCommonHeaders(request, reply);
    const begin = (): void => {
      log.follow(request, reply);
      next();
    };
    if (reply.raw.socket !== null) begin();
    else connections.wait(request.raw, reply.raw, begin);
  });
  done();
});

/** Works on one request of a connection at a time: a waiting request would not learn that the client is gone (rule P6). */
class WorkInTurn {
  readonly #ahead = new WeakMap<Socket, number>();

  wait({ socket }: IncomingMessage, response: ServerResponse, next: () => void): void {
    const count = (this.#ahead.get(socket) ?? 0) + 1;
    this.#ahead.set(socket, count);
    if (count > MAX_AHEAD) socket.destroy();
    // The event does not come when the connection ends first: then there is nothing to do and nobody to tell.
    response.once('socket', () => {
      this.#ahead.set(socket, (this.#ahead.get(socket) ?? 1) - 1);
      // Node is not done with giving the connection to this response yet.
      setImmediate(next);
    });
  }
}

const SANE = /^[A-Za-z0-9._:-]{1,128}$/;
/** Random bytes in the ids, to tell two runs of a node apart. */
const RUN_BYTES = 4;

/** Returns a function that gives the id of a request: a valid `x-request-id`, else `<run>-<count>`. */
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

export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
}
