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
import { access } from './http/access.js';
import { answers } from './http/answers.js';
import { ApiKeys, type ApiKeysOptions } from './http/api-key.js';
import { arrival } from './http/arrival.js';
import { bodyBudget } from './http/body-budget.js';
import { clientAddress } from './http/client-address.js';
import { answerClientError, answerExpectation, closeInTime, limitConnections } from './http/connections.js';
import { ErrorAnswers } from './http/error-answers.js';
import { addJsonBodyParser } from './http/json.js';
import { mountedOperations } from './http/mounted-operations.js';
import { refusedBodies } from './http/refused-bodies.js';
import { createRequestIds } from './http/request-id.js';
import { RequestLog, requestLog } from './http/request-log.js';
import { sharedValidators } from './http/validator.js';
import { docsRoutes } from './openapi/docs.js';
import { type DocumentOptions, describeApi } from './openapi/document.js';
import { OPERATIONS } from './operations.js';
import type { ApiModules, ApiOptions } from './options.js';
import { sitesOf } from './pages/page-paths.js';
import { pageRoutes } from './pages/pages.js';
import { chainRoutes } from './routes/chain/handlers.js';
import { holdingRoutes } from './routes/chain/holding-handlers.js';
import { commonRoutes } from './routes/common/handlers.js';
import { devRoutes } from './routes/dev/handlers.js';
import { envelopeRoutes } from './routes/envelope/handlers.js';
import { eventRoutes } from './routes/events/handlers.js';
import { itemRoutes } from './routes/items/handlers.js';
import { mempoolRoutes } from './routes/mempool/handlers.js';
import { createItem } from './routes/mempool/operations.js';
import { miningRoutes } from './routes/mining/handlers.js';
import { storageRoutes } from './routes/storage/handlers.js';
import { toolRoutes } from './routes/tools/handlers.js';
import { userRoutes } from './routes/user/handlers.js';
import { walletBackupRoutes } from './routes/wallet/backup-handlers.js';
import { walletRoutes } from './routes/wallet/handlers.js';
import { walletHistoryRoutes } from './routes/wallet/history-handlers.js';
import { walletItemRoutes } from './routes/wallet/item-handlers.js';
import { walletTradeRoutes } from './routes/wallet/trade-handlers.js';

import { services } from './services.js';

export type { ApiModules, ApiOptions } from './options.js';

/** Maximum length of a path parameter; the HTTP parser limits the whole header to 16 KiB. */
const MAX_PARAM_LENGTH = 16_384;
const RATE_WINDOW_MS = 60_000;
/** Connections are checked for late requests this many times within the time limit, and at least every second. */
const CHECKS_OF_TIMEOUT = 10;
const MAX_CHECK_MS = 1_000;
/** A connection without traffic is closed after this many times the time limit of a request. */
const IDLE_FACTOR = 2;
/** Headers that existing clients send from browsers (reference, §6.7). */
const CORS_REQUEST_HEADERS =
  'accept, content-type, idempotency-key, if-none-match, last-event-id, x-api-key, x-cache-id, x-nonce, x-request-id'.split(
    ', ',
  );
const CORS_RESPONSE_HEADERS = ['etag', 'retry-after', 'x-request-id'];

/**
 * The app, ready to inject or listen. Throws `invalid_config` when the key options are not safe. `app.close()` ends
 * everything that it holds.
 */
export async function createApi(options: ApiOptions, modules: ApiModules): Promise<FastifyInstance> {
  const { api } = options;
  const keys = modules.keys ?? new ApiKeys(apiKeysOptions(options.roles, api), OPERATIONS);
  const { clock } = modules;
  const log = new RequestLog({ ...modules, sink: modules.requestLines });
  const errors = new ErrorAnswers({ logger: modules.logger, clock, log });
  const app = createFastify(options, modules, errors);

  limitConnections(app.server, api.limits.connectionsPerAddress);
  closeInTime(app, clock);
  app.server.on('checkExpectation', answerExpectation);
  app.setValidatorCompiler((modules.validators ?? sharedValidators).compiler(api.limits));
  app.setErrorHandler(errors.onError);
  app.setNotFoundHandler(errors.onNotFound);

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
      origin: api.cors === 'all' ? '*' : [...api.cors],
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
  await app.register(services, { modules: modules.services ?? modules });
  await mountRoutes(app, options, modules);
  await app.ready();
  return app;
}

/** The plugins of each role: what a role serves over HTTP. What several roles serve is mounted once. */
async function mountRoutes(app: FastifyInstance, options: ApiOptions, modules: ApiModules): Promise<void> {
  const { roles, api, envelope } = options;
  const described: DocumentOptions = { roles, limits: api.limits, open: withoutKey(roles, api) };
  const has = (role: NodeRole): boolean => roles.includes(role);
  const hasWallet = has('miner') || has('user');
  app.register(commonRoutes, { modules, describe: (mounted) => describeApi(mounted, described) });
  if (has('mempool')) app.register(mempoolRoutes);
  if (has('mempool') || hasWallet) app.register(itemRoutes, { roles });
  if (has('storage'))
    app
      .register(storageRoutes, { isRevertible: modules.isRevertible })
      .register(chainRoutes, { isRevertible: modules.isRevertible })
      .register(holdingRoutes);
  if (has('miner')) app.register(miningRoutes);
  if (hasWallet) {
    app
      .register(walletRoutes)
      .register(walletHistoryRoutes)
      .register(walletItemRoutes)
      .register(walletTradeRoutes)
      .register(walletBackupRoutes);
  }
  if (has('user')) app.register(userRoutes);
  if (has('user') || api.toolingEverywhere) app.register(toolRoutes);
  if (envelope.enabled) {
    app.register(envelopeRoutes, { options: { ...envelope, batch: api.limits.batch }, roles, modules });
  }
  if (modules.dev !== undefined) app.register(devRoutes, { dev: modules.dev });
  app.register(eventRoutes, { roles, modules });
  if (modules.pages !== undefined) app.register(pageRoutes, { sites: sitesOf(roles), files: modules.pages });
  app.register(docsRoutes, { files: modules.docs });
}

/** The operations that their callers may use without a key. */
function withoutKey(roles: readonly NodeRole[], api: ApiOptions['api']): 'all' | readonly string[] {
  return api.auth === 'open' ? 'all' : (apiKeysOptions(roles, api).open ?? []);
}

function createFastify(options: ApiOptions, modules: ApiModules, errors: ErrorAnswers): FastifyInstance {
  const { limits, trustedProxies } = options.api;
  const common = {
    logger: false,
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    // Later than the time limit of a request, so that a late request still gets its answer.
    connectionTimeout: IDLE_FACTOR * limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    forceCloseConnections: 'idle',
    requestIdHeader: false,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    genReqId: createRequestIds(modules.random),
    rewriteUrl,
    clientErrorHandler: answerClientError,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    frameworkErrors: errors.onUnreadable,
  } as const;
  const timeouts = {
    headersTimeout: limits.requestTimeoutMs,
    // Fastify sets it later, and until then Node takes five minutes, than which the time above must not be longer.
    requestTimeout: limits.requestTimeoutMs,
    // By default, Node looks for late requests every 30 s.
    connectionsCheckingInterval: Math.min(MAX_CHECK_MS, limits.requestTimeoutMs / CHECKS_OF_TIMEOUT),
    // `access` answers in place of Node, whose answer has no body.
    requireHostHeader: false,
  };
  const app =
    options.tls === undefined
      ? Fastify({ ...common, http: timeouts })
      : Fastify({ ...common, https: { ...options.tls, ...timeouts } });
  return app as unknown as FastifyInstance;
}

/**
 * The rules for protected routes. Item creation can be open only where the client signs, so never where a wallet does: beside
 * a wallet, `itemRoutes` asks for the key of an item that the wallet signs.
 */
export function apiKeysOptions(roles: readonly NodeRole[], api: ApiOptions['api']): ApiKeysOptions {
  const isOpen = api.openItemCreation && roles.includes('mempool');
  return { ...api, open: isOpen ? [createItem.id] : [] };
}

/** `%3A` equals `:` in a path (decision H5), but not for the router. */
function rewriteUrl(request: IncomingMessage): string {
  const url = request.url ?? '/';
  return url.includes('%3') ? url.replaceAll(/%3[Aa]/g, ':') : url;
}
