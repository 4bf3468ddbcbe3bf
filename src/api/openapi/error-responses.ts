/** The error answers of a document: for each status of an operation its codes, with examples; common ones are in `components`. */

import { STATUS_CODES } from 'node:http';
import { ERROR_CODES, type ErrorCode, TesseraError } from '../../lib/errors.js';
import { ApiProblem, errorStatusesOf, PROBLEM_MEDIA_TYPE, problemOf } from '../http/problem.js';
import type { Operation } from '../operation.js';
import { errorEnvelope } from '../routes/envelope/envelope.js';
import { ErrorEnvelope } from '../routes/envelope/operations.js';
import type { Json, JsonObject, SchemaSet } from './schema-set.js';

/** Answers to what is no readable request, which every route may give, whatever its family. */
const UNREADABLE: Readonly<Record<string, string>> = {
  408: 'The request did not arrive in time.',
  417: 'The node meets no expectation but 100-continue.',
  431: 'The header is too large.',
};
/** A response with at most so many codes is described once for all operations that have it. */
const MOST_SHARED_CODES = 2;

export class ErrorResponses {
  readonly #schemas: SchemaSet;
  readonly #examples = new Map<string, JsonObject>();
  readonly #responses = new Map<string, JsonObject>();

  constructor(schemas: SchemaSet) {
    this.#schemas = schemas;
  }

  of(operation: Operation): ReadonlyMap<string, JsonObject> {
    const responses = new Map<string, JsonObject>();
    for (const [status, codes] of errorStatusesOf(operation)) {
      responses.set(String(status), this.#response(operation, String(status), codes));
    }
    for (const status of Object.keys(UNREADABLE)) responses.set(status, this.#unreadable(status));
    return new Map([...responses].sort(([a], [b]) => Number(a) - Number(b)));
  }

  components(): JsonObject {
    return { responses: sorted(this.#responses), examples: sorted(this.#examples) };
  }

  #response(operation: Operation, status: string, codes: readonly ErrorCode[]): JsonObject {
    const description = codes.map((code) => `\`${code}\`: ${ERROR_CODES[code]}`).join('\n');
    const isEnvelope = operation.family === 'envelope';
    const examples = codes.map((code) => [code, this.#example(operation, status, code)] as const);
    const content = {
      schema: this.#schemas.use(isEnvelope ? ErrorEnvelope : ApiProblem),
      examples: Object.fromEntries(examples),
    };
    const response = { description, content: { [isEnvelope ? 'application/json' : PROBLEM_MEDIA_TYPE]: content } };
    if (codes.length > MOST_SHARED_CODES) return response;
    return this.#shared([...(isEnvelope ? ['envelope'] : []), ...codes, status].join('.'), response);
  }

  #example({ id, family }: Operation, status: string, code: ErrorCode): JsonObject {
    const error = new TesseraError(code, ERROR_CODES[code]);
    const name = `${family === 'envelope' ? 'envelope.' : ''}${code}.${status}`;
    const value: Json = family === 'envelope' ? JSON.parse(errorEnvelope(error).json) : problemOf(error, id);
    if (!this.#examples.has(name)) this.#examples.set(name, { summary: ERROR_CODES[code], value });
    return { $ref: `#/components/examples/${name}` };
  }

  #unreadable(status: string): JsonObject {
    const detail = UNREADABLE[status] ?? '';
    const value = {
      type: 'about:blank',
      title: STATUS_CODES[status] ?? '',
      status: Number(status),
      detail,
      code: 'invalid_request',
    };
    const schema = this.#schemas.use(ApiProblem);
    const content = { [PROBLEM_MEDIA_TYPE]: { schema, example: value } };
    return this.#shared(`unreadable.${status}`, { description: detail, content });
  }

  #shared(name: string, response: JsonObject): JsonObject {
    this.#responses.set(name, response);
    return { $ref: `#/components/responses/${name}` };
  }
}

function sorted(named: ReadonlyMap<string, JsonObject>): JsonObject {
  return Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1)));
}
