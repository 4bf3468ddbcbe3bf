/**
 * The form of an answer: what answers at an address may be no node. Members that are missing and values of another type are found; words
 * that are new, and members that are, come from a newer node and are none of its business.
 */

import type { TSchema } from '@sinclair/typebox';

/** What is wrong with the value, in words; undefined when it has the form of the schema. */
export function misfit(schema: TSchema, value: unknown, place = 'its answer'): string | undefined {
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
