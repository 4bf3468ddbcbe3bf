/** Turns errors of every route into problem documents or envelopes, and logs what clients must not see. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { stringifyExact } from '../../lib/json.js';
import type { HasClock, HasLogger } from '../../observability/modules.js';
import { type Operation, takesHead } from '../operation.js';
import { OPERATIONS } from '../operations.js';
import { rolesOf } from '../roles.js';
import { errorEnvelope } from '../routes/envelope/envelope.js';
import { setCommonHeaders } from './arrival.js';
import { drainBody } from './connections.js';
import { JSON_MEDIA_TYPE } from './json.js';
import { PROBLEM_MEDIA_TYPE, problemHeaders, problemOf, publicError } from './problem.js';
import type { RequestLog } from './request-log.js';

export interface ErrorModules extends HasClock, HasLogger {
  /** True if envelopes are those of the original node (`envelope.answers`). */
  readonly isOriginal?: boolean;
  readonly log: RequestLog;
}

export class ErrorAnswers {
  readonly #modules: ErrorModules;
  #notServed: NotServed | undefined;

  constructor(modules: ErrorModules) {
    this.#modules = modules;
  }

  readonly onError = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const shown = publicError(error, request.routeOptions.bodyLimit);
    // If there is no such route, errors in the body do not matter.
    if (request.is404 && shown.code !== 'rate_limited') {
      this.onNotFound(request, reply);
      return;
    }
    if (request.is404) request.routingError = shown.code;
    if (shown.code === 'payload_too_large') drainBody(request, reply, this.#modules.clock);
    request.server.refusedBodies.refused(request, shown.code);
    this.#answer(error, shown, request, reply);
  };

  readonly onNotFound = (request: FastifyRequest, reply: FastifyReply): void => {
    this.#notServed ??= new NotServed([...request.server.operations], OPERATIONS);
    const error = this.#notServed.error(request.method, pathOf(request.url));
    request.routingError = error.code;
    sendError(reply, error, request, this.#modules.isOriginal);
  };

  /** Handles requests with an invalid path, for which no route was searched and no hook has run. */
  readonly onUnreadable = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const shown = publicError(error);
    setCommonHeaders(request, reply);
    this.#answer(error, shown, request, reply);
    this.#modules.log.add(request, reply, shown.code);
  };

  #answer(error: unknown, shown: TesseraError, request: FastifyRequest, reply: FastifyReply): void {
    if (shown.code === 'internal_error') {
      const stack = error instanceof Error ? error.stack : undefined;
      const fields = { request_id: request.id, error: errorMessage(error), stack };
      this.#modules.logger.error(fields, 'request failed inside the node');
    }
    sendError(reply, shown, request, this.#modules.isOriginal);
  }
}

function sendError(reply: FastifyReply, error: TesseraError, request: FastifyRequest, isOriginal = false): void {
  request.errorCode = error.code;
  reply.headers(problemHeaders(error));
  if (!isProblemPath(pathOf(request.url))) {
    const { status, json } = errorEnvelope(error, isOriginal ? callOf(request) : undefined);
    reply.code(status).header('content-type', JSON_MEDIA_TYPE).send(json);
    return;
  }
  const problem = problemOf(error, request.routeOptions?.config?.operation?.id);
  // The body is sent as bytes: Fastify adds a charset to strings, and this media type has none.
  const bytes = Buffer.from(stringifyExact(problem), 'utf8');
  reply.code(problem.status).header('content-type', PROBLEM_MEDIA_TYPE).send(bytes);
}

function callOf({ headers, operation }: FastifyRequest) {
  const route = operation?.path.split('/')[1] ?? 'null';
  return { id: String(headers['x-cache-id'] ?? ''), route };
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

/** True for the paths whose errors are problem documents; errors at all other paths are envelopes (decisions H1, E7). */
function isProblemPath(path: string): boolean {
  return path === '/v1' || path.startsWith('/v1/') || path === '/livez' || path === '/readyz';
}

interface KnownPath {
  readonly pattern: RegExp;
  readonly methods: readonly string[];
  readonly operation: Operation;
}

/** The error for a method and path without a route. */
class NotServed {
  readonly #here: readonly KnownPath[];
  readonly #anywhere: readonly KnownPath[];

  /** Takes the operations that are mounted, and in `known` the operations of all roles. */
  constructor(mounted: readonly Operation[], known: readonly Operation[]) {
    this.#here = mounted.map(knownPathOf);
    this.#anywhere = known.map(knownPathOf);
  }

  error(method: string, path: string): TesseraError {
    const here = this.#here.filter(({ pattern }) => pattern.test(path));
    // A path without parameters comes before those that match it with a parameter, which would answer with an error.
    const own = here.filter(({ operation }) => operation.path === path);
    const allowed = new Set((own.length > 0 ? own : here).flatMap(({ methods }) => methods));
    if (allowed.size > 0) {
      const allow = [...allowed].join(', ');
      return new TesseraError('method_not_allowed', `This route takes ${allow}, not ${method}.`, {
        details: { allow },
      });
    }
    const other = this.#anywhere.find(({ pattern, methods }) => pattern.test(path) && methods.includes(method));
    if (other !== undefined) {
      const roles = rolesOf(other.operation).join(' and ');
      const where = other.operation.twin === undefined ? '' : ' where envelope.wallet_routes is true';
      return new TesseraError('not_found', `This node does not serve the route; ${roles} nodes do${where}.`);
    }
    return new TesseraError('not_found', 'There is no such route. GET /v1/openapi.json describes those of this node.');
  }
}

function knownPathOf(operation: Operation): KnownPath {
  const { path, method, aliases = [] } = operation;
  const source = path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+');
  const methods = [method, ...aliases];
  return {
    pattern: new RegExp(`^${source}$`),
    methods: takesHead(operation) ? [...methods, 'HEAD'] : methods,
    operation,
  };
}
