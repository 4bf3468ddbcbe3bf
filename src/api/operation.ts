/** Operations: routes as data, from which the Fastify route, the OpenAPI entry, the typed client and generated tests are made. */

import type { Static, TSchema } from '@sinclair/typebox';
import type { ApiPermission } from '../config/api-keys.js';
import type { ErrorCode } from '../lib/errors.js';
import type { JsonValue } from '../lib/json.js';

export type HttpMethod = 'GET' | 'POST' | 'PUT';

/** The form of errors: problem documents for `v1` and `node`, envelopes for `envelope`. */
export type Family = 'v1' | 'envelope' | 'node';

/** Operation that can be called next, with members of the answer as parameters. */
export interface Link {
  readonly description: string;
  /** Runtime expressions of OpenAPI, by the name of a parameter of the other operation. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** One success answer. Without a schema it has no body. */
export interface Success {
  readonly description: string;
  readonly schema?: TSchema;
  /** An example of this answer, where the example of the schema is of another answer. */
  readonly example?: JsonValue;
  readonly links?: Readonly<Record<string, Link>>;
  /** Media type, when it is not JSON. */
  readonly media?: string;
  /** The answer may carry `ETag`, and a request with `If-None-Match` may be answered 304. */
  readonly cacheable?: boolean;
}

export interface RequestBody {
  readonly schema: TSchema;
  /** True if an empty body means `{}`. */
  readonly optional?: boolean;
  /** The body as `application/octet-stream`, in the chain's own encoding: the schema checks, and the handler gets, what `decode` returns. */
  readonly encoded?: {
    readonly description: string;
    decode(bytes: Uint8Array, turn: () => Promise<void>): Promise<object>;
  };
}

export interface Operation {
  readonly id: string;
  readonly family: Family;
  readonly method: HttpMethod;
  /** A POST that changes nothing: it may be asked again after a lost answer. */
  readonly reads?: boolean;
  /** Other methods that do the same, for clients that use them. */
  readonly aliases?: readonly HttpMethod[];
  /** Path in OpenAPI form: `/v1/blocks/{num}`. */
  readonly path: string;
  readonly tag: string;
  /** True if callers need the header `x-api-key` (decision H3); `optional`: only for some uses, which the route checks itself. */
  readonly apiKey?: boolean | 'optional';
  /** Permission that a key needs, when its permissions are limited. Every operation that takes a key has one. */
  readonly permission?: ApiPermission;
  /** For an older route, the operation under /v1 that does the same. A key that opens one of the two opens the other. */
  readonly twin?: Operation;
  /** True if the operation is never open to callers from other machines, whatever the configuration says. */
  readonly secret?: boolean;
  /** The answer may be long: it is written in slices, and refused with 503 while there are too many of them. */
  readonly long?: boolean;
  /** True for a stateless operation, which `api.tooling_everywhere` mounts on every role (decision V23). */
  readonly tooling?: boolean;
  /** True if callers may send an `Idempotency-Key`: a repetition gets the same answer, and does nothing (docs/wallet.md#paid-exactly-once). */
  readonly idempotencyKey?: boolean;
  readonly summary: string;
  readonly description?: string;
  readonly params?: TSchema;
  readonly query?: TSchema;
  readonly headers?: TSchema;
  readonly body?: RequestBody;
  readonly success: Readonly<Record<number, Success>>;
  /** The answer is a stream of these events, by name, until one side closes it. */
  readonly events?: Readonly<Record<string, TSchema>>;
  /** Error codes of this operation besides the general ones; `problem.ts` knows their statuses. */
  readonly errors: readonly ErrorCode[];
}

/** An operation without its id, family, method, path and tag. A permission implies that the operation asks for a key. */
type Definition = Omit<Operation, 'id' | 'family' | 'method' | 'path' | 'tag'>;

/** Makes operations of a section of the OpenAPI document. Exact types are kept: handlers and client derive theirs from them. */
export function section(tag: string, family: Family = 'v1') {
  const definer =
    <const M extends HttpMethod>(method: M) =>
    <const I extends string, const P extends string, const D extends Definition>(id: I, path: P, definition: D) => {
      const needsKey: Pick<Operation, 'apiKey'> = definition.permission === undefined ? {} : { apiKey: true };
      return { id, family, method, path, tag, ...needsKey, ...definition };
    };
  return { get: definer('GET'), post: definer('POST'), put: definer('PUT') };
}

type StaticOf<S> = S extends TSchema ? Static<S> : undefined;

export interface Arguments<O extends Operation> {
  readonly params: StaticOf<O['params']>;
  readonly query: StaticOf<O['query']>;
  readonly body: O['body'] extends { schema: infer S } ? StaticOf<S> : undefined;
}

export type Result<O extends Operation> = {
  [S in keyof O['success']]: O['success'][S] extends { schema: infer B extends TSchema } ? Static<B> : undefined;
}[keyof O['success']];

export function isRead({ method, reads = false }: Operation): boolean {
  return method === 'GET' || reads;
}

/** True when the operation is served to HEAD as well: not a stream, whose length is not known, nor a GET that changes something. */
export function takesHead({ method, aliases = [], events, twin }: Operation): boolean {
  return [method, ...aliases].includes('GET') && events === undefined && (twin === undefined || isRead(twin));
}

export function membersOf(schema: TSchema | undefined): { name: string; schema: TSchema; required: boolean }[] {
  if (schema === undefined) return [];
  const required: readonly string[] = schema.required ?? [];
  return Object.entries<TSchema>(schema.properties ?? {}).map(([name, member]) => ({
    name,
    schema: member,
    required: required.includes(name),
  }));
}

/** The path as Fastify writes it: `{num}` → `:num`, and a literal colon doubled. */
export function fastifyPath(path: string): string {
  return path.replaceAll(':', '::').replaceAll(/\{(\w+)\}/g, ':$1');
}
