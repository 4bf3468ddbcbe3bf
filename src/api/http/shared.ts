/** Hooks that all routes of an app share, from the first byte of a request to its answer, in the order in which they run. */

import type { ServerResponse } from 'node:http';
import cors, { type FastifyCorsOptions } from '@fastify/cors';
import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Clock } from '../../lib/clock.js';
import { type ErrorCode, TesseraError } from '../../lib/errors.js';
import { addressGroup, isLoopback } from '../../lib/ip-address.js';
import { WaitingLine } from '../../lib/waiting-line.js';
import type { Operation } from '../operation.js';
import type { ApiModules, ApiOptions } from '../options.js';
import { access } from './access.js';
import { AddressTally } from './address-tally.js';
import { answers } from './answers.js';
import type { ApiKeys } from './api-key.js';
import { arrival } from './arrival.js';
import { clientAddress } from './client-address.js';
import { addJsonBodyParser } from './json.js';
import { type RequestLog, requestLog } from './request-log.js';
import type { Handler } from './route.js';
import { sharedValidators } from './validator.js';
import { type AllowedOrigins, isOfThisMachine } from './web-pages.js';

declare module 'fastify' {
  interface FastifyInstance {
    readonly operations: Set<Operation>;
    /** Handlers of operations, for the older routes that do the same. */
    readonly handlers: Map<Operation, Handler<Operation>>;
  }
}

const mountedOperations = fp((app, _options, done) => {
  const operations = new Set<Operation>();
  app.decorate('operations', operations);
  app.decorate('handlers', new Map());
  app.addHook('onRoute', ({ config }) => {
    if (config?.operation !== undefined) operations.add(config.operation);
  });
  done();
});

const RATE_WINDOW_MS = 60_000;
/** Headers that existing clients send from browsers (decision H8). */
const CORS_REQUEST_HEADERS =
  'accept, content-type, idempotency-key, if-none-match, last-event-id, x-api-key, x-cache-id, x-nonce, x-request-id'.split(
    ', ',
  );
const CORS_RESPONSE_HEADERS = ['etag', 'retry-after', 'x-request-id'];

export async function addShared(
  app: FastifyInstance,
  { api }: ApiOptions,
  {
    clock,
    validators = sharedValidators,
    log,
    keys,
  }: ApiModules & { readonly log: RequestLog; readonly keys: ApiKeys },
): Promise<void> {
  app.setValidatorCompiler(validators.compiler(api.limits));

  // The order of the hooks: a request waits for its turn, gets its id and log line, is counted, and then its key is checked.
  await app.register(requestLog, { log });
  await app.register(arrival, { log });
  if (api.rateLimit.enabled) {
    await app.register(rateLimit, {
      global: false,
      max: api.rateLimit.perMinute,
      timeWindow: RATE_WINDOW_MS,
      keyGenerator: (request) => addressGroup(clientAddress(request)),
    });
    // The rate limit comes before the check of keys, so that requests with wrong keys are counted too.
    app.addHook('onRequest', app.rateLimit());
  }
  if (api.cors !== 'off') {
    await app.register(cors, {
      origin: originsOf(api.cors),
      methods: ['GET', 'HEAD', 'POST', 'PUT'],
      allowedHeaders: CORS_REQUEST_HEADERS,
      exposedHeaders: CORS_RESPONSE_HEADERS,
      strictPreflight: false,
    });
  }

  await app.register(bodyBudget);
  await app.register(refusedBodies, { clock });
  addJsonBodyParser(app);
  await app.register(access, { keys, clock, openTo: api.auth === 'open' ? api.cors : undefined });
  await app.register(mountedOperations);
  await app.register(answers, { clock });
}

function originsOf(cors: Exclude<AllowedOrigins, 'off'>): NonNullable<FastifyCorsOptions['origin']> {
  if (cors === 'all') return '*';
  if (cors !== 'loopback') return [...cors];
  return (origin, answer) => answer(null, origin !== undefined && isOfThisMachine(origin));
}

/** Bytes of refused bodies that an address may send in a window: some 0.8 seconds of a processor. */
const MAX_REFUSED_BYTES = 16 * 1024 * 1024;
const WINDOW_MS = 60_000;
/** Bytes that a small body counts as: a request costs something whatever is in it. */
const LEAST_BYTES = 4 * 1024;

/** Error codes for faults of a body, whatever the node is doing. */
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

const refusedBodies = fp<{ clock: Clock }>((app, { clock }, done) => {
  app.decorate('refusedBodies', new RefusedBodies(clock));
  app.decorateRequest('bodyBytes', 0);
  done();
});

/** Minimum size of a body that is counted. */
const SMALL_BYTES = 4 * 1024;
/** Maximum size of the bodies in progress, from parsing to the end of the answer. A single one may be larger. */
const MAX_AT_WORK_BYTES = 4 * 1024 * 1024;
/** Maximum size of the bodies in progress of one address, except loopback: behind a proxy all requests come from there. */
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

  /** Undefined when a body may be processed now, else a promise, which rejects with `overloaded`, or `aborted` when the client disconnects. */
  take(bytes: number, response: Pick<ServerResponse, 'once'>, address: string): Promise<void> | undefined {
    if (bytes < SMALL_BYTES) return undefined;
    const place = this.#line.enter(addressGroup(address), bytes, { isLimited: !isLoopback(address) });
    response.once('close', () => place.leave(new TesseraError('aborted', 'The client has disconnected.')));
    return place.ready;
  }
}

const bodyBudget = fp((app, _options, done) => {
  app.decorate('bodyBudget', new BodyBudget());
  done();
});
