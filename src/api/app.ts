/** The HTTP app of a node, without listening: what all routes share, and the plugins of its roles. Tests give it fakes and inject. */

import type { IncomingMessage } from 'node:http';
import Fastify, { type FastifyInstance } from 'fastify';
import { ApiKeys } from './http/api-key.js';
import { createRequestIds } from './http/arrival.js';
import { answerClientError, answerExpectation, closeInTime, limitConnections } from './http/connections.js';
import { ErrorAnswers } from './http/error-answers.js';
import { RequestLog } from './http/request-log.js';
import { addShared } from './http/shared.js';
import { OPERATIONS } from './operations.js';
import type { ApiModules, ApiOptions } from './options.js';
import { docsRoutes, pageRoutes } from './pages/pages.js';
import { common } from './plugins/common.js';
import { envelope } from './plugins/envelope.js';
import { apiKeysOptions, apiOf, sitesOf } from './roles.js';
import { devRoutes } from './routes/dev/handlers.js';
import { eventRoutes } from './routes/events/handlers.js';
import { toolRoutes } from './routes/tools/handlers.js';
import { services } from './services.js';

export type { ApiModules, ApiOptions } from './options.js';

/** The app, ready to inject or listen; `app.close()` ends all that it has opened. Throws `invalid_config` when the key options are not safe. */
export async function createApi(options: ApiOptions, modules: ApiModules): Promise<FastifyInstance> {
  const { roles, api } = options;
  const keys = modules.keys ?? new ApiKeys(apiKeysOptions(roles, api), OPERATIONS);
  const log = new RequestLog({ ...modules, sink: modules.requestLines });
  const errors = new ErrorAnswers({ ...modules, log, isOriginal: options.envelope.answers === 'original' });
  const app = createServer(options, modules, errors);
  app.setErrorHandler(errors.onError);
  app.setNotFoundHandler(errors.onNotFound);
  await addShared(app, options, { ...modules, log, keys });
  await app.register(services, { modules: modules.services ?? modules });
  await addRoutes(app, options, modules);
  await app.ready();
  return app;
}

async function addRoutes(app: FastifyInstance, options: ApiOptions, modules: ApiModules): Promise<void> {
  const { roles, api } = options;
  const parts = { options, modules };
  const plugins = await Promise.all(roles.map((role) => apiOf(role).plugin()));
  app.register(common, parts);
  for (const plugin of plugins) app.register(plugin, parts);
  if (api.toolingEverywhere) app.register(toolRoutes);
  if (options.envelope.enabled) app.register(envelope, parts);
  if (modules.dev !== undefined) app.register(devRoutes, { dev: modules.dev });
  app.register(eventRoutes, { roles, modules });
  if (modules.pages !== undefined) app.register(pageRoutes, { sites: sitesOf(roles), files: modules.pages });
  app.register(docsRoutes, { files: modules.docs });
}

/** Maximum length of a path parameter; the HTTP parser limits the whole header to 16 KiB. */
const MAX_PARAM_LENGTH = 16_384;
/** Connections are checked for late requests this many times within the time limit, and at least every second. */
const CHECKS_OF_TIMEOUT = 10;
const MAX_CHECK_MS = 1_000;
/** A connection without traffic is closed after this many times the time limit of a request. */
const IDLE_FACTOR = 2;

function createServer(options: ApiOptions, modules: ApiModules, errors: ErrorAnswers): FastifyInstance {
  const { limits, trustedProxies } = options.api;
  const common = {
    logger: false,
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    // The connection ends later than the time limit of a request, so that a late request still gets its answer.
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
    // Fastify sets `requestTimeout` later. Until then it is Node's five minutes, and `headersTimeout` must not be longer.
    requestTimeout: limits.requestTimeoutMs,
    // By default, Node looks for late requests every 30 s.
    connectionsCheckingInterval: Math.min(MAX_CHECK_MS, limits.requestTimeoutMs / CHECKS_OF_TIMEOUT),
    // `access` refuses a request without Host, as the answer of Node has no body.
    requireHostHeader: false,
  };
  const made =
    options.tls === undefined
      ? Fastify({ ...common, http: timeouts })
      : Fastify({ ...common, https: { ...options.tls, ...timeouts } });
  const app = made as unknown as FastifyInstance;
  limitConnections(app.server, limits.connectionsPerAddress);
  closeInTime(app, modules.clock);
  app.server.on('checkExpectation', answerExpectation);
  return app;
}

/** The path with `:` for `%3A`, which are equal (decision H5), but not for the router. */
function rewriteUrl(request: IncomingMessage): string {
  const url = request.url ?? '/';
  return url.includes('%3') ? url.replaceAll(/%3[Aa]/g, ':') : url;
}
