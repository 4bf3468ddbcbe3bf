/** Makes Fastify routes from operations and handlers. Requests are typed and validated by the schemas; handlers return the body. */

import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { TSchema } from '@sinclair/typebox';
import type {
  FastifyInstance,
  FastifyPluginCallback,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteGenericInterface,
  RouteHandlerMethod,
  RouteOptions,
} from 'fastify';
import { fastifyPath, type Operation, type Result, takesHead } from '../operation.js';
import type { Answerable } from './answers.js';
import type { PlannedAnswer } from './long-answers.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation;
  }
}

/** The schemas of an operation where Fastify expects them; the type provider derives the types of a request from them. */
type SchemasOf<O extends Operation> = Part<'params', O['params']> &
  Part<'querystring', O['query']> &
  Part<'body', O['body'] extends { readonly schema: infer S } ? S : undefined>;
type Part<Name extends string, S> = S extends TSchema ? { readonly [K in Name]: S } : unknown;

export type OperationRequest<O extends Operation> = FastifyRequest<
  RouteGenericInterface,
  RawServerDefault,
  RawRequestDefaultExpression,
  SchemasOf<O> & FastifySchema,
  TypeBoxTypeProvider
>;

/** Answer of a handler: the body, now or planned, or the reply when it has sent the answer itself. */
export type Answer<O extends Operation> = Answerable<Result<O>> | PlannedAnswer<Answerable<Result<O>>> | FastifyReply;

export type Handler<O extends Operation> = (
  request: OperationRequest<O>,
  reply: FastifyReply,
) => Answer<O> | Promise<Answer<O>>;

/** A handler for each operation of a group: a missing one, or one too many, is a type error. */
export type Handlers<Group extends readonly Operation[]> = {
  readonly [Id in Group[number]['id']]: Handler<Extract<Group[number], { readonly id: Id }>>;
};

export function routesOf<const Group extends readonly Operation[]>(
  group: Group,
  handlersOf: (app: FastifyInstance) => Handlers<NoInfer<Group>>,
): FastifyPluginCallback {
  return (app, _options, done) => {
    addRoutes(app, group, handlersOf(app));
    done();
  };
}

/** Adds the routes of a group of operations, but for those that another role at this address has added. */
export function addRoutes<const Group extends readonly Operation[]>(
  app: FastifyInstance,
  group: Group,
  handlers: Handlers<NoInfer<Group>>,
): void {
  const byId: Readonly<Record<string, unknown>> = handlers;
  for (const operation of group) {
    if (app.operations.has(operation)) continue;
    const handler = byId[operation.id] as RouteHandlerMethod;
    app.handlers.set(operation, handler as Handler<Operation>);
    const status = Number(Object.keys(operation.success)[0] ?? 200);
    const answering = status === 200 ? handler : answersWith(status, handler);
    app.route({ ...routeOf(operation), handler: operation.long ? longHandler(answering) : answering });
  }
}

export function routeOf(operation: Operation): Omit<RouteOptions, 'handler'> {
  const { method, aliases = [], path, body } = operation;
  return {
    method: [method, ...aliases],
    url: fastifyPath(path),
    config: { operation },
    schema: schemaOf(operation),
    exposeHeadRoute: takesHead(operation),
    ...(body?.optional ? { preValidation: emptyBodyIsObject } : {}),
  };
}

/** The schemas of envelope routes are documentation, except on wallet routes: `envelope/requests.ts` reads their many forms. */
function schemaOf({ family, twin, params, query, body, success }: Operation): FastifySchema {
  const response = { response: answersOf(success) };
  if (family === 'envelope' && twin === undefined) return response;
  return {
    ...(params && { params }),
    ...(query && { querystring: query }),
    ...(body && { body: body.schema }),
    ...response,
  };
}

function answersOf(success: Operation['success']): Readonly<Record<string, TSchema>> {
  const schemas = Object.entries(success).flatMap(([status, { schema }]) =>
    schema ? [[status, schema] as const] : [],
  );
  return Object.fromEntries(schemas);
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: () => void) => void;

const emptyBodyIsObject: Hook = (request, _reply, done) => {
  request.body ??= {};
  done();
};

function answersWith(status: number, handler: RouteHandlerMethod): RouteHandlerMethod {
  return function sendWith(request, reply) {
    reply.code(status);
    return handler.call(this, request, reply);
  };
}

function longHandler(handler: RouteHandlerMethod): RouteHandlerMethod {
  return function sendLong(request, reply) {
    const result: unknown = handler.call(this, request, reply);
    return result instanceof Promise ? result.then<string | Buffer>((value) => reply.long(value)) : reply.long(result);
  };
}
