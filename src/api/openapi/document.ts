/** The OpenAPI 3.1 document, made from the operations: of the whole API, of a role, or of what one node mounts. */

import { STATUS_CODES } from 'node:http';
import type { TSchema } from '@sinclair/typebox';
import { sha3Hex } from '../../crypto/sha3.js';
import { ERROR_CODES, type ErrorCode, TesseraError } from '../../lib/errors.js';
import { prettyExact, stringifyExact } from '../../lib/json.js';
import { hasWallet, NODE_ROLES, type NodeRole } from '../../lib/roles.js';
import { MAX_IDEMPOTENCY_KEY } from '../http/idempotency-key.js';
import { ENCODED_MEDIA_TYPE } from '../http/json.js';
import { ApiProblem, errorStatusesOf, PROBLEM_MEDIA_TYPE, problemOf } from '../http/problem.js';
import { membersOf, type Operation, type RequestBody, type Success } from '../operation.js';
import { OPERATIONS, operationsOf } from '../operations.js';
import { devOperations } from '../routes/dev/operations.js';
import { errorEnvelope } from '../routes/envelope/envelope.js';
import { ErrorEnvelope } from '../routes/envelope/operations.js';
import { type Json, type JsonObject, SchemaSet, type SchemaSetOptions } from './schema-set.js';

/** Version of the interface description (contract, Versioning, rule 1). */
const API_VERSION = '1.1.2';

const TAGS: Readonly<Record<string, string>> = {
  Common: 'Served by every node.',
  Mempool: 'Transactions, balances, supply, item creation.',
  Storage: 'Stored blocks and transactions.',
  Mining: 'The block being mined.',
  Wallet: 'The wallet of a miner or user node.',
  Payments: 'Payments and donation requests of a node with a wallet.',
  Trades: 'Trades of tokens and items with other wallets. An extension of the interface.',
  Tools: 'Encoding and decoding of transactions; touches no mempool and no wallet.',
  Events: 'Events of the node as they happen. An extension of the interface.',
  Health: 'For supervisors and load balancers.',
  Dev: 'Of dev networks only: a faucet, blocks on request, the clock, snapshots.',
  'Older wallet routes':
    'Of nodes with `envelope.wallet_routes`: what the original node serves for its wallet, in envelopes.',
  Envelope: 'The older routes: every answer is wrapped in an envelope, and x-cache-id makes repeated requests safe.',
};

const DESCRIPTION =
  'Reads chain state, submits transactions and operates the wallet of a node. Amounts are integers in raw token units ' +
  'unless a field says display units; one display unit is 72,072,000 raw units. Integers are exact up to 2^64 - 1: use a ' +
  'parser that preserves them. Errors of /v1 routes are problem documents (RFC 9457) with a `code` for programs.';

const SECURITY_SCHEMES = {
  api_key: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'A key from the operator of the node.' },
};

/** Options of a document; without `roles` it is the document of the whole API. */
export interface DocumentOptions extends SchemaSetOptions {
  /** Operations, by their ids, that this node may do without an API key. */
  readonly open?: 'all' | readonly string[] | undefined;
}

interface Parts {
  readonly schemas: SchemaSet;
  readonly errors: ErrorResponses;
  readonly isOpen: (id: string) => boolean;
  readonly ids: ReadonlySet<string>;
}

export function openApiDocument(operations: readonly Operation[], options: DocumentOptions = {}): JsonObject {
  const { roles, open = [] } = options;
  const schemas = new SchemaSet(options);
  const errors = new ErrorResponses(schemas);
  const ids = new Set(operations.map(({ id }) => id));
  const parts: Parts = { schemas, errors, ids, isOpen: (id) => open === 'all' || open.includes(id) };
  const used = new Set(operations.map(({ tag }) => tag));
  return {
    openapi: '3.1.0',
    info: {
      title: used.has('Dev') ? 'Node REST API: dev network' : titleOf(roles),
      version: API_VERSION,
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The node that serves this document.' }],
    tags: Object.entries(TAGS)
      .filter(([name]) => used.has(name))
      .map(([name, description]) => ({ name, description })),
    paths: pathsOf(operations, roles, parts),
    components: {
      schemas: schemas.named(),
      ...errors.components(),
      ...(operations.some(({ apiKey }) => apiKey) ? { securitySchemes: SECURITY_SCHEMES } : {}),
    },
  };
}

function pathsOf(operations: readonly Operation[], roles: readonly NodeRole[] | undefined, parts: Parts): JsonObject {
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of operations) {
    for (const [index, method] of [operation.method, ...(operation.aliases ?? [])].entries()) {
      const item = paths[operation.path] ?? {};
      // An operation id names one method, so an alias gets an id of its own.
      const operationId = index === 0 ? operation.id : `${operation.id}${capitalized(method.toLowerCase())}`;
      const idempotencyKey = operation.idempotencyKey === true && keepsKeys(roles);
      item[method.toLowerCase()] = operationEntry({ ...operation, method, idempotencyKey }, operationId, parts);
      paths[operation.path] = item;
    }
  }
  return paths;
}

function keepsKeys(roles: readonly NodeRole[] = NODE_ROLES): boolean {
  return roles.some(hasWallet);
}

function titleOf(roles: readonly NodeRole[] | undefined): string {
  if (roles === undefined) return 'Node REST API';
  const [only = ''] = roles;
  return `Node REST API: ${roles.length === 1 ? `${only} node` : `${roles.join(', ')} at one address`}`;
}

export function describeApi(
  operations: readonly Operation[],
  options: DocumentOptions,
): { text: string; etag: string } {
  const text = stringifyExact(openApiDocument(operations, options));
  return { text, etag: sha3Hex(text).slice(0, 32) };
}

function operationEntry(operation: Operation, operationId: string, parts: Parts): JsonObject {
  const { tag, summary, description, body, method, events } = operation;
  const { schemas } = parts;
  const parameters = parametersOf(operation, schemas);
  const takesBody = body !== undefined && method !== 'GET';
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: securityOf(operation, parts),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(takesBody ? { requestBody: { required: body.optional !== true, content: bodyContent(body, schemas) } } : {}),
    responses: responsesOf(operation, parts),
    ...(events === undefined
      ? {}
      : {
          'x-events': Object.fromEntries(Object.entries(events).map(([name, schema]) => [name, schemas.use(schema)])),
        }),
  };
}

/** An empty requirement beside the key says that it may be left out. */
function securityOf({ id, apiKey }: Operation, { isOpen }: Parts): Json {
  if (!apiKey) return [];
  return [...(apiKey === 'optional' || isOpen(id) ? [{}] : []), { api_key: [] }];
}

function parametersOf({ params, query, headers, family, idempotencyKey }: Operation, schemas: SchemaSet): Json[] {
  const parameters: Json[] = [];
  const add = (members: ReturnType<typeof membersOf>, place: 'path' | 'query' | 'header') => {
    for (const { name, schema, required } of members) {
      const { description, ...rest } = schemas.use(schema);
      parameters.push({
        name,
        in: place,
        required,
        ...(description === undefined ? {} : { description }),
        schema: rest,
        ...(schema.type === 'array' ? { style: 'form', explode: true } : {}),
      });
    }
  };
  add(membersOf(params), 'path');
  add(membersOf(query), 'query');
  add(membersOf(headers), 'header');
  if (idempotencyKey) parameters.push(IDEMPOTENCY_KEY_HEADER);
  if (family === 'envelope') {
    parameters.push({
      name: 'x-cache-id',
      in: 'header',
      required: false,
      description: 'Idempotency id; a repeat with the same id, route and body gets the stored answer.',
      schema: { type: 'string', pattern: '^[a-z0-9]{32}$', examples: ['a1d46199e5c89b00509e118f5af83172'] },
    });
  }
  return parameters;
}

const IDEMPOTENCY_KEY_HEADER = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A name for this request, best a UUID, with or without quotes. A repetition with the same key gets the same answer and ' +
    'does nothing; with the same key and another body it is refused. Without an answer, or with an error, repeat it with ' +
    'the same key. Keys are kept until the end of the next day (UTC), for all callers together. An extension of the contract.',
  schema: {
    type: 'string',
    minLength: 1,
    maxLength: MAX_IDEMPOTENCY_KEY,
    examples: ['8e03978e-40d5-43dd-bc93-6894a57f9324'],
  },
};

function responsesOf(operation: Operation, parts: Parts): JsonObject {
  const responses: Record<string, Json> = {};
  for (const [status, success] of Object.entries(operation.success)) {
    responses[status] = successResponse(success, parts);
    if (success.cacheable) responses['304'] = { description: 'The client already has it (If-None-Match).' };
  }
  // /readyz has an answer of its own for 503.
  for (const [status, response] of parts.errors.of(operation)) responses[status] ??= response;
  return responses;
}

function successResponse(success: Success, parts: Parts): JsonObject {
  const { description, schema, cacheable } = success;
  const etag = { ETag: { description: 'Name of the content.', schema: { type: 'string' } } };
  const links = linksOf(success, parts.ids);
  return {
    description,
    ...(cacheable ? { headers: etag } : {}),
    ...(schema === undefined ? {} : { content: successContent(success, schema, parts) }),
    ...(links === undefined ? {} : { links }),
  };
}

function successContent({ media, example }: Success, schema: TSchema, { schemas }: Parts): JsonObject {
  // `x-events` describes a stream: before OpenAPI 3.2, tools read a schema as one of the whole text or as one of each event.
  if (media === 'text/event-stream') return { [media]: {} };
  const content = jsonContent(schema, schemas, media);
  if (example === undefined) return content;
  return Object.fromEntries(Object.entries(content).map(([type, one]) => [type, { ...(one as JsonObject), example }]));
}

function bodyContent({ schema, encoded }: RequestBody, schemas: SchemaSet): JsonObject {
  const json = jsonContent(schema, schemas);
  if (encoded === undefined) return json;
  const { description } = encoded;
  return { ...json, [ENCODED_MEDIA_TYPE]: { schema: { type: 'string', format: 'binary', description } } };
}

/** Links to operations of the same document: the document of a mempool node cannot name an operation of a storage node. */
function linksOf({ links = {} }: Success, ids: ReadonlySet<string>): JsonObject | undefined {
  const served = Object.entries(links).filter(([id]) => ids.has(id));
  if (served.length === 0) return undefined;
  return Object.fromEntries(
    served.map(([operationId, { description, parameters }]) => [
      operationId,
      { operationId, description, parameters: { ...parameters } },
    ]),
  );
}

function jsonContent(schema: TSchema, schemas: SchemaSet, media = 'application/json'): JsonObject {
  const [example] = (schema.examples ?? []) as Json[];
  return { [media]: { schema: schemas.use(schema), ...(example === undefined ? {} : { example }) } };
}

function capitalized(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

export interface OpenApiFile {
  /** Name of the file: `node-v1.json`. */
  readonly name: string;
  readonly text: string;
}

export function openApiFiles(): OpenApiFile[] {
  const whole = { name: 'node-v1.json', text: `${prettyExact(openApiDocument(OPERATIONS))}\n` };
  const perRole = NODE_ROLES.map((role) => ({
    name: `${role}.json`,
    text: `${prettyExact(openApiDocument(operationsOf(role), { roles: [role] }))}\n`,
  }));
  const roles = NODE_ROLES;
  const network = { name: 'network.json', text: `${prettyExact(openApiDocument(operationsOf(roles), { roles }))}\n` };
  const dev = [...operationsOf(roles, true), ...devOperations];
  return [whole, ...perRole, network, { name: 'dev.json', text: `${prettyExact(openApiDocument(dev, { roles }))}\n` }];
}

/** Answers to unreadable requests, which every route may give, whatever its family. */
const UNREADABLE: Readonly<Record<string, string>> = {
  408: 'The request did not arrive in time.',
  417: 'The node meets no expectation but 100-continue.',
  431: 'The header is too large.',
};
/** Most codes of a response that is described once for all operations that have it. */
const MOST_SHARED_CODES = 2;

class ErrorResponses {
  readonly #schemas: SchemaSet;
  readonly #examples = new Map<string, JsonObject>();
  readonly #responses = new Map<string, JsonObject>();

  constructor(schemas: SchemaSet) {
    this.#schemas = schemas;
  }

  of(operation: Operation): ReadonlyMap<string, JsonObject> {
    const responses = new Map<string, JsonObject>();
    for (const [status, codes] of errorStatusesOf(operation)) {
      responses.set(String(status), this.#response(operation, String(status), codes));
    }
    for (const status of Object.keys(UNREADABLE)) responses.set(status, this.#unreadable(status));
    return new Map([...responses].sort(([a], [b]) => Number(a) - Number(b)));
  }

  components(): JsonObject {
    return { responses: sorted(this.#responses), examples: sorted(this.#examples) };
  }

  #response(operation: Operation, status: string, codes: readonly ErrorCode[]): JsonObject {
    const description = codes.map((code) => `\`${code}\`: ${ERROR_CODES[code]}`).join('\n');
    const isEnvelope = operation.family === 'envelope';
    const examples = codes.map((code) => [code, this.#example(operation, status, code)] as const);
    const content = {
      schema: this.#schemas.use(isEnvelope ? ErrorEnvelope : ApiProblem),
      examples: Object.fromEntries(examples),
    };
    const response = { description, content: { [isEnvelope ? 'application/json' : PROBLEM_MEDIA_TYPE]: content } };
    if (codes.length > MOST_SHARED_CODES) return response;
    return this.#shared([...(isEnvelope ? ['envelope'] : []), ...codes, status].join('.'), response);
  }

  #example({ id, family }: Operation, status: string, code: ErrorCode): JsonObject {
    const error = new TesseraError(code, ERROR_CODES[code]);
    const name = `${family === 'envelope' ? 'envelope.' : ''}${code}.${status}`;
    const value: Json = family === 'envelope' ? JSON.parse(errorEnvelope(error).json) : problemOf(error, id);
    if (!this.#examples.has(name)) this.#examples.set(name, { summary: ERROR_CODES[code], value });
    return { $ref: `#/components/examples/${name}` };
  }

  #unreadable(status: string): JsonObject {
    const detail = UNREADABLE[status] ?? '';
    const value = {
      type: 'about:blank',
      title: STATUS_CODES[status] ?? '',
      status: Number(status),
      detail,
      code: 'invalid_request',
    };
    const schema = this.#schemas.use(ApiProblem);
    const content = { [PROBLEM_MEDIA_TYPE]: { schema, example: value } };
    return this.#shared(`unreadable.${status}`, { description: detail, content });
  }

  #shared(name: string, response: JsonObject): JsonObject {
    this.#responses.set(name, response);
    return { $ref: `#/components/responses/${name}` };
  }
}

function sorted(named: ReadonlyMap<string, JsonObject>): JsonObject {
  return Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1)));
}
