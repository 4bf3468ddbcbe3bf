/** The OpenAPI 3.1 document, made from the operations: of the whole API, of a role, or of what one node mounts. */

import type { TSchema } from '@sinclair/typebox';
import { sha3Hex } from '../../crypto/sha3.js';
import { ERROR_CODES, type ErrorCode } from '../../lib/errors.js';
import { stringifyExact } from '../../lib/json.js';
import { NODE_ROLES, type NodeRole } from '../../lib/roles.js';
import { MAX_IDEMPOTENCY_KEY } from '../http/idempotency-key.js';
import { errorStatusesOf, PROBLEM_MEDIA_TYPE } from '../http/problem.js';
import { membersOf, type Operation, type Success } from '../operation.js';
import type { ApiLimits } from '../options.js';
import { ErrorEnvelope } from '../routes/envelope/operations.js';
import { ApiProblem } from '../schemas/problem.js';

/** Version of the interface description (contract, Versioning, rule 1). */
const API_VERSION = '1.1.2';

const TAGS: Readonly<Record<string, string>> = {
  Common: 'Served by every node.',
  Mempool: 'Transactions, balances, supply, item creation.',
  Storage: 'Stored blocks and transactions.',
  Mining: 'The block being mined.',
  Wallet: 'The wallet of a miner or user node.',
  Payments: 'Payments and donation requests of a node with a wallet.',
  Tools: 'Encoding and decoding of transactions; touches no mempool and no wallet.',
  Events: 'Events of the node as they happen. An extension of the interface.',
  Health: 'For supervisors and load balancers.',
  Envelope: 'The older routes: every answer is wrapped in an envelope, and x-cache-id makes repeated requests safe.',
};

const DESCRIPTION =
  'Reads chain state, submits transactions and operates the wallet of a node. Amounts are integers in raw token units ' +
  'unless a field says display units; one display unit is 72,072,000 raw units. Integers are exact up to 2^64 - 1: use a ' +
  'parser that preserves them. Errors of /v1 routes are problem documents (RFC 9457) with a `code` for programs.';

const SECURITY_SCHEMES = {
  api_key: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'A key from the operator of the node.' },
};

/** Plain JSON of a document or a part of it. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = { readonly [key: string]: Json };

export interface DocumentOptions {
  /** Roles that the document is for; without them it is the whole API. */
  readonly roles?: readonly NodeRole[];
  readonly limits?: Pick<ApiLimits, 'batch' | 'queryValues'>;
}

/** The document of some operations. */
export function openApiDocument(operations: readonly Operation[], { roles, limits }: DocumentOptions = {}): JsonObject {
  const schemas = new SchemaSet(limits);
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of operations) {
    for (const [index, method] of [operation.method, ...(operation.aliases ?? [])].entries()) {
      const item = paths[operation.path] ?? {};
      // An operation id names one method, so an alias gets an id of its own.
      const operationId = index === 0 ? operation.id : `${operation.id}${capitalized(method.toLowerCase())}`;
      const idempotencyKey = operation.idempotencyKey === true && keepsKeys(roles);
      item[method.toLowerCase()] = operationEntry({ ...operation, method, idempotencyKey }, operationId, schemas);
      paths[operation.path] = item;
    }
  }
  const used = new Set(operations.map(({ tag }) => tag));
  return {
    openapi: '3.1.0',
    info: {
      title: titleOf(roles),
      version: API_VERSION,
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The node that serves this document.' }],
    tags: Object.entries(TAGS)
      .filter(([name]) => used.has(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: schemas.named(),
      ...(operations.some(({ apiKey }) => apiKey) ? { securitySchemes: SECURITY_SCHEMES } : {}),
    },
  };
}

/** Only nodes with a wallet keep Idempotency-Keys. */
function keepsKeys(roles: readonly NodeRole[] = NODE_ROLES): boolean {
  return roles.includes('miner') || roles.includes('user');
}

function titleOf(roles: readonly NodeRole[] | undefined): string {
  if (roles === undefined) return 'Node REST API';
  const [only = ''] = roles;
  return `Node REST API: ${roles.length === 1 ? `${only} node` : `${roles.join(', ')} at one address`}`;
}

/** The served document, and its ETag. */
export function describeApi(
  operations: readonly Operation[],
  options: DocumentOptions,
): { text: string; etag: string } {
  const text = stringifyExact(openApiDocument(operations, options));
  return { text, etag: sha3Hex(text).slice(0, 32) };
}

function operationEntry(operation: Operation, operationId: string, schemas: SchemaSet): JsonObject {
  const { tag, summary, description, body, apiKey, method, events } = operation;
  const parameters = parametersOf(operation, schemas);
  const takesBody = body !== undefined && method !== 'GET';
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: apiKey ? [...(apiKey === 'optional' ? [{}] : []), { api_key: [] }] : [],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(takesBody
      ? { requestBody: { required: body.optional !== true, content: jsonContent(body.schema, schemas) } }
      : {}),
    responses: responsesOf(operation, schemas),
    ...(events === undefined
      ? {}
      : {
          'x-events': Object.fromEntries(Object.entries(events).map(([name, schema]) => [name, schemas.use(schema)])),
        }),
  };
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

function responsesOf(operation: Operation, schemas: SchemaSet): JsonObject {
  const responses: Record<string, Json> = {};
  for (const [status, success] of Object.entries(operation.success)) {
    responses[status] = successResponse(success, schemas);
    if (success.cacheable) responses['304'] = { description: 'The client already has it (If-None-Match).' };
  }
  for (const [status, codes] of errorStatusesOf(operation)) {
    // /readyz has an answer of its own for 503.
    responses[status] ??= errorResponse(operation, codes, schemas);
  }
  return responses;
}

function successResponse({ description, schema, media, cacheable }: Success, schemas: SchemaSet): JsonObject {
  const etag = { ETag: { description: 'Name of the content.', schema: { type: 'string' } } };
  return {
    description,
    ...(cacheable ? { headers: etag } : {}),
    ...(schema === undefined ? {} : { content: jsonContent(schema, schemas, media) }),
  };
}

function errorResponse(operation: Operation, codes: readonly ErrorCode[], schemas: SchemaSet): JsonObject {
  const description = codes.map((code) => `\`${code}\`: ${ERROR_CODES[code]}`).join('\n');
  if (operation.family === 'envelope') {
    return { description, content: { 'application/json': { schema: schemas.use(ErrorEnvelope) } } };
  }
  return { description, content: { [PROBLEM_MEDIA_TYPE]: { schema: schemas.use(ApiProblem) } } };
}

function jsonContent(schema: TSchema, schemas: SchemaSet, media = 'application/json'): JsonObject {
  const [example] = (schema.examples ?? []) as Json[];
  return { [media]: { schema: schemas.use(schema), ...(example === undefined ? {} : { example }) } };
}

/** Words for our own validators that are not keywords of JSON Schema. */
const OWN_WORDS = new Set(['$id', 'x-limit', 'x-range', 'x-fault']);

/** The schemas of the document, in which each named one appears once. */
class SchemaSet {
  readonly #limits: DocumentOptions['limits'];
  readonly #named = new Map<string, JsonObject>();

  constructor(limits: DocumentOptions['limits']) {
    this.#limits = limits;
  }

  /** The schema as it appears in the document: a reference if it has a name. */
  use(schema: TSchema): JsonObject {
    return this.#use(schema as unknown as JsonObject);
  }

  /** All named schemas in use, by name. */
  named(): JsonObject {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #use(schema: JsonObject): JsonObject {
    const name = schema.$id;
    if (typeof name !== 'string') return this.#plain(schema);
    if (!this.#named.has(name)) {
      // Set before its parts are visited, so that a schema may refer to itself.
      this.#named.set(name, {});
      this.#named.set(name, this.#plain(schema));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #plain(schema: JsonObject): JsonObject {
    const copy: Record<string, Json> = {};
    for (const [word, value] of Object.entries(schema)) {
      if (value !== undefined && !OWN_WORDS.has(word))
        copy[word] = word === 'examples' ? value : this.#member(word, value);
    }
    const limit = schema['x-limit'] === 'batch' ? this.#limits?.batch : this.#limits?.queryValues;
    if (schema['x-limit'] !== undefined && limit !== undefined) {
      copy[schema.type === 'object' ? 'maxProperties' : 'maxItems'] = limit;
    }
    return copy;
  }

  #member(word: string, value: Json): Json {
    if (Array.isArray(value)) return value.map((item) => (isObject(item) ? this.#use(item) : item));
    if (!isObject(value) || word === 'discriminator') return value;
    if (word !== 'properties') return this.#use(value);
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, isObject(member) ? this.#use(member) : member]),
    );
  }
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function capitalized(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
