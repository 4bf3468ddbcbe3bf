/** The bare server of an app, over HTTP or HTTPS, with the limits of its connections. */

import type { IncomingMessage } from 'node:http';
import Fastify, { type FastifyInstance } from 'fastify';
import type { ApiModules, ApiOptions } from '../options.js';
import { answerClientError, answerExpectation, closeInTime, limitConnections } from './connections.js';
import type { ErrorAnswers } from './error-answers.js';
import { createRequestIds } from './request-id.js';

/** Maximum length of a path parameter; the HTTP parser limits the whole header to 16 KiB. */
const MAX_PARAM_LENGTH = 16_384;
/** Connections are checked for late requests this many times within the time limit, and at least every second. */
const CHECKS_OF_TIMEOUT = 10;
const MAX_CHECK_MS = 1_000;
/** A connection without traffic is closed after this many times the time limit of a request. */
const IDLE_FACTOR = 2;

export function createServer(options: ApiOptions, modules: ApiModules, errors: ErrorAnswers): FastifyInstance {
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

/** `%3A` equals `:` in a path (decision H5), but not for the router. */
function rewriteUrl(request: IncomingMessage): string {
  const url = request.url ?? '/';
  return url.includes('%3') ? url.replaceAll(/%3[Aa]/g, ':') : url;
}
