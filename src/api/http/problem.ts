/** Makes answers from errors: the only file that knows the status of a code (decisions H1, H2, RFC 9457), Fastify's errors included. */

import { STATUS_CODES } from 'node:http';
import { type Static, Type } from '@sinclair/typebox';
import { ERROR_CODES, type ErrorCode, TesseraError } from '../../lib/errors.js';
import type { Operation } from '../operation.js';
import { Int32, Nullable, named } from '../schemas/scalars.js';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** The codes that clients may see. Errors with other codes are internal and are logged; clients get `internal_error`. */
const STATUS: Readonly<Partial<Record<ErrorCode, number>>> = {
  invalid_request: 400,
  malformed_json: 400,
  malformed_transaction: 400,
  malformed_key_pair: 400,
  invalid_socket_address: 400,
  blank_passphrase: 400,
  no_addresses: 400,
  too_many_outputs: 400,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_conflict: 400,
  idempotency_key_reused: 422,
  missing_api_key: 401,
  invalid_api_key: 401,
  wrong_passphrase: 401,
  rate_limited: 429,
  unknown_host: 421,
  not_found: 404,
  method_not_allowed: 405,
  entry_not_found: 404,
  block_not_found: 404,
  no_blocks: 404,
  item_not_found: 404,
  payment_not_found: 404,
  trade_not_found: 404,
  // The contract answers refusals by rules of the chain with 500 (Errors, table).
  transaction_rejected: 500,
  double_spend: 500,
  unknown_input: 500,
  invalid_signature: 500,
  too_many_ancestors: 500,
  mempool_full: 500,
  insufficient_funds: 422,
  payment_refused: 422,
  payment_sent: 409,
  trade_refused: 422,
  trade_closed: 409,
  // The contract answers 500 when the mempool node cannot be reached.
  outcome_unknown: 500,
  mempool_unreachable: 500,
  storage_unreachable: 500,
  peer_unreachable: 500,
  no_wallet: 500,
  wallet_unreadable: 500,
  wallet_write_failed: 500,
  refresh_failed: 500,
  not_mining: 500,
  cannot_pay: 500,
  archive_incomplete: 503,
  index_off: 501,
  index_incomplete: 503,
  write_failed: 503,
  overloaded: 503,
  shutting_down: 503,
  internal_error: 500,
  aborted: 503,
};

/** Codes that the contract answers with 500 although nothing is wrong with the node: the request is refused. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'transaction_rejected',
  'double_spend',
  'unknown_input',
  'invalid_signature',
  'too_many_ancestors',
  'mempool_full',
  'wrong_passphrase',
  'peer_unreachable',
  'no_wallet',
  'not_mining',
  'cannot_pay',
  'index_off',
]);

/** The result of a request, for the metrics: a refusal concerns the caller, a failure the operator. */
export type RequestResult = 'ok' | 'refused' | 'failed';

export function resultOf(status: number, code: ErrorCode | null): RequestResult {
  if (status < 400) return 'ok';
  return status < 500 || (code !== null && REFUSALS.has(code)) ? 'refused' : 'failed';
}

/** Operations for which the contract gives a code another status. */
const STATUS_ON_OPERATION: Readonly<Record<string, Partial<Record<ErrorCode, number>>>> = {
  // PUT /v1/wallet/passphrase answers with 204, 400 and 500 only (decision V26).
  changePassphrase: { wrong_passphrase: 500 },
  // POST /v1/items has no 422: an item that cannot be constructed is a bad request.
  createItem: { payment_refused: 400 },
};

/** Our codes for Fastify's errors; for the others the status decides. */
const FASTIFY_ERRORS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'Send the body as application/json.'],
  FST_ERR_CTP_EMPTY_TYPE: ['unsupported_media_type', 'Send the body as application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'invalid_request',
    'The body does not have the length that Content-Length says.',
  ],
  FST_ERR_BAD_URL: ['invalid_request', 'The path is not properly percent-encoded.'],
  FST_ERR_MAX_PARAM_LENGTH: ['invalid_request', 'A part of the path is too long.'],
};

function statusOf(code: ErrorCode, operationId?: string): number {
  return (operationId === undefined ? undefined : STATUS_ON_OPERATION[operationId]?.[code]) ?? STATUS[code] ?? 500;
}

/** Turns anything thrown into an error that clients may see. `bodyLimit`, in bytes, is for the message about a large body. */
export function publicError(error: unknown, bodyLimit?: number): TesseraError {
  if (error instanceof TesseraError) {
    if (error.details.mayBeTaken === true) return new TesseraError('outcome_unknown', error.message, { cause: error });
    return STATUS[error.code] === undefined || error.code === 'internal_error' ? hiddenError(error) : error;
  }
  if (!(error instanceof Error)) return hiddenError(error);
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  const known = typeof code === 'string' ? FASTIFY_ERRORS[code] : undefined;
  if (known !== undefined) return new TesseraError(known[0], known[1], { cause: error });
  if (statusCode === 413) return new TesseraError('payload_too_large', tooLarge(bodyLimit), { cause: error });
  if (statusCode === 429) return new TesseraError('rate_limited', error.message, { cause: error });
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new TesseraError('invalid_request', 'The request could not be read.', { cause: error });
  }
  return hiddenError(error);
}

function tooLarge(bodyLimit: number | undefined): string {
  if (bodyLimit === undefined) return 'The body is too large.';
  return `The body must have at most ${bodyLimit} bytes (api.limits.body_bytes).`;
}

function hiddenError(cause: unknown): TesseraError {
  return new TesseraError(
    'internal_error',
    `${ERROR_CODES.internal_error} Its log has the cause under the request id.`,
    {
      cause,
    },
  );
}

export function problemOf(error: TesseraError, operationId?: string): ApiProblem {
  const status = statusOf(error.code, operationId);
  return {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail: error.message,
    code: error.code,
  };
}

export function problemHeaders(error: TesseraError): Readonly<Record<string, string>> {
  switch (error.code) {
    case 'missing_api_key':
    case 'invalid_api_key':
      return { 'www-authenticate': 'ApiKey header="x-api-key"' };
    case 'too_many_ancestors':
    case 'mempool_full':
    case 'write_failed':
    case 'overloaded':
    case 'shutting_down':
      return { 'retry-after': '1' };
    case 'archive_incomplete':
      return { 'retry-after': '10' };
    case 'index_incomplete':
      return { 'retry-after': '2' };
    case 'rate_limited':
      // The rate limit has set its own header.
      return error.details.retryAfter === undefined ? {} : { 'retry-after': String(error.details.retryAfter) };
    case 'method_not_allowed':
      return { allow: String(error.details.allow ?? '') };
    default:
      return {};
  }
}

/** Codes that any operation may answer: another name than the node's, rate limit, overload, shutdown, and faults of the node. */
const GENERAL: readonly ErrorCode[] = ['unknown_host', 'rate_limited', 'overloaded', 'shutting_down', 'internal_error'];

function errorsOf(operation: Operation): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>(operation.errors);
  // Every request may lack its Host header.
  codes.add('invalid_request');
  if (operation.method !== 'GET' || operation.aliases?.includes('POST')) {
    codes.add('malformed_json').add('payload_too_large').add('unsupported_media_type');
  }
  if (operation.idempotencyKey) codes.add('idempotency_key_reused');
  if (operation.apiKey) codes.add('missing_api_key').add('invalid_api_key');
  for (const code of GENERAL) codes.add(code);
  return [...codes];
}

export function errorStatusesOf(operation: Operation): ReadonlyMap<number, readonly ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorsOf(operation)) {
    const status = operation.family === 'envelope' ? envelopeStatusOf(code) : statusOf(code, operation.id);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return new Map([...byStatus].sort(([a], [b]) => a - b));
}

/** Codes that are faults of the node and not of the request, on envelope routes; all others are 400 (decision E7). */
const ENVELOPE_FAULTS: ReadonlySet<ErrorCode> = new Set([
  'outcome_unknown',
  'mempool_unreachable',
  'storage_unreachable',
  'too_many_ancestors',
  'mempool_full',
  'peer_unreachable',
  'no_wallet',
  'wallet_unreadable',
  'wallet_write_failed',
  'refresh_failed',
  'not_mining',
  'cannot_pay',
  'internal_error',
]);
const ENVELOPE_KEPT: ReadonlySet<number> = new Set([401, 404, 405, 413, 415, 421, 429, 503]);
const ENVELOPE_NOT_FOUND: ReadonlySet<ErrorCode> = new Set(['entry_not_found', 'block_not_found', 'no_blocks']);

/** The original node's other answers where a rule refuses (decision E10). */
const ORIGINAL_STATUS: Readonly<Partial<Record<ErrorCode, number>>> = {
  transaction_rejected: 500,
  double_spend: 500,
  unknown_input: 500,
  invalid_signature: 500,
  no_addresses: 500,
  blank_passphrase: 401,
  no_blocks: 204,
};

/** The status of a code on an envelope route: 400 for client errors and refused transactions, but with the original's answers. */
export function envelopeStatusOf(code: ErrorCode, isOriginal = false): number {
  const original = ORIGINAL_STATUS[code];
  if (isOriginal && original !== undefined) return original;
  if (ENVELOPE_FAULTS.has(code)) return 500;
  if (ENVELOPE_NOT_FOUND.has(code)) return 400;
  const status = statusOf(code);
  return ENVELOPE_KEPT.has(status) ? status : 400;
}

export const ApiProblem = named('ApiProblem', 'An error of a /v1 route (RFC 9457).').object(
  {
    type: Type.String({ description: 'URI of the problem type; about:blank when none is defined.' }),
    title: Type.String({ description: 'The reason phrase of the status.' }),
    status: Int32({ minimum: 0, description: 'The HTTP status, repeated.' }),
    detail: Type.Optional(
      Nullable(Type.String(), { description: 'What happened in this case and what to do, for people.' }),
    ),
    code: Type.Optional(
      Nullable(Type.String(), { description: 'What happened, for programs: a code of the error catalogue.' }),
    ),
  },
  {
    type: 'about:blank',
    title: 'Not Found',
    status: 404,
    detail: 'No block is stored at number 12.',
    code: 'block_not_found',
  },
);
export type ApiProblem = Static<typeof ApiProblem>;
