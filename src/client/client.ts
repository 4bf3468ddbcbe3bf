/** A client of a node's API: typed by the operations, integers exact both ways, errors the node's own. */

import type { TSchema } from '@sinclair/typebox';
import type { Arguments, Operation, Result } from '../api/operation.js';
import { type KnownOperation, OPERATIONS } from '../api/operations.js';
import { type JsonValue, stringifyExact } from '../lib/json.js';
import { exchange, type Fetch, MAX_ANSWER_BYTES, notANode, platformFetch, TIMEOUT_MS } from './transport.js';

export interface ClientOptions {
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** Time limit in ms; 0 for none. */
  readonly timeoutMs?: number;
  readonly maxAnswerBytes?: number;
  readonly fetch?: Fetch | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly cacheId?: string;
  /** Key that makes it safe to repeat the request, for operations that take an `Idempotency-Key`. */
  readonly idempotencyKey?: string | undefined;
  readonly timeoutMs?: number;
}

export type CallArguments<O extends Operation> = {
  readonly [Part in keyof Arguments<O> as Arguments<O>[Part] extends undefined ? never : Part]: Arguments<O>[Part];
};

export type CallParameters<O extends Operation> = keyof CallArguments<O> extends never
  ? [args?: Record<string, never> | undefined, options?: CallOptions]
  : [args: CallArguments<O>, options?: CallOptions];

/** Operations that answer with one JSON value. */
export type CallableOperation = Exclude<KnownOperation, { readonly id: 'getDocs' | 'streamEvents' }>;

/** The parts of a request, unchecked: the node checks them. */
export interface AnyArguments {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

type OperationMethods = {
  readonly [O in CallableOperation as O['id']]: (...args: CallParameters<O>) => Promise<Result<O>>;
};

export class NodeClient {
  readonly url: string;
  readonly api: OperationMethods;
  readonly #apiKey: string | undefined;
  readonly #timeoutMs: number;
  readonly #maxAnswerBytes: number;
  readonly #fetch: Fetch;

  constructor(options: ClientOptions) {
    const { url, apiKey, timeoutMs = TIMEOUT_MS, maxAnswerBytes = MAX_ANSWER_BYTES } = options;
    this.#fetch = options.fetch ?? platformFetch;
    this.url = url;
    this.#apiKey = apiKey;
    this.#timeoutMs = timeoutMs;
    this.#maxAnswerBytes = maxAnswerBytes;
    const methods = OPERATIONS.map((operation: Operation) => [
      operation.id,
      (...parameters: CallParameters<Operation>) => this.call(operation, ...parameters),
    ]);
    this.api = Object.fromEntries(methods) as OperationMethods;
  }

  /** Throws `RefusedCall` with the node's error, `NoAnswer`, and `node_unreachable` for an answer that is not of its form. */
  call<O extends Operation>(operation: O, ...[args, options]: CallParameters<O>): Promise<Result<O>> {
    // The answer has the form of the schemas that these types come from.
    return this.#send(operation, (args ?? {}) as AnyArguments, options ?? {}) as Promise<Result<O>>;
  }

  async #send(operation: Operation, args: AnyArguments, options: CallOptions): Promise<JsonValue | undefined> {
    const { signal, cacheId, idempotencyKey, timeoutMs = this.#timeoutMs } = options;
    const sendsKey = this.#apiKey !== undefined && operation.apiKey === true;
    const outgoing = {
      method: operation.method,
      url: targetOf(this.url, operation, args),
      headers: {
        ...(sendsKey ? { 'x-api-key': this.#apiKey } : {}),
        ...(cacheId === undefined ? {} : { 'x-cache-id': cacheId }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      ...(args.body === undefined ? {} : { body: stringifyExact(args.body) }),
    };
    const sending = { fetch: this.#fetch, signal, timeoutMs, maxAnswerBytes: this.#maxAnswerBytes };
    const { status, answer } = await exchange(outgoing, sending, (code) => operation.success[code] !== undefined);
    const faults = formsOf(operation, status).map((schema) =>
      schema === undefined ? undefined : misfit(schema, answer),
    );
    if (faults.includes(undefined)) return answer;
    throw notANode(outgoing.url.origin, faults[0] ?? `status ${status} without an answer`);
  }
}

/** Forms that the answer may have; undefined is an answer without a body, whose status says all. */
function formsOf({ success }: Operation, status: number): readonly (TSchema | undefined)[] {
  const described = success[status];
  return described === undefined ? Object.values(success).flatMap(({ schema }) => schema ?? []) : [described.schema];
}

function targetOf(url: string, { path }: Operation, { params = {}, query = {} }: AnyArguments): URL {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(String(params[name] ?? '')));
  const target = new URL(filled, url);
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) target.searchParams.append(name, String(one));
    }
  }
  return target;
}

/** The first difference between an answer and its schema, in words; undefined if it fits. Members of newer nodes are accepted. */
function misfit(schema: TSchema, value: unknown, place = 'its answer'): string | undefined {
  const { anyOf, type, properties = {}, required = [], additionalProperties, items } = schema;
  if (Array.isArray(anyOf)) {
    const faults = anyOf.map((one: TSchema) => misfit(one, value, place));
    return faults.includes(undefined) ? undefined : faults[0];
  }
  const types: readonly string[] = type === undefined ? [] : [type].flat();
  if (types.length > 0 && !types.some((one) => isOfType(one, value))) return `${place} is no ${types.join(' or ')}`;
  if (Array.isArray(value)) {
    return Array.isArray(items) || items === undefined ? undefined : first(value, (one) => misfit(items, one, place));
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const missing = required.find((name: string) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `${place} has no ${missing}`;
  return first(Object.entries(value), ([name, one]) => {
    const member: unknown = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    return typeof member === 'object' ? misfit(member as TSchema, one, name) : undefined;
  });
}

function first<T>(list: readonly T[], find: (one: T) => string | undefined): string | undefined {
  for (const one of list) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isOfType(type: string, value: unknown): boolean {
  if (type === 'array') return Array.isArray(value);
  if (type === 'null') return value === null;
  if (type === 'integer') return typeof value === 'bigint' || Number.isInteger(value);
  if (type === 'number') return typeof value === 'bigint' || typeof value === 'number';
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}
