/** Single values: parsing texts by the option's type, checking them, and describing what is allowed. */

import type { TSchema } from '@sinclair/typebox';
import { parse as parseToml } from 'smol-toml';
import { TesseraError } from '../lib/errors.js';
import { isGroup } from './options.js';

const MAX_SHOWN = 80;

/** The value that a text from the environment or the command line stands for; text that does not fit stays text. */
export function valueFromText(schema: TSchema, text: string): unknown {
  if (schema.type === 'integer') return /^-?[0-9]{1,16}$/.test(text) ? Number(text) : text;
  if (schema.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  if (schema.type === 'array') return listFromText(text);
  if (schema.anyOf !== undefined && /[[,:]/.test(text)) return listFromText(text);
  return text;
}

/** The list in a text: `a,b`, or in TOML form `["a", "b"]`, `[{ name = "a" }]`. */
function listFromText(text: string): unknown {
  if (!text.startsWith('[')) {
    return text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  }
  try {
    return parseToml(`value = ${text}`).value;
  } catch {
    return text;
  }
}

/** Fault of the value, which completes a sentence that begins with the option; undefined without one. */
export function problemOf(schema: TSchema, value: unknown): string | undefined {
  return fits(schema, value) ? undefined : describeMisfit(schema, value);
}

function fits(schema: TSchema, value: unknown): boolean {
  if (schema.anyOf !== undefined) return schema.anyOf.some((variant: TSchema) => fits(variant, value));
  if (schema.const !== undefined) return value === schema.const;
  switch (schema.type) {
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
      return Number.isSafeInteger(value) && inRange(value as number, schema.minimum, schema.maximum);
    case 'string':
      return typeof value === 'string' && fitsText(schema, value);
    case 'array':
      return (
        Array.isArray(value) &&
        inRange(value.length, 0, schema.maxItems) &&
        value.every((item) => fits(schema.items, item))
      );
    case 'object':
      return (
        isGroup(schema) &&
        isRecord(value) &&
        firstMemberProblem(schema.properties, schema.required, value) === undefined
      );
    default:
      throw new Error(`no check for a schema of type ${String(schema.type)}`);
  }
}

function fitsText(schema: TSchema, value: string): boolean {
  if (schema.enum !== undefined) return schema.enum.includes(value);
  if (!inRange(value.length, schema.minLength, schema.maxLength)) return false;
  return schema.pattern === undefined || new RegExp(schema.pattern, 'u').test(value);
}

function inRange(value: number, minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY): boolean {
  return value >= minimum && value <= maximum;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function describeMisfit(schema: TSchema, value: unknown): string {
  if (schema.type === 'array' && Array.isArray(value)) {
    const index = value.findIndex((item) => !fits(schema.items, item));
    if (index >= 0) return `entry ${index + 1}: ${describeMisfit(schema.items, value[index])}`;
    return `${value.length} entries are too many: at most ${schema.maxItems}`;
  }
  if (isGroup(schema) && isRecord(value)) {
    const problem = firstMemberProblem(schema.properties, schema.required, value);
    if (problem !== undefined) return problem;
  }
  // An invalid secret is still a secret.
  const shown = holdsSecret(schema) ? 'the value' : show(value);
  return `${shown} is not allowed; it must be ${allowed(schema)}`;
}

export function holdsSecret(schema: TSchema): boolean {
  if (schema.secret === true) return true;
  if (schema.items !== undefined) return holdsSecret(schema.items);
  return isGroup(schema) && Object.values(schema.properties).some(holdsSecret);
}

function firstMemberProblem(
  properties: Readonly<Record<string, TSchema>>,
  required: readonly string[] = [],
  value: Readonly<Record<string, unknown>>,
): string | undefined {
  for (const name of required) if (value[name] === undefined) return `${name} is missing`;
  for (const [name, member] of Object.entries(value)) {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (schema === undefined) return `${name} is unknown; known are ${Object.keys(properties).join(', ')}`;
    if (!fits(schema, member)) return `${name}: ${describeMisfit(schema, member)}`;
  }
  return undefined;
}

/** Values that a schema allows, in words: `an integer from 0 to 65535`. */
export function allowed(schema: TSchema): string {
  if (schema.enum !== undefined) return oneOf(schema.enum);
  if (schema.type === 'boolean') return 'true or false';
  if (schema.type === 'integer') return `an integer from ${schema.minimum} to ${schema.maximum}`;
  if (typeof schema.form === 'string') return schema.form;
  if (schema.type === 'array') return `a list, each entry ${allowed(schema.items)}`;
  if (isGroup(schema)) return `a table with ${Object.keys(schema.properties).join(', ')}`;
  if (schema.minLength > 0) return `a text of ${schema.minLength} to ${schema.maxLength} characters`;
  return schema.pattern === undefined
    ? `a text of at most ${schema.maxLength} characters`
    : `a text like ${schema.pattern}`;
}

function oneOf(values: readonly string[]): string {
  return values.length === 1 ? `${values[0]}` : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;
}

function show(value: unknown): string {
  const text = typeof value === 'bigint' ? String(value) : JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

export interface ConfigProblem {
  /** Path of the option: `api.port`. */
  readonly option: string;
  /** Source of the value: `default`, `file /etc/tessera.toml`, `env TESSERA_API__PORT`, `flag --set`. */
  readonly source: string;
  /** Description of the mistake and of allowed values. Never holds a secret. */
  readonly problem: string;
}

/** The error `invalid_config`: a line for each problem, and the same in `details.problems`. */
export function configError(problems: readonly ConfigProblem[]): TesseraError {
  const lines = problems.map(({ option, source, problem }) => `  ${option} (${source}): ${problem}`);
  return new TesseraError('invalid_config', `The configuration is wrong:\n${lines.join('\n')}`, {
    details: { problems },
  });
}
