/** The schemas of a document: each named schema appears once, and keywords of our own validators are left out. */

import type { TSchema } from '@sinclair/typebox';
import { NODE_ROLES, type NodeRole } from '../../lib/roles.js';
import type { ApiLimits } from '../options.js';

export interface SchemaSetOptions {
  readonly roles?: readonly NodeRole[] | undefined;
  readonly limits?: Pick<ApiLimits, 'batch' | 'queryValues'> | undefined;
}

/** Words for our own validators and for this file that are not keywords of JSON Schema. */
const OWN_WORDS = new Set(['$id', 'x-limit', 'x-range', 'x-fault', 'x-document', 'x-document-of']);
const OF_SCHEMAS = new Set(['properties', '$defs']);
const VALUES = new Set(['examples', 'default', 'const', 'enum', 'required']);

export class SchemaSet {
  readonly #options: SchemaSetOptions;
  readonly #named = new Map<string, JsonObject>();

  constructor(options: SchemaSetOptions = {}) {
    this.#options = options;
  }

  /** The schema as it appears in the document: a reference if it has a name. */
  use(schema: TSchema): JsonObject {
    return this.#use(schema as unknown as JsonObject);
  }

  named(): JsonObject {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #use(schema: JsonObject): JsonObject {
    if (typeof schema.$id !== 'string') return this.#plain(schema);
    // `PayResponse` is the name that generators give to the result of the operation `pay`.
    const name = schema.$id.replace(/Response$/, 'Answer');
    if (!this.#named.has(name)) {
      // The name is set before the parts of the schema are visited, so that a schema may refer to itself.
      this.#named.set(name, {});
      this.#named.set(name, this.#plain(schema));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #plain(schema: JsonObject): JsonObject {
    const copy: Record<string, Json> = {};
    for (const [word, value] of Object.entries(this.#described(schema))) {
      if (value === undefined || OWN_WORDS.has(word)) continue;
      copy[word === 'anyOf' && isExclusive(value) ? 'oneOf' : word] = this.#member(word, value);
    }
    const { limits } = this.#options;
    const limit = schema['x-limit'] === 'batch' ? limits?.batch : limits?.queryValues;
    if (schema['x-limit'] !== undefined && limit !== undefined) {
      copy[schema.type === 'object' ? 'maxProperties' : 'maxItems'] = limit;
    }
    return copy;
  }

  /** Adds keywords for rules that other parts of the node check, everywhere or on nodes of one role. */
  #described(schema: JsonObject): JsonObject {
    const general = schema['x-document'];
    const byRole = schema['x-document-of'];
    if (!isObject(general) && !isObject(byRole)) return schema;
    const { roles = NODE_ROLES } = this.#options;
    const [role = ''] = roles;
    const own = isObject(byRole) && roles.length === 1 ? byRole[role] : undefined;
    return merged(merged(schema, general), own);
  }

  #member(word: string, value: Json): Json {
    if (VALUES.has(word)) return value;
    if (Array.isArray(value)) return value.map((item) => (isObject(item) ? this.#use(item) : item));
    if (!isObject(value)) return value;
    if (!OF_SCHEMAS.has(word)) return this.#use(value);
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, isObject(member) ? this.#use(member) : member]),
    );
  }
}

/** True for choices that exclude each other: from `anyOf`, some generators make one object with the members of all. */
function isExclusive(choices: Json): boolean {
  const types = Array.isArray(choices) ? choices.map((one) => (isObject(one) ? one.type : undefined)) : [];
  return new Set(types).size === types.length ? !types.includes('null') : types.every((type) => type === 'object');
}

function merged(schema: JsonObject, added: Json | undefined): JsonObject {
  if (!isObject(added)) return schema;
  const { properties, ...words } = added;
  if (!isObject(properties)) return { ...schema, ...words };
  const known = isObject(schema.properties) ? schema.properties : {};
  const members = Object.entries(properties).map(([name, member]) => {
    const before = known[name];
    return [name, isObject(before) ? merged(before, member) : member];
  });
  return { ...schema, ...words, properties: { ...known, ...Object.fromEntries(members) } };
}
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
