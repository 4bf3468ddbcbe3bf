/**
 * Limits how many bytes of large request bodies are processed at once. A list of transactions takes ten times its size as
 * objects, so that many valid ones at the same time would fill the memory. Here they wait as bytes: those of one address in
 * order of arrival, the addresses in turn. When too many wait, the address with the most bytes loses its last ones: a client
 * that floods the node gets 503 (rule P6), and keeps nobody else out.
 */

import type { ServerResponse } from 'node:http';
import fp from 'fastify-plugin';
import { TesseraError } from '../../lib/errors.js';
import { addressGroup, isLoopback } from '../../lib/ip-address.js';
import { WaitingLine } from '../../lib/waiting-line.js';

/** Smaller bodies are not counted. */
const SMALL_BYTES = 4 * 1024;
/** Maximum size of the bodies in progress, from parsing to the end of the answer. A single one may be larger. */
const MAX_AT_WORK_BYTES = 4 * 1024 * 1024;
/** The same for one address, except loopback: behind a proxy all requests come from there. */
const MAX_AT_WORK_OF_ADDRESS = MAX_AT_WORK_BYTES / 2;
/** Maximum size of the waiting bodies. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;

declare module 'fastify' {
  interface FastifyInstance {
    readonly bodyBudget: BodyBudget;
  }
}

export class BodyBudget {
  readonly #line = new WaitingLine({
    total: [MAX_AT_WORK_BYTES],
    share: [MAX_AT_WORK_OF_ADDRESS],
    maxWaiting: MAX_WAITING_BYTES,
    refuse: () =>
      new TesseraError('overloaded', 'The node is processing too many large bodies; try again in a moment.'),
  });

  /**
   * Undefined when a body of this size may be processed at once, else a promise that resolves when it may; it counts until its
   * response is closed. Rejects with `overloaded` when too much is waiting already, `aborted` when the client disconnects.
   */
  take(bytes: number, response: Pick<ServerResponse, 'once'>, address: string): Promise<void> | undefined {
    if (bytes < SMALL_BYTES) return undefined;
    const place = this.#line.enter(addressGroup(address), bytes, { isLimited: !isLoopback(address) });
    response.once('close', () => place.leave(new TesseraError('aborted', 'The client has disconnected.')));
    return place.ready;
  }
}

export const bodyBudget = fp((app, _options, done) => {
  app.decorate('bodyBudget', new BodyBudget());
  done();
});
