/**
 * The contract fuzz: requests made from the definitions of the operations, whole and broken in many ways, to apps of all
 * four roles; and what every answer must be like: documented, of the right media type, of the right shape.
 */

import type { FastifyInstance } from 'fastify';
import { ApiProblem, errorStatusesOf } from '../../../src/api/http/problem.js';
import { createChecker } from '../../../src/api/http/validator.js';
import { membersOf, type Operation } from '../../../src/api/operation.js';
import { OPERATIONS, operationsOf } from '../../../src/api/operations.js';
import type { ApiModules } from '../../../src/api/options.js';
import { ErrorEnvelope } from '../../../src/api/routes/envelope/operations.js';
import { ERROR_CODES, type ErrorCode, TesseraError } from '../../../src/lib/errors.js';
import { parseExactJson, stringifyExact } from '../../../src/lib/json.js';
import { NODE_ROLES, type NodeRole } from '../../../src/lib/roles.js';
import { fc } from '../property.js';
import { API_KEY, apiModules, buildApp } from './app.js';
import type { Calls } from './fakes.js';
import { arbitraryOf, EDGE_INTEGERS } from './schema-arbitrary.js';

const ROLES: readonly NodeRole[] = NODE_ROLES;

const BY_ID: ReadonlyMap<string, Operation> = new Map(OPERATIONS.map((operation) => [operation.id, operation]));

function operationOf({ operation }: FuzzRequest): Operation {
  const found = BY_ID.get(operation);
  if (found === undefined) throw new Error(`no operation ${operation}`);
  return found;
}

/** Service calls that change something. */
const CHANGES = new Set([
  'submit',
  'createItem',
  'newAddress',
  'importKeyPairs',
  'changePassphrase',
  'refresh',
  'payAddress',
  'payPeer',
  'requestDonation',
]);

export interface FuzzRequest {
  readonly role: NodeRole;
  /** An operation id. */
  readonly operation: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Buffer | undefined;
  /** What the services throw, if they are called. */
  readonly fault: ErrorCode | undefined;
}

type Mutation = (text: string) => string | Buffer;

const hugeList = (text: string): string => `[${Array.from({ length: 1001 }, () => text).join(',')}]`;

/** Ways to break a body's text. */
const TEXT_MUTATIONS: readonly Mutation[] = [
  (text) => text.slice(0, Math.max(0, text.length - 1)),
  (text) => `${text}}`,
  () => '',
  () => 'null',
  () => '[]',
  () => '{}',
  () => '"text"',
  () => '[['.repeat(100),
  () => `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
  (text) => text.replace('{', '{"__proto__":{"a":1},'),
  (text) => text.replace('{', '{"constructor":{"prototype":{}},'),
  (text) => text.replace(/"(\w+)":/, '"$1":0,"$1":'),
  (text) => Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.of(0xff, 0xfe)]),
  (text) => `\uFEFF${text}`,
  (text) => text.replace(/\d+/, '1e400'),
  (text) => text.replace(/\d+/, '18446744073709551616'),
  (text) => text.replace(/:\s*\d+/, ':-1'),
  (text) => text.replace(/:\s*\d+/, ':1.5'),
  (text) => text.replace(/:\s*\d+/, ':"5"'),
  (text) => text.replace(/\[([^[\]]+)\]/, (_all, inside: string) => hugeList(inside.split(',')[0] ?? '0')),
  (text) => text.replace(/"[^"]*"(?!\s*:)/, '"\\ud800"'),
  (text) => text.replace(/"[^"]*"(?!\s*:)/, `"${'x'.repeat(5_000)}"`),
];

/** A value with something wrong in one place. */
function brokenValue(value: unknown): fc.Arbitrary<unknown> {
  const junk = fc.oneof(
    fc.constantFrom<unknown>(null, '', 'x', -1, 1.5, true, [], {}, 2n ** 63n, 2n ** 64n, -(2n ** 63n)),
    fc.constantFrom(...EDGE_INTEGERS),
    fc.jsonValue({ maxDepth: 2 }),
  );
  if (typeof value !== 'object' || value === null) return junk;
  const keys = Object.keys(value);
  if (keys.length === 0) return junk;
  return fc.tuple(fc.constantFrom(...keys), fc.constantFrom('drop', 'junk', 'inside')).chain(([key, way]) => {
    const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...value] : { ...value };
    const member = Reflect.get(value, key) as unknown;
    if (way === 'drop') {
      if (Array.isArray(copy)) copy.splice(Number(key), 1);
      else delete copy[key];
      return fc.constant<unknown>(copy);
    }
    return (way === 'inside' ? brokenValue(member) : junk).map((broken) => {
      const changed: Record<string, unknown> | unknown[] = Array.isArray(copy) ? [...copy] : { ...copy };
      Reflect.set(changed, key, broken);
      return changed as unknown;
    });
  });
}

function payloadArbitrary(operation: Operation): fc.Arbitrary<Buffer | undefined> {
  const { body } = operation;
  const none = fc.constant(undefined);
  if (body === undefined) {
    const tolerated = fc.constantFrom(Buffer.from(''), Buffer.from('{}'), Buffer.from('{'));
    return fc.oneof({ weight: 4, arbitrary: none }, tolerated);
  }
  const whole = arbitraryOf(body.schema);
  const asBytes = (value: unknown): Buffer => Buffer.from(stringifyExact(value));
  return fc.oneof(
    { weight: 4, arbitrary: whole.map(asBytes) },
    { weight: 3, arbitrary: whole.chain(brokenValue).map(asBytes) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(whole, fc.constantFrom(...TEXT_MUTATIONS))
        .map(([value, mutate]) => Buffer.from(mutate(stringifyExact(value)) as string)),
    },
    { weight: 1, arbitrary: none },
  );
}

/** Values of a path or query as they stand in a URL. */
function textArbitrary(schema: Parameters<typeof arbitraryOf>[0]): fc.Arbitrary<string> {
  const good = arbitraryOf(schema).map((value) =>
    encodeURIComponent(typeof value === 'string' ? toWellFormed(value) : String(value)),
  );
  const bad = fc.constantFrom(
    '',
    '-1',
    '1.5',
    'x',
    '9007199254740993',
    '9223372036854775808',
    '%ff',
    '%3A',
    'true',
    '1e3',
  );
  return fc.oneof({ weight: 3, arbitrary: good }, bad);
}

function toWellFormed(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}

function urlArbitrary({ path, params, query }: Operation): fc.Arbitrary<string> {
  const parts = membersOf(params).map(({ name, schema }) => textArbitrary(schema).map((text) => [name, text] as const));
  const values = membersOf(query).map(({ name, schema }) => {
    const item = (schema.items ?? schema) as Parameters<typeof arbitraryOf>[0];
    const once = textArbitrary(item).map((text) => [`${name}=${text}`]);
    const often = fc
      .array(textArbitrary(item), { maxLength: 4 })
      .map((texts) => texts.map((text) => `${name}=${text}`));
    const tooOften = textArbitrary(item).map((text) => Array.from({ length: 101 }, () => `${name}=${text}`));
    return fc.oneof({ weight: 6, arbitrary: once }, { weight: 3, arbitrary: often }, tooOften);
  });
  const noise = fc.constantFrom([], [], [], ['unknown=1'], ['__proto__=1'], ['=']);
  const colon = fc.constantFrom(':', ':', '%3A', '%3a');
  return fc.tuple(fc.tuple(...parts), fc.tuple(...values), noise, colon).map(([named, lists, extra, separator]) => {
    const base = named.reduce((url, [name, text]) => url.replace(`{${name}}`, () => text || 'x'), path);
    const search = [...lists.flat(), ...extra].join('&');
    return base.replaceAll(':', separator) + (search === '' ? '' : `?${search}`);
  });
}

function headersArbitrary({ family, apiKey }: Operation): fc.Arbitrary<Record<string, string>> {
  const keys = fc.constantFrom<string | undefined>(
    API_KEY,
    API_KEY,
    API_KEY,
    API_KEY,
    undefined,
    '',
    'wrong-key-0123456',
  );
  const ids = fc.oneof(
    fc.constant(undefined),
    fc.stringMatching(/^[a-z0-9]{32}$/),
    fc.constantFrom('A'.repeat(32), 'short', ''),
  );
  const types = fc.constantFrom(
    ...Array.from({ length: 12 }, () => 'application/json'),
    'application/json; charset=utf-8',
    'text/plain',
    'application/x-www-form-urlencoded',
    'nonsense',
    undefined,
  );
  return fc.tuple(keys, ids, types, fc.constantFrom(undefined, '*', 'W/"x"')).map(([key, id, type, match]) => ({
    ...(apiKey && key !== undefined ? { 'x-api-key': key } : {}),
    ...(family === 'envelope' && id !== undefined ? { 'x-cache-id': id } : {}),
    ...(type === undefined ? {} : { 'content-type': type }),
    ...(match === undefined ? {} : { 'if-none-match': match }),
  }));
}

/** The page of the docs is a redirect to files, and an event stream does not end. */
const isWholeAnswer = ({ id, events }: Operation): boolean => id !== 'getDocs' && events === undefined;

/** Requests to any operation of any role, most to those that the role serves. */
export function requestArbitrary(): fc.Arbitrary<FuzzRequest> {
  // The page at /v1/docs is a page: a browser tests it.
  const all = (OPERATIONS as readonly Operation[]).filter(isWholeAnswer);
  const perRole = ROLES.map((role) => {
    const own = new Set(operationsOf(role).map(({ id }) => id));
    const weighted = all.map((operation) => ({
      weight: own.has(operation.id) ? 20 : 1,
      arbitrary: requestTo(role, operation),
    }));
    return fc.oneof(...weighted);
  });
  return fc.oneof(...perRole);
}

function requestTo(role: NodeRole, operation: Operation): fc.Arbitrary<FuzzRequest> {
  const methods = [operation.method, ...(operation.aliases ?? [])];
  const often = Array.from({ length: 6 }, () => methods).flat();
  return fc.record({
    role: fc.constant(role),
    operation: fc.constant(operation.id),
    method: fc.constantFrom(...often, 'DELETE', 'PATCH', 'OPTIONS'),
    url: urlArbitrary(operation),
    headers: headersArbitrary(operation),
    payload: payloadArbitrary(operation),
    fault: fc.constantFrom(undefined, undefined, undefined, undefined, ...operation.errors),
  });
}

/** Codes that only the app itself gives: a service that throws them would be wrong. */
const NOT_FROM_SERVICES = new Set<ErrorCode>(['idempotency_conflict', 'malformed_json']);

export interface FuzzTarget {
  /** Sends a request and throws when the answer is not as documented. Returns the status. */
  check(request: FuzzRequest): Promise<number>;
  close(): Promise<void>;
}

/** Apps of all four roles over fakes that throw on demand. */
export async function createFuzzTarget(): Promise<FuzzTarget> {
  const calls: Calls = [];
  const state: { fault: ErrorCode | undefined } = { fault: undefined };
  const apps = new Map<NodeRole, FastifyInstance>();
  for (const role of ROLES)
    apps.set(role, await buildApp(role, { modules: withFaults(apiModules(role, calls), state) }));
  const checkers = createCheckers();

  return {
    async check(request) {
      calls.length = 0;
      state.fault = request.fault !== undefined && NOT_FROM_SERVICES.has(request.fault) ? undefined : request.fault;
      const response = await apps.get(request.role)?.inject({
        method: request.method as 'GET',
        url: request.url,
        headers: request.headers,
        ...(request.payload === undefined ? {} : { payload: request.payload }),
      });
      if (response === undefined) throw new Error('no such app');
      checkAnswer(request, response, checkers);
      const refused = [400, 401, 404, 405, 413, 415].includes(response.statusCode);
      const changed = calls.filter(({ name }) => CHANGES.has(name));
      if (refused && changed.length > 0) {
        throw new Error(
          `${response.statusCode} but ${changed.map(({ name }) => name).join()} was called: ${response.body}`,
        );
      }
      return response.statusCode;
    },
    async close() {
      for (const app of apps.values()) await app.close();
    },
  };
}

function withFaults(modules: ApiModules, state: { readonly fault: ErrorCode | undefined }): ApiModules {
  const faulty = <T extends object>(service: T | undefined): T | undefined =>
    service &&
    new Proxy(service, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        // A part of the service.
        if (typeof member === 'object' && member !== null && !(member instanceof Set)) return faulty(member);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          if (state.fault !== undefined) throw new TesseraError(state.fault, `made up: ${state.fault}`);
          return member.apply(target, args);
        };
      },
    });
  return {
    ...modules,
    mempool: faulty(modules.mempool),
    storage: faulty(modules.storage),
    miner: faulty(modules.miner),
    wallet: faulty(modules.wallet),
    user: faulty(modules.user),
  };
}

interface Response {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

interface Checkers {
  readonly problem: (value: unknown) => string | undefined;
  readonly envelope: (value: unknown) => string | undefined;
  /** By operation id and status; undefined where the answer has no body. */
  readonly success: ReadonlyMap<string, ((value: unknown) => string | undefined) | undefined>;
}

function createCheckers(): Checkers {
  const all: readonly Operation[] = OPERATIONS;
  return {
    problem: createChecker(ApiProblem),
    envelope: createChecker(ErrorEnvelope),
    success: new Map(
      all.flatMap(({ id, success }) =>
        Object.entries(success).map(
          ([status, { schema }]) => [`${id} ${status}`, schema && createChecker(schema)] as const,
        ),
      ),
    ),
  };
}

function fail(request: FuzzRequest, response: Response, why: string): never {
  throw new Error(
    `${request.role} ${request.method} ${request.url.slice(0, 200)}: ${why}\n` +
      `answer ${response.statusCode} ${String(response.headers['content-type'])} ${response.body.slice(0, 500)}\n` +
      `body ${request.payload?.toString().slice(0, 500)}`,
  );
}

function checkAnswer(request: FuzzRequest, response: Response, checkers: Checkers): void {
  const { statusCode: status, headers } = response;
  if (typeof headers['x-request-id'] !== 'string') fail(request, response, 'no request id');
  const key = `${request.operation} ${status}`;
  if (status === 304) {
    const cacheable = Object.values(operationOf(request).success).some((success) => success.cacheable);
    if (!cacheable || response.body !== '') fail(request, response, '304 is not documented');
    return;
  }
  if (status < 300 || (checkers.success.has(key) && !String(headers['content-type']).includes('problem'))) {
    checkSuccess(request, response, checkers, key);
    return;
  }
  checkError(request, response, checkers);
}

function checkSuccess(request: FuzzRequest, response: Response, checkers: Checkers, key: string): void {
  if (!checkers.success.has(key)) fail(request, response, 'the status is not documented');
  const check = checkers.success.get(key);
  if (check === undefined) {
    if (response.body !== '') fail(request, response, 'an answer without a body has one');
    return;
  }
  if (response.headers['content-type'] !== 'application/json; charset=utf-8')
    fail(request, response, 'wrong media type');
  const fault = check(parseExactJson(response.body));
  if (fault !== undefined) fail(request, response, `the body is not of its schema: ${fault}`);
}

/** Errors that a request gets before any operation is found. */
function isRoutingError(status: number, code: string): boolean {
  return (
    (status === 404 && code === 'not_found') ||
    (status === 405 && code === 'method_not_allowed') ||
    (status === 400 && code === 'invalid_request')
  );
}

function checkError(request: FuzzRequest, response: Response, checkers: Checkers): void {
  const { statusCode: status, headers } = response;
  const body = parseExactJson(response.body) as { status: unknown; code?: string; reason?: string };
  const documented = errorStatusesOf(operationOf(request)).get(status);
  if (operationOf(request).family === 'envelope') {
    if (headers['content-type'] !== 'application/json; charset=utf-8') fail(request, response, 'wrong media type');
    const fault = checkers.envelope(body);
    if (fault !== undefined) fail(request, response, `no error envelope: ${fault}`);
    if (documented === undefined && ![404, 405].includes(status))
      fail(request, response, 'the status is not documented');
    if (body.reason?.includes(ERROR_CODES.internal_error)) fail(request, response, 'an inner failure');
    return;
  }
  if (headers['content-type'] !== 'application/problem+json') fail(request, response, 'wrong media type');
  const fault = checkers.problem(body);
  if (fault !== undefined) fail(request, response, `no problem document: ${fault}`);
  if (body.status !== status) fail(request, response, 'the status is not repeated');
  const code = body.code ?? '';
  if (!(code in ERROR_CODES) || code === 'internal_error') fail(request, response, 'an inner failure, or no code');
  if (!documented?.includes(code as ErrorCode) && !isRoutingError(status, code)) {
    fail(request, response, `${code} is not documented for ${status}`);
  }
}
