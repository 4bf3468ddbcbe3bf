/** Hooks that all routes of an app share, from the first byte of a request to its answer, in the order in which they run. */

import cors, { type FastifyCorsOptions } from '@fastify/cors';
import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';
import { addressGroup } from '../../lib/ip-address.js';
import type { Operation } from '../operation.js';
import type { ApiModules, ApiOptions } from '../options.js';
import { access } from './access.js';
import { answers } from './answers.js';
import type { ApiKeys } from './api-key.js';
import { arrival } from './arrival.js';
import { clientAddress } from './client-address.js';
import { addJsonBodyParser } from './json.js';
import { bodyBudget, refusedBodies } from './refused-bodies.js';
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
    // Before the check of keys, so that requests with wrong keys are counted too.
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
