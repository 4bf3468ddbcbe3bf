/**
 * The HTTP app of a node, without listening: which role mounts which routes, and what all routes share (error answers,
 * exact JSON, request ids, limits). `createNode` gives it services and calls `listen`; tests give it fakes and inject.
 */

import type { IncomingMessage } from 'node:http';
import cors from '@fastify/cors';
import rateLimit from '@fastify/rate-limit';
import Fastify, { type FastifyInstance } from 'fastify';
import { addressGroup } from '../lib/ip-address.js';
import type { NodeRole } from '../lib/roles.js';
import { ApiKeys, type ApiKeysOptions } from './http/api-key.js';
import { answerClientError, closeInTime, limitConnections, observeServer } from './http/connections.js';
import { createErrorAnswers, type ErrorAnswers } from './http/error-answers.js';
import { addJsonBodyParser } from './http/json.js';
import { LongAnswers } from './http/long-answers.js';
import { createOverloadGuard } from './http/overload.js';
import { createRequestIds } from './http/request-id.js';
import { createRequestLog } from './http/request-log.js';
import { createRouter, type Router } from './http/route.js';
import { createValidators } from './http/validator.js';
import { docsPlugin } from './openapi/docs.js';
import { describeApi, openApiDocument } from './openapi/document.js';
import type { Operation } from './operation.js';
import { OPERATIONS } from './operations.js';
import type { ApiModules, ApiOptions } from './options.js';
import { commonPlugin } from './routes/common/handlers.js';
import { envelopePlugin } from './routes/envelope/handlers.js';
import { eventsPlugin } from './routes/events/handlers.js';
import { mempoolPlugin } from './routes/mempool/handlers.js';
import { createItem } from './routes/mempool/operations.js';
import { miningPlugin } from './routes/mining/handlers.js';
import { storagePlugin } from './routes/storage/handlers.js';
import { toolsPlugin } from './routes/tools/handlers.js';
import { userPlugin } from './routes/user/handlers.js';
import { walletPlugin } from './routes/wallet/handlers.js';

export type { ApiModules, ApiOptions } from './options.js';

/** Longest part of a path that is looked at; the HTTP parser bounds the whole header at 16 KiB. */
const MAX_PARAM_LENGTH = 16_384;
const RATE_WINDOW_MS = 60_000;
/** How often connections are checked for requests that are late: ten times in the time they have, and each second. */
const CHECKS_OF_TIMEOUT = 10;
const MAX_CHECK_MS = 1_000;
/** A connection on which nothing moves is closed after so many times the time of a request. */
const IDLE_FACTOR = 2;
/** Headers that existing clients send from browsers (reference, §6.7). */
const CORS_REQUEST_HEADERS = 'accept, content-type, if-none-match, x-api-key, x-cache-id, x-nonce, x-request-id'.split(
  ', ',
);
const CORS_RESPONSE_HEADERS = ['etag', 'retry-after', 'x-request-id'];

/**
 * The app, ready to inject or listen. Throws `invalid_config` when the key options are not safe. `app.close()` ends
 * everything that it holds.
 */
export async function createApi(options: ApiOptions, modules: ApiModules): Promise<FastifyInstance> {
  const { api } = options;
  const keys = modules.keys ?? new ApiKeys(apiKeysOptions(options.role, api), OPERATIONS);
  const validators = createValidators(api.limits);
  const overload = createOverloadGuard(modules.clock);
  const log = createRequestLog(modules, modules.requestLines, modules.requestObserver);
  const router = createRouter({
    log,
    keys,
    overload,
    validators,
    long: new LongAnswers({ clock: modules.clock }),
  });
  const errors = createErrorAnswers({ logger: modules.logger, clock: modules.clock, log, router });
  const app = createFastify(options, modules, errors);

  limitConnections(app.server, api.limits.connectionsPerAddress);
  closeInTime(app, modules.clock);
  if (modules.requestObserver) observeServer(app.server, modules.requestObserver);
  addJsonBodyParser(app);
  app.addHook('onClose', async () => {
    overload.stop();
    log.flush();
  });
  app.setErrorHandler(errors.onError);
  if (api.rateLimit.enabled) {
    await app.register(rateLimit, {
      global: false,
      max: api.rateLimit.perMinute,
      timeWindow: RATE_WINDOW_MS,
      keyGenerator: ({ ip }) => addressGroup(ip),
    });
    // Before the hooks of any route, so that a wrong API key is counted too.
    app.addHook('onRequest', app.rateLimit());
  }
  if (api.cors !== 'off') {
    await app.register(cors, {
      origin: api.cors === 'all' ? '*' : [...api.cors],
      methods: ['GET', 'HEAD', 'POST', 'PUT'],
      allowedHeaders: CORS_REQUEST_HEADERS,
      exposedHeaders: CORS_RESPONSE_HEADERS,
      strictPreflight: false,
    });
  }

  mountRoutes(app, options, modules, router, errors);
  app.register(eventsPlugin, { router, role: options.role, validators, modules });
  const { role } = options;
  await app.register(docsPlugin, {
    router,
    describe: (mounted: readonly Operation[]) => openApiDocument(mounted, { role, limits: api.limits }),
  });
  await app.after();
  app.setNotFoundHandler(errors.onNotFound);
  await app.ready();
  return app;
}

/** The plugins of each role: this table is what a role serves over HTTP. */
function mountRoutes(
  app: FastifyInstance,
  options: ApiOptions,
  modules: ApiModules,
  router: Router,
  errors: ErrorAnswers,
): void {
  const { role, api, envelope } = options;
  app.register(commonPlugin, {
    router,
    modules,
    describe: (mounted) => describeApi(mounted, { role, limits: api.limits }),
  });
  if (role === 'mempool') app.register(mempoolPlugin, { router, modules });
  if (role === 'storage') app.register(storagePlugin, { router, modules });
  if (role === 'miner') app.register(miningPlugin, { router, modules });
  if (role === 'miner' || role === 'user') app.register(walletPlugin, { router, modules });
  if (role === 'user') app.register(userPlugin, { router, modules });
  if (role === 'user' || api.toolingEverywhere) app.register(toolsPlugin, { router });
  if (envelope.enabled) {
    app.register(envelopePlugin, {
      router,
      options: { ...envelope, batch: api.limits.batch },
      roles: { mempool: role === 'mempool', storage: role === 'storage' },
      modules,
      onError: errors.onEnvelopeError,
    });
  }
}

function createFastify(options: ApiOptions, modules: ApiModules, errors: ErrorAnswers): FastifyInstance {
  const { limits } = options.api;
  const common = {
    logger: false,
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    // Later than the request's own time, so that what is late gets its answer.
    connectionTimeout: IDLE_FACTOR * limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    forceCloseConnections: 'idle',
    requestIdHeader: false,
    genReqId: createRequestIds(modules.random),
    rewriteUrl,
    clientErrorHandler: answerClientError,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    frameworkErrors: errors.onUnreadable,
  } as const;
  const timeouts = {
    headersTimeout: limits.requestTimeoutMs,
    // Node looks for late requests every 30 s unless told otherwise.
    connectionsCheckingInterval: Math.min(MAX_CHECK_MS, limits.requestTimeoutMs / CHECKS_OF_TIMEOUT),
  };
  const app =
    options.tls === undefined
      ? Fastify({ ...common, http: timeouts })
      : Fastify({ ...common, https: { ...options.tls, ...timeouts } });
  return app as unknown as FastifyInstance;
}

/** What decides who may use protected routes. Item creation is open on request where the client signs, so never on a wallet. */
export function apiKeysOptions(role: NodeRole, api: ApiOptions['api']): ApiKeysOptions {
  const isOpen = api.openItemCreation && role === 'mempool';
  return { ...api, open: isOpen ? [createItem.id] : [] };
}

/** `%3A` equals `:` in a path (decision H5); the router would keep them apart. */
function rewriteUrl(request: IncomingMessage): string {
  const url = request.url ?? '/';
  return url.includes('%3') ? url.replaceAll(/%3[Aa]/g, ':') : url;
}
