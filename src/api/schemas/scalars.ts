/** The small schemas of which all others are made. One with an `$id` is a named schema of the OpenAPI document. */

import {
  type SchemaOptions,
  type Static,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
} from '@sinclair/typebox';

/** An integer from exact JSON: a number up to 2^53 - 1, a bigint beyond. */
export type ExactInteger = number | bigint;

export const INT64_MAX = 2n ** 63n - 1n;
export const UINT64_MAX = 2n ** 64n - 1n;

/** An object that has a name in the OpenAPI document: `named('DonationRequest', 'Whom to ask.').object(members, example)`. */
export function named($id: string, description: string) {
  return {
    object: <P extends TProperties>(members: P, example: unknown): TObject<P> =>
      Type.Object(members, { $id, description, examples: [example] }),
  };
}

/** A non-negative 64-bit integer. The validators know the pair `integer` and `int64`, and accept bigints for it. */
export function Int64(options: SchemaOptions = {}): TUnsafe<ExactInteger> {
  return Type.Unsafe<ExactInteger>({ type: 'integer', format: 'int64', minimum: 0, ...options });
}

/** Limit of a list: an optional member of a query. */
export function Limit(maximum: number, description: string, options: SchemaOptions = {}) {
  return Type.Optional(Int64({ minimum: 1, maximum, description, ...options }));
}

/** An integer of the chain, up to 2^64 - 1. */
export function Uint64(options: SchemaOptions = {}): TUnsafe<ExactInteger> {
  return Type.Unsafe<ExactInteger>({ type: 'integer', format: 'uint64', minimum: 0, ...options });
}

/** An integer of 32 bits. */
export function Int32(options: SchemaOptions = {}): TUnsafe<number> {
  return Type.Unsafe<number>({ type: 'integer', format: 'int32', ...options });
}

export function Nullable<S extends TSchema>(schema: S, options: SchemaOptions = {}): TUnsafe<Static<S> | null> {
  const { type } = schema;
  if (typeof type !== 'string' || schema.$id !== undefined) {
    return Type.Unsafe<Static<S> | null>({ anyOf: [schema, { type: 'null' }], ...options });
  }
  return Type.Unsafe<Static<S> | null>({ ...schema, type: [type, 'null'], ...options });
}

export function MapOf<S extends TSchema>(value: S, options: SchemaOptions = {}): TUnsafe<Record<string, Static<S>>> {
  return Type.Unsafe<Record<string, Static<S>>>({ type: 'object', additionalProperties: value, ...options });
}

export function Enum<const T extends readonly string[]>(values: T, options: SchemaOptions = {}): TUnsafe<T[number]> {
  return Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options });
}

/** A list in a request body. Its limit, `api.limits.batch`, is set when an app is made. */
export function Batch<S extends TSchema>(items: S, options: SchemaOptions = {}): TUnsafe<Static<S>[]> {
  return Listed(items, { maxItems: DEFAULT_BATCH, 'x-limit': 'batch', ...options });
}

/** A list in a query string. Its limit, `api.limits.queryValues`, is set when an app is made. */
export function QueryList<S extends TSchema>(items: S, options: SchemaOptions = {}): TUnsafe<Static<S>[]> {
  return Listed(items, { maxItems: DEFAULT_QUERY_VALUES, 'x-limit': 'query', ...options });
}

function Listed<S extends TSchema>(items: S, options: SchemaOptions): TUnsafe<Static<S>[]> {
  return Type.Unsafe<Static<S>[]>({ type: 'array', items, minItems: 1, ...options });
}

/** Default limit for a list in a body (decision H4). */
export const DEFAULT_BATCH = 1_000;
/** Default limit for a list in a query string (decision H4). */
const DEFAULT_QUERY_VALUES = 100;

/** Maximum length of a hash, key or address in a request: far more than any real one has. */
const MAX_NAME = 256;

export const EXAMPLE_ADDRESS = 'cee89e0ef3b7e4d1ba6ac85bbd0b6ad1cbf0ba0bbf8e0b1b6f4c0a8c3e29c303';
export const EXAMPLE_TX_HASH = 'g17ba5b7ca9f1d1b4a0e0a4a7f5e4c1d';
export const EXAMPLE_BLOCK_HASH = `b${'00bb82500d9239f5f628eebd7cd647aadf1944435f7530ae1ffce4a715ab244d'}`;

export function Address(options: SchemaOptions = {}): TUnsafe<string> {
  const description = 'A payment address: 64 hex digits (32 for addresses of version 0).';
  return Named({ description, examples: [EXAMPLE_ADDRESS], ...options });
}

export function TransactionHash(options: SchemaOptions = {}): TUnsafe<string> {
  const description = 'A transaction hash: g and 31 hex digits; transactions of the first block may have other names.';
  return Named({ description, examples: [EXAMPLE_TX_HASH], ...options });
}

function Named(options: SchemaOptions): TUnsafe<string> {
  return Type.Unsafe<string>({ type: 'string', minLength: 1, maxLength: MAX_NAME, ...options });
}

/** An amount in raw units, like every amount that is not labelled otherwise. */
export function Amount(options: SchemaOptions = {}): TUnsafe<ExactInteger> {
  return Int64({
    description: 'Raw token units; 72,072,000 of them are one display unit.',
    examples: [1000],
    ...options,
  });
}
