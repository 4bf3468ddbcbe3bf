/** Arbitrary values of a schema: what a correct client may send. */

import type { TSchema } from '@sinclair/typebox';
import { fc } from '../property.js';
import { ADDRESS, BLOCK_HASH, GENESIS_HASH, PASSPHRASE, TX_HASH, transactionBody } from './fakes.js';

type Schema = { readonly [word: string]: unknown };

/** Texts that pass some checks, so that not every request fails at the first. */
const TELLING = [
  ADDRESS,
  TX_HASH,
  BLOCK_HASH,
  GENESIS_HASH,
  PASSPHRASE,
  'nLastBlockHashKey',
  '127.0.0.1:12360',
  '127.0.0.1:1',
];

/** Integers at which implementations tend to break. */
export const EDGE_INTEGERS: readonly bigint[] = [
  0n,
  1n,
  7n,
  2n ** 31n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 53n + 1n,
  2n ** 63n - 1n,
];

/** Values that the schema allows. Integers may be bigints. */
export function arbitraryOf(schema: TSchema | Schema): fc.Arbitrary<unknown> {
  const { $id, enum: choices, const: constant, anyOf, type } = schema as Schema;
  if ($id === 'CreateTransaction') return transactionArbitrary();
  if (Array.isArray(choices)) return fc.constantFrom(...choices);
  if (constant !== undefined) return fc.constant(constant);
  if (Array.isArray(anyOf)) return fc.oneof(...anyOf.map((one) => arbitraryOf(one)));
  if (Array.isArray(type)) return fc.oneof(...type.map((one) => arbitraryOf({ ...schema, type: one })));
  switch (type) {
    case 'object':
      return objectArbitrary(schema);
    case 'array':
      return arrayArbitrary(schema);
    case 'string':
      return stringArbitrary(schema);
    case 'integer':
      return integerArbitrary(schema);
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return fc.jsonValue();
  }
}

function objectArbitrary(schema: Schema): fc.Arbitrary<unknown> {
  const properties = (schema.properties ?? {}) as Record<string, Schema>;
  const required = (schema.required ?? []) as string[];
  const members = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, arbitraryOf(one)]));
  if (typeof schema.additionalProperties === 'object') {
    const keys = fc.oneof(fc.constantFrom(...TELLING), fc.string({ minLength: 1 }));
    return fc.dictionary(keys, arbitraryOf(schema.additionalProperties as Schema), {
      maxKeys: 3,
      noNullPrototype: true,
    });
  }
  return fc.record(members, { requiredKeys: required, noNullPrototype: true });
}

function arrayArbitrary({ items, prefixItems, minItems = 0 }: Schema): fc.Arbitrary<unknown> {
  if (Array.isArray(prefixItems)) return fc.tuple(...prefixItems.map((one) => arbitraryOf(one)));
  const minLength = minItems as number;
  return fc.array(arbitraryOf((items ?? {}) as Schema), { minLength, maxLength: minLength + 3 });
}

function stringArbitrary({ pattern, minLength = 0, maxLength = 300 }: Schema): fc.Arbitrary<unknown> {
  if (typeof pattern === 'string') return fc.stringMatching(new RegExp(pattern));
  const bounds = { minLength: minLength as number, maxLength: Math.min(maxLength as number, 40) };
  return fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...TELLING) },
    fc.string({ ...bounds, unit: 'grapheme' }),
    fc.string(bounds),
  );
}

function integerArbitrary({ minimum = -(2 ** 31), maximum, format }: Schema): fc.Arbitrary<unknown> {
  const min = BigInt(minimum as number);
  const max = BigInt((maximum as number | undefined) ?? (format === 'int64' ? 2n ** 63n - 1n : 2 ** 31 - 1));
  const edges = EDGE_INTEGERS.filter((edge) => edge >= min && edge <= max);
  return fc.oneof(fc.constantFrom(...edges), fc.bigInt({ min, max }));
}

function transactionArbitrary(): fc.Arbitrary<unknown> {
  const amount = fc.oneof(fc.constantFrom(...EDGE_INTEGERS), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }));
  const druid = fc.constantFrom(
    null,
    { druid: '', participants: 0, expectations: { from: '', to: '', asset: {} } },
    {
      druid: 'DRUID0xd0f407436f7f1fc494d7aee22939090e',
      participants: 2,
      expectations: [{ from: ADDRESS, to: ADDRESS, asset: { Token: 5 } }],
      genesis_hash: null,
    },
  );
  return fc.tuple(amount, druid, fc.nat()).map(([value, druidInfo, version]) => ({
    ...transactionBody(value),
    druid_info: druidInfo,
    version,
  }));
}
