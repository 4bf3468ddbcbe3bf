/** Request ids, the client's own if it is harmless and else a new one (decision H7), and headers of every answer. */

import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { toHex } from '../../lib/bytes.js';
import type { Random } from '../../lib/random.js';

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

/** Sets the headers that every answer has. */
export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
}
