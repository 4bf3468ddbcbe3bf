/** How errors leave the node, for every route: as a problem document or an envelope, and what clients are not told as a log line. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../lib/clock.js';
import { errorMessage, type TesseraError } from '../../lib/errors.js';
import { stringifyExact } from '../../lib/json.js';
import type { Logger } from '../../lib/logger.js';
import { OPERATIONS } from '../operations.js';
import { sendEnvelopeError } from '../routes/envelope/handlers.js';
import { drainBody } from './connections.js';
import { createNotFound, isProblemPath } from './not-found.js';
import { PROBLEM_MEDIA_TYPE, problemHeaders, problemOf, publicError } from './problem.js';
import type { RequestLog } from './request-log.js';
import { addCommonHeaders, type Router } from './route.js';

export interface ErrorAnswers {
  /** For anything thrown on the way to an answer. */
  readonly onError: (error: unknown, request: FastifyRequest, reply: FastifyReply) => void;
  /** For requests whose path cannot be read, so that no route was looked for. */
  readonly onUnreadable: (error: unknown, request: FastifyRequest, reply: FastifyReply) => void;
  /** For requests that no route takes. */
  readonly onNotFound: (request: FastifyRequest, reply: FastifyReply) => void;
  /** For errors of envelope routes. */
  readonly onEnvelopeError: (error: unknown, request: FastifyRequest, reply: FastifyReply) => void;
}

export interface ErrorModules {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly log: RequestLog;
  readonly router: Router;
}

export function createErrorAnswers({ logger, clock, log, router }: ErrorModules): ErrorAnswers {
  let find: ReturnType<typeof createNotFound> | undefined;
  const onNotFound = (request: FastifyRequest, reply: FastifyReply): void => {
    find ??= createNotFound(router.mounted, OPERATIONS);
    const path = pathOf(request.url);
    const error = find(request.method, path);
    addCommonHeaders(request, reply);
    sendError(reply, error, path);
    log.add(request, reply, error.code);
  };

  const note = (error: unknown, shown: TesseraError, request: FastifyRequest): void => {
    if (shown.code !== 'internal_error') return;
    const stack = error instanceof Error ? error.stack : undefined;
    logger.error({ request_id: request.id, error: errorMessage(error), stack }, 'request failed inside the node');
  };

  const answer = (error: unknown, shown: TesseraError, request: FastifyRequest, reply: FastifyReply): void => {
    note(error, shown, request);
    addCommonHeaders(request, reply);
    if (shown.code === 'payload_too_large') drainBody(request, reply, clock);
    sendError(reply, shown, pathOf(request.url), request.routeOptions?.config?.operation?.id);
  };

  return {
    onNotFound,
    onEnvelopeError(error, request, reply) {
      answer(error, publicError(error, request.routeOptions.bodyLimit), request, reply);
    },
    onError(error, request, reply) {
      const shown = publicError(error, request.routeOptions?.bodyLimit);
      // What is wrong with the body of a request that no route takes does not matter.
      if (request.is404 && shown.code !== 'rate_limited') onNotFound(request, reply);
      else answer(error, shown, request, reply);
    },
    onUnreadable(error, request, reply) {
      const shown = publicError(error);
      answer(error, shown, request, reply);
      log.add(request, reply, shown.code);
    },
  };
}

function sendError(reply: FastifyReply, error: TesseraError, path: string, operationId?: string): void {
  if (!isProblemPath(path)) {
    sendEnvelopeError(reply, error);
    return;
  }
  const problem = problemOf(error, operationId);
  // As bytes: to a text Fastify would add a charset, which this media type does not have.
  const bytes = Buffer.from(stringifyExact(problem), 'utf8');
  reply.code(problem.status).headers(problemHeaders(error)).header('content-type', PROBLEM_MEDIA_TYPE).send(bytes);
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}
