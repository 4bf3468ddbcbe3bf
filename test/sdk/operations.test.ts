/** What the client library knows of the operations is made from them, and says the same (docs/adr/0036-client-library.md). */

import { readFileSync } from 'node:fs';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { clientSource, publicOperations, shapeOf } from '../../scripts/client-source.js';
import type { Arguments, Result } from '../../src/api/operation.js';
import { membersOf } from '../../src/api/operation.js';
import type { KnownOperation } from '../../src/api/operations.js';
import type { devOperations } from '../../src/api/routes/dev/operations.js';
import { Int32, Int64, Nullable } from '../../src/api/schemas/scalars.js';
import { withBigints } from '../../src/sdk/calls.js';
import { type Operations, TABLE } from '../../src/sdk/generated/operations.js';

describe('the source', () => {
  it('is up to date: npm run openapi writes it', () => {
    const kept = readFileSync(new URL('../../src/sdk/generated/operations.ts', import.meta.url), 'utf8');
    expect(
      kept === clientSource(),
      'src/sdk/generated/operations.ts differs from the operations: npm run openapi',
    ).toBe(true);
  });

  it('takes all arguments of an operation as one object, so no two parts of a request share a name', () => {
    for (const { id, method, params, query, body } of publicOperations()) {
      const names = [params, query, body?.schema].flatMap((part) => membersOf(part).map(({ name }) => name));
      expect(new Set(names).size, id).toBe(names.length);
      // What is not in the path is the query of a GET, and the body of everything else.
      expect(method === 'GET' ? body : query, id).toBeUndefined();
      if (body !== undefined) expect(body.schema.properties, id).toBeDefined();
    }
  });

  it('repeats nothing freely but what changes nothing', () => {
    const repeated = Object.entries(TABLE).filter(([, row]) => row.reads && row.method !== 'GET');
    expect(repeated.map(([id]) => id).sort()).toEqual([
      'backupWallet',
      'deserializeTransactions',
      'queryBalances',
      'queryBlockchainEntries',
      'queryTransactionStatus',
      'serializeTransactions',
      'traceScripts',
    ]);
  });
});

describe('integers', () => {
  it('of 64 bits become bigints where the schema has them, and nowhere else', () => {
    const places = shapeOf({
      ...{
        type: 'object',
        properties: { a: Int64(), b: Int32(), c: Nullable(Int64()), d: { type: 'array', items: Int64() } },
      },
      additionalProperties: { type: 'object', additionalProperties: Int64() },
    } as never);
    const value = { a: 1, b: 1, c: null, d: [1, 2n ** 60n], e: { f: 1 }, g: 'text' };
    expect(withBigints(value, places)).toEqual({ a: 1n, b: 1, c: null, d: [1n, 2n ** 60n], e: { f: 1n }, g: 'text' });
  });

  it('leave prototypes alone, whatever the names of a map are', () => {
    const value: unknown = JSON.parse('{"__proto__": {"a": 1}, "constructor": 1, "x": 1}');
    const changed = withBigints(value, { '*': 1 }) as Record<string, unknown>;
    expect(Object.getPrototypeOf(changed)).toBe(Object.prototype);
    expect(changed).toMatchObject({ constructor: 1n, x: 1n });
  });
});

type OperationOf<Id> = Extract<KnownOperation | (typeof devOperations)[number], { readonly id: Id }>;

/** A type of the API's schemas as the library has it: bigints, and nothing to be changed. */
type Public<T> = bigint extends T ? bigint | Each<Exclude<T, number | bigint>> : Each<T>;
type Each<T> = T extends object
  ? string extends keyof T
    ? object extends T[keyof T]
      ? object
      : { readonly [K in keyof T]: Public<T[K]> }
    : { readonly [K in keyof T]: Public<T[K]> }
  : T;
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

type Answers = { [Id in keyof Operations]: Awaited<ReturnType<Operations[Id]>> };
/** Their schemas say of some members no more than that they are there; the library knows the lists in them. */
type Vague =
  | 'getBlock'
  | 'getBlockchainEntry'
  | 'getBlocks'
  | 'getCurrentBlock'
  | 'getLatestBlock'
  | 'getOutgoingTransactions'
  | 'queryBlockchainEntries';
type OtherAnswers = {
  [Id in Exclude<keyof Operations, Vague>]: Same<Answers[Id], Public<Result<OperationOf<Id>>>> extends true
    ? never
    : Id;
}[Exclude<keyof Operations, Vague>];
type OtherVague = {
  [Id in Vague]: [Answers[Id]] extends [Public<Result<OperationOf<Id>>>] ? never : Id;
}[Vague];

type Defined<T> = T extends undefined ? unknown : T;
type RequestOf<A> = A extends { params: infer P; query: infer Q; body: infer B }
  ? Defined<P> & Defined<Q> & Defined<B>
  : never;
type Requests = { [Id in keyof Operations]: Exclude<NonNullable<Parameters<Operations[Id]>[0]>, Uint8Array> };
type Frozen<T> = T extends object ? (string extends keyof T ? object : { readonly [K in keyof T]: Frozen<T[K]> }) : T;
type OtherRequests = {
  [Id in keyof Operations]: [Requests[Id]] extends [Frozen<RequestOf<Arguments<OperationOf<Id>>>>] ? never : Id;
}[keyof Operations];

describe('types', () => {
  it('of answers are those of the schemas, with bigints', () => {
    expectTypeOf<OtherAnswers>().toEqualTypeOf<never>();
    expectTypeOf<OtherVague>().toEqualTypeOf<never>();
  });

  it('of arguments fit the schemas', () => {
    expectTypeOf<OtherRequests>().toEqualTypeOf<never>();
  });

  it('of amounts are bigints, both ways', () => {
    expectTypeOf<Answers['getSupply']['issued']>().toEqualTypeOf<bigint>();
    expectTypeOf<Answers['getBalances']['balance']['total']['items'][string]>().toEqualTypeOf<bigint>();
    expectTypeOf<Requests['createItem']['item_amount']>().toEqualTypeOf<bigint>();
    expectTypeOf<Requests['getBlock']['num']>().toEqualTypeOf<bigint | number>();
  });
});
