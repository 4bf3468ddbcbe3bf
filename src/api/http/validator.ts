/**
 * Validates requests with two Ajv instances: values of paths and queries are texts that may be coerced, bodies never. 64-bit integers have
 * a keyword of our own, as Ajv does not know bigints; published schemas stay plain.
 */

import type { TSchema } from '@sinclair/typebox';
import { Ajv2020 as Ajv, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { TesseraError } from '../../lib/errors.js';
import { INT64_MAX, UINT64_MAX } from '../schemas/scalars.js';

type RequestPart = 'body' | 'query' | 'path';

/** True, or the error `invalid_request` with the place of the fault. Texts are coerced in place. */
type Validate = (value: unknown) => true | { readonly error: Error };

interface Int64Rule {
  readonly minimum: bigint;
  readonly maximum: bigint;
  readonly nullable: boolean;
}

/** Keywords that do not affect validity, and would only slow down the compiler. */
const ANNOTATIONS = new Set(['$id', 'title', 'description', 'examples', 'x-limit', 'x-document', 'x-document-of']);

/** Schemas that `chain/create-transaction.ts` checks, which accepts every spelling and is much faster. */
const CHECKED_ELSEWHERE = new Set(['CreateTransaction']);

const DECIMAL = /^\d{1,20}$/;
const MAX_PLACE = 200;

/** Validators for parts of requests. Each form is compiled once: operations share forms, and `tessera dev` has five apps. */
export class Validators {
  readonly #bodies = new CompiledForms(false);
  readonly #texts = new CompiledForms(true);

  /** Compiler for `setValidatorCompiler`. A form is compiled when its route is added: no request waits for that. */
  compiler(limits: { readonly batch: number; readonly queryValues: number }) {
    return ({ schema, httpPart }: { readonly schema: unknown; readonly httpPart?: string }): Validate => {
      const part = PARTS[httpPart ?? 'body'] ?? 'body';
      const forms = part === 'body' ? this.#bodies : this.#texts;
      const check = forms.checkOf(rewrite(schema as TSchema, { batch: limits.batch, query: limits.queryValues }, true));
      return (value) =>
        check(value) || { error: new TesseraError('invalid_request', describe(check.errors?.[0], part)) };
    };
  }
}

/** Compiled schemas of bodies, or of texts: as many as operations have parts, for each setting of the limits. */
class CompiledForms {
  readonly #isOfTexts: boolean;
  readonly #compiled = new Map<string, ValidateFunction>();
  #ajv: Ajv | undefined;

  constructor(isOfTexts: boolean) {
    this.#isOfTexts = isOfTexts;
  }

  checkOf(form: object): ValidateFunction {
    const name = JSON.stringify(form, (_word, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
    const known = this.#compiled.get(name);
    if (known !== undefined) return known;
    this.#ajv ??= createAjv(this.#isOfTexts);
    const check = this.#ajv.compile(form);
    this.#compiled.set(name, check);
    return check;
  }
}

export const sharedValidators = new Validators();

const PARTS: Readonly<Record<string, RequestPart>> = { body: 'body', querystring: 'query', params: 'path' };

/** A validator without coercion, for answers in tests. Returns the first fault, or undefined. */
export function createChecker(schema: TSchema): (value: unknown) => string | undefined {
  const check: ValidateFunction = createAjv(false).compile(rewrite(schema, {}, false));
  return (value) => (check(value) ? undefined : describe(check.errors?.[0], 'body'));
}

function createAjv(texts: boolean): Ajv {
  const ajv = new Ajv({
    coerceTypes: texts ? 'array' : false,
    strict: false,
    validateFormats: false,
    allErrors: false,
    // The schemas are our own: checking them, and making their code shorter, takes longer than compiling them.
    meta: false,
    validateSchema: false,
    code: { optimize: false },
    // Faults come with their schema, which may have a message of its own.
    verbose: true,
  });
  ajv.addKeyword({
    keyword: 'int64',
    schemaType: 'object',
    modifying: texts,
    errors: true,
    compile: (rule: Int64Rule) => int64Keyword(rule, texts),
  });
  return ajv;
}

type KeywordContext = { parentData: Record<string | number, unknown>; parentDataProperty: string | number };
type KeywordCheck = { (value: unknown, context?: KeywordContext): boolean; errors?: Partial<ErrorObject>[] };

function int64Keyword(rule: Int64Rule, texts: boolean): KeywordCheck {
  const check: KeywordCheck = (value, context) => {
    const integer = texts && typeof value === 'string' ? integerOfText(value) : value;
    const valid = integer === null ? rule.nullable && !texts : isInteger64(integer, rule);
    if (valid && texts && context) context.parentData[context.parentDataProperty] = integer;
    if (!valid) check.errors = [{ keyword: 'int64', message: int64Message(rule), params: {} }];
    return valid;
  };
  return check;
}

function integerOfText(text: string): number | bigint | undefined {
  if (!DECIMAL.test(text)) return undefined;
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

function isInteger64(value: unknown, rule: Int64Rule): boolean {
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) && value >= rule.minimum && value <= rule.maximum;
  }
  return typeof value === 'bigint' && value >= rule.minimum && value <= rule.maximum;
}

function int64Message({ minimum, maximum, nullable }: Int64Rule): string {
  return `must be a whole number from ${minimum} to ${maximum}${nullable ? ' or null' : ''}`;
}

type JsonSchema = { readonly [word: string]: unknown };

/** A copy of the schema with our keyword for 64-bit integers and the configured limits for lists. */
function rewrite(schema: JsonSchema, limits: Readonly<Record<string, number>>, request: boolean): JsonSchema {
  if (request && CHECKED_ELSEWHERE.has(String(schema.$id))) return {};
  const { type } = schema;
  const types = Array.isArray(type) ? type : [type];
  if (types.includes('integer') && (schema.format === 'int64' || schema.format === 'uint64')) {
    return {
      int64: {
        minimum: BigInt(Number(schema.minimum ?? -(2 ** 63))),
        maximum: maximumOf(schema),
        nullable: types.includes('null'),
      },
    };
  }
  const copy: Record<string, unknown> = {};
  for (const [word, value] of Object.entries(schema)) {
    if (!ANNOTATIONS.has(word)) copy[word] = rewriteWord(word, value, limits, request);
  }
  const limit = limits[String(schema['x-limit'])];
  if (limit !== undefined) copy[schema.type === 'object' ? 'maxProperties' : 'maxItems'] = limit;
  return copy;
}

function maximumOf({ maximum, format, 'x-range': range }: JsonSchema): bigint {
  if (typeof maximum === 'number') return BigInt(maximum);
  return format === 'uint64' || range === 'uint64' ? UINT64_MAX : INT64_MAX;
}

function rewriteWord(
  word: string,
  value: unknown,
  limits: Readonly<Record<string, number>>,
  request: boolean,
): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => (isSchema(item) ? rewrite(item, limits, request) : item));
  }
  if (!isSchema(value)) return value;
  if (word !== 'properties') return rewrite(value, limits, request);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, isSchema(member) ? rewrite(member, limits, request) : member]),
  );
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A sentence about the first fault. It contains places and limits, never values: a value may be a passphrase. */
function describe(error: ErrorObject | undefined, part: RequestPart): string {
  if (error === undefined) return 'The request does not have the right shape.';
  const place = placeOf(part, error.instancePath).slice(0, MAX_PLACE);
  if (error.keyword === 'required') return `${place}: ${String(error.params.missingProperty)} is required.`;
  if (error.keyword === 'enum') {
    return `${place} must be one of ${(error.params.allowedValues as unknown[]).join(', ')}.`;
  }
  return `${place} ${faultOf(error)}.`;
}

const EMPTY = new Set(['minItems', 'minLength', 'minProperties']);
const TYPES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  object: 'an object',
  string: 'a string',
};

/** A message for users: those of Ajv need knowledge of JSON Schema. */
function faultOf({ keyword, params, parentSchema, message }: ErrorObject): string {
  if (keyword === 'type') {
    const types = [params.type as string | string[]].flat();
    return `must be ${types.map((type) => TYPES[type] ?? type).join(' or ')}`;
  }
  if (EMPTY.has(keyword) && params.limit === 1) return 'must not be empty';
  const own: unknown = parentSchema?.['x-fault'];
  if (keyword === 'pattern' && typeof own === 'string') return own;
  return message ?? 'is wrong';
}

function placeOf(part: RequestPart, pointer: string): string {
  const steps = pointer.split('/').slice(1);
  return steps.reduce((place, step) => (/^\d+$/.test(step) ? `${place}[${step}]` : `${place}.${step}`), `${part}`);
}
