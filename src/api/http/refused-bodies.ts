/** Bounds bodies: the bytes at work, and those of an address that were refused. Loopback is exempt: clients behind a proxy share it. */

import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Clock } from '../../lib/clock.js';
import { type ErrorCode, TesseraError } from '../../lib/errors.js';
import { addressGroup, isLoopback } from '../../lib/ip-address.js';
import { WaitingLine } from '../../lib/waiting-line.js';
import { AddressTally } from './address-tally.js';
import { clientAddress } from './client-address.js';

/** Bytes of refused bodies that an address may send in a window: some 0.8 seconds of a processor. */
const MAX_REFUSED_BYTES = 16 * 1024 * 1024;
const WINDOW_MS = 60_000;
/** Bytes that a small body counts as: a request costs something whatever is in it. */
const LEAST_BYTES = 4 * 1024;

/** Verdicts on what a body says, whatever the node is doing. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'malformed_json',
  'invalid_request',
  'malformed_transaction',
  'transaction_rejected',
  'double_spend',
  'unknown_input',
  'invalid_signature',
  'malformed_key_pair',
] satisfies ErrorCode[]);

declare module 'fastify' {
  interface FastifyInstance {
    readonly refusedBodies: RefusedBodies;
  }
  interface FastifyRequest {
    /** Bytes of the body that was read; 0 for none. */
    bodyBytes: number;
  }
}

class RefusedBodies {
  readonly #refused: AddressTally;

  constructor(clock: Clock) {
    this.#refused = new AddressTally(WINDOW_MS, clock);
  }

  /** Notes that the body of a request is read. Throws `rate_limited` when its address must wait. */
  reads(request: FastifyRequest, bytes: number): void {
    const { amount, seconds } = this.#refused.of(clientAddress(request));
    if (amount >= MAX_REFUSED_BYTES) {
      throw new TesseraError(
        'rate_limited',
        `Too much of what came from your address was refused: wait ${seconds} s.`,
        { details: { retryAfter: seconds } },
      );
    }
    request.bodyBytes = Math.max(bytes, LEAST_BYTES);
  }

  /** Counts a request that is answered with an error. */
  refused(request: FastifyRequest, code: ErrorCode): void {
    const { bodyBytes } = request;
    if (bodyBytes === 0 || !REFUSALS.has(code)) return;
    const address = clientAddress(request);
    if (!isLoopback(address)) this.#refused.add(address, bodyBytes);
  }
}

export const refusedBodies = fp<{ clock: Clock }>((app, { clock }, done) => {
  app.decorate('refusedBodies', new RefusedBodies(clock));
  app.decorateRequest('bodyBytes', 0);
  done();
});

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

  /** Undefined when the body may be processed now, else a promise. Rejects with `overloaded`, or `aborted` when the client disconnects. */
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
