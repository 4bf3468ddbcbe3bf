/**
 * From an operation and its handler to a Fastify route: key check, validation, the handler, the answer, one log line. The
 * handlers themselves know no request and no reply.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { stringifyExact } from '../../lib/json.js';
import { fastifyPath, type Handler, type Operation, ReadyJson, WithStatus } from '../operation.js';
import type { ApiKeys, Caller } from './api-key.js';
import { JSON_MEDIA_TYPE } from './json.js';
import type { LongAnswers } from './long-answers.js';
import type { OverloadGuard } from './overload.js';
import type { RequestLog } from './request-log.js';
import type { Validate, Validators } from './validator.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation;
  }
}

export interface RouterModules {
  readonly log: RequestLog;
  readonly keys: ApiKeys;
  readonly overload: OverloadGuard;
  readonly validators: Validators;
  readonly long: LongAnswers;
}

/** Mounts an operation on an app. */
export type AddRoute = <O extends Operation>(app: FastifyInstance, operation: O, handler: Handler<O>) => void;

export interface Router {
  readonly add: AddRoute;
  /** What has been mounted so far. */
  readonly mounted: readonly Operation[];
  readonly long: LongAnswers;
  /** For routes that answer in their own way: notes them and gives what all routes have in common. */
  options(operation: Operation): RouteOptions;
  /** Throws unless the caller shows an API key for the operation: for operations that ask for one in some uses only. */
  authorize(operation: Operation, request: FastifyRequest): void;
}

export interface RouteOptions {
  readonly config: { readonly operation: Operation };
  readonly onRequest: (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void;
  readonly onResponse: (request: FastifyRequest, reply: FastifyReply, done: () => void) => void;
}

const IMMUTABLE = 'public, max-age=31536000, immutable';

export function createRouter({ log, keys, overload, validators, long }: RouterModules): Router {
  const mounted: Operation[] = [];

  const options = (operation: Operation): RouteOptions => {
    mounted.push(operation);
    // Health must answer most of all when there is too much work.
    const guarded = operation.family !== 'node';
    return {
      config: { operation },
      onRequest(request, reply, done) {
        addCommonHeaders(request, reply);
        try {
          if (guarded) overload.check();
          if (operation.apiKey === true) {
            reply.header('cache-control', 'no-store');
            keys.check(operation, callerOf(request));
          }
        } catch (error) {
          done(error as Error);
          return;
        }
        done();
      },
      onResponse(request, reply, done) {
        log.add(request, reply, operation.id);
        done();
      },
    };
  };

  return {
    mounted,
    long,
    options,
    authorize: (operation, request) => keys.check(operation, callerOf(request)),
    add(app, operation, handler) {
      const read = createReader(operation, validators);
      const [status] = Object.keys(operation.success).map(Number);
      const answer = (reply: FastifyReply, request: FastifyRequest, result: unknown) => {
        if (operation.long === true) return sendLong(reply.code(status ?? 200), result, long);
        return sendAnswer(request, reply, status ?? 200, result, long);
      };
      app.route({
        method: [operation.method, ...(operation.aliases ?? [])],
        url: fastifyPath(operation.path),
        ...options(operation),
        handler(request, reply) {
          const result = handler(read(request) as never) as unknown;
          if (result instanceof Promise) {
            return result.then((value) => answer(reply, request, value));
          }
          return answer(reply, request, result);
        },
      });
    },
  };
}

/** What every answer has. */
export function addCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
}

function callerOf({ headers, socket }: FastifyRequest): Caller {
  const apiKey = headers['x-api-key'];
  return {
    apiKey: Array.isArray(apiKey) ? apiKey[0] : apiKey,
    address: socket.remoteAddress,
    host: headers.host,
    origin: headers.origin,
    forwarded: headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined,
  };
}

/** Gives the arguments of the handler, checked. */
function createReader(operation: Operation, validators: Validators): (request: FastifyRequest) => object {
  const params = operation.params && validators.compile(operation.params, 'path');
  const query = operation.query && validators.compile(operation.query, 'query');
  const body = operation.body && bodyReader(validators.compile(operation.body.schema, 'body'), operation.body.optional);
  return (request) => ({
    params: params?.(request.params),
    query: query?.(request.query),
    body: body?.(request.body),
  });
}

function bodyReader(check: Validate, optional = false): Validate {
  return (body) => check(optional && (body === undefined || body === null) ? {} : body);
}

/** Sends an answer that may be long, when it is made. */
export function sendLong(
  reply: FastifyReply,
  result: unknown,
  long: LongAnswers,
): FastifyReply | Promise<FastifyReply> {
  const json = long.json(result, reply);
  reply.header('content-type', JSON_MEDIA_TYPE);
  return typeof json === 'string' ? reply.send(json) : json.then((bytes) => reply.send(bytes));
}

function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  result: unknown,
  long: LongAnswers,
): FastifyReply {
  if (result instanceof WithStatus) return sendAnswer(request, reply, result.status, result.body, long);
  if (result instanceof ReadyJson) {
    long.watch(result.bytes.length, reply);
    return sendReady(request, reply.code(status), result);
  }
  if (result === undefined) return reply.code(status).send();
  return reply.code(status).type(JSON_MEDIA_TYPE).send(stringifyExact(result));
}

/** Sends stored bytes as they are, or 304 when the client has them. */
function sendReady(request: FastifyRequest, reply: FastifyReply, { bytes, etag, immutable }: ReadyJson): FastifyReply {
  if (etag !== undefined) {
    const quoted = `"${etag}"`;
    reply.header('etag', quoted).header('cache-control', immutable ? IMMUTABLE : 'no-cache');
    const known = request.headers['if-none-match'];
    if (known !== undefined && matches(known, quoted)) return reply.code(304).send();
  }
  return reply.header('content-type', JSON_MEDIA_TYPE).send(bytes);
}

/** Weak comparison, as RFC 9110 asks for If-None-Match. */
function matches(header: string, etag: string): boolean {
  return header.split(',').some((part) => {
    const tag = part.trim();
    return tag === '*' || tag === etag || tag === `W/${etag}`;
  });
}
