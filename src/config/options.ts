/** Options as TypeBox schemas that also hold meaning, default, unit, secret and path: loader, sample file, help and redaction read these. */

import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import type { NodeRole } from '../lib/roles.js';

/** Base of a relative default: the working directory, or the `config` folder that ships with the program. */
export type PathBase = 'working-directory' | 'package-config';

export interface OptionMarks {
  readonly description: string;
  /** Value when no source names the option; without one it is unset (or required, see `required`). */
  readonly default?: unknown;
  /** Defaults that differ by role; they take the place of `default`. */
  readonly roleDefaults?: Readonly<Record<NodeRole, unknown>>;
  /** Unit of a number, for people. */
  readonly unit?: string;
  /** Marks a secret: never printed, and never accepted on the command line, which every user of the machine can read. */
  readonly secret?: boolean;
  /** A file or folder: relative paths in a config file start at that file's folder. */
  readonly path?: PathBase;
  /** An example for the sample file where the default is empty. */
  readonly example?: string;
  /** True if a running node takes a new value at SIGHUP; every other option needs a restart. */
  readonly live?: boolean;
}

/** Marks of an option, besides its meaning. */
type Marks = Omit<OptionMarks, 'description'>;

interface NumberMarks extends Marks {
  readonly minimum: number;
  readonly maximum: number;
}

interface TextMarks extends Marks {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly form?: string;
}

const MAX_TEXT = 4_096;

export const integer = (marks: NumberMarks, description: string) => Type.Integer({ ...marks, description });
/** An optional number: unset unless some source names it. */
export const maybeInteger = (marks: NumberMarks, description: string) => Type.Optional(integer(marks, description));
export const flag = (byDefault: boolean, description: string) => Type.Boolean({ default: byDefault, description });
export const text = (marks: TextMarks, description: string) =>
  Type.String({ maxLength: MAX_TEXT, ...marks, description });
/** An optional text: unset unless some source names it. */
export const maybeText = (marks: TextMarks, description: string) => Type.Optional(text(marks, description));
export const choice = <const V extends readonly [string, ...string[]]>(values: V, marks: Marks, description: string) =>
  Type.Unsafe<V[number]>(Type.String({ enum: [...values], ...marks, description }));
export const list = <S extends TSchema>(item: S, marks: Marks & { readonly maxItems: number }, description: string) =>
  Type.Array(item, { ...marks, description });
/** A named group of options; a table in the config file. */
export const group = <P extends Record<string, TSchema>>(description: string, properties: P): TObject<P> =>
  Type.Object(properties, { description, additionalProperties: false });

type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S;

/** A type made deeply read-only, with member names in camelCase. */
export type Camelized<T> = T extends string | number | boolean | undefined
  ? T
  : T extends readonly (infer E)[]
    ? readonly Camelized<E>[]
    : { readonly [K in keyof T as CamelCase<K & string>]: Camelized<T[K]> };

export type Loaded<S extends TSchema> = Camelized<Static<S>>;

export interface OptionSpec {
  /** Path of the option: `api.rate_limit.per_minute`. */
  readonly path: string;
  /** Parts of the path: `['api', 'rate_limit', 'per_minute']`. */
  readonly keys: readonly string[];
  readonly schema: TSchema & Partial<OptionMarks>;
  readonly required: boolean;
  /** Environment variable of the option: `TESSERA_API__RATE_LIMIT__PER_MINUTE`. */
  readonly env: string;
}

export const ENV_PREFIX = 'TESSERA_';

/** The environment variable of an option: upper case, two underscores between the parts, so that no two options share one. */
export function envName(keys: readonly string[]): string {
  return ENV_PREFIX + keys.map((key) => key.toUpperCase()).join('__');
}

/** True for a table of further options (not for a list or an option that is itself a table). */
export function isGroup(schema: TSchema): schema is TObject {
  return schema.type === 'object';
}

/** All options of a group, depth first, in the order of the schema. */
export function listOptions(schema: TObject, parents: readonly string[] = []): OptionSpec[] {
  return Object.entries(schema.properties).flatMap(([key, member]) => {
    const keys = [...parents, key];
    if (isGroup(member)) return listOptions(member, keys);
    const required = schema.required?.includes(key) ?? false;
    return [{ path: keys.join('.'), keys, schema: member, required, env: envName(keys) }];
  });
}

/** The default of an option on a node of that role; undefined when it has none. */
export function defaultOf(schema: TSchema & Partial<OptionMarks>, role: NodeRole): unknown {
  return schema.roleDefaults ? schema.roleDefaults[role] : schema.default;
}

/** A name in camelCase: `rate_limit` → `rateLimit`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
