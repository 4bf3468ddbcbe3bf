/**
 * A client of a node's API, derived from the operations: arguments and answers have their types, integers are exact both
 * ways, and errors are the node's own. `client.api.getBlock({ params: { num: 7 } })`.
 */

import type { Arguments, Operation, Result } from '../api/operation.js';
import { type KnownOperation, OPERATIONS } from '../api/operations.js';
import { ERROR_CODES, type ErrorCode, errorMessage, TesseraError } from '../lib/errors.js';
import { type JsonValue, parseExactJson, stringifyExact } from '../lib/json.js';
import { TimeLimit } from '../lib/time-limit.js';
import { readText } from './read-answer.js';
import type { Fetch } from './trusting-fetch.js';

/** Error codes that mean that the request has not reached the node. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/**
 * Codes of a certificate that is not trusted, or of a server without TLS: the request was not sent to it. Other errors of TLS may
 * come after the request, with the answer to it.
 */
const NOT_TRUSTED =
  /^(?:ERR_TLS_CERT_\w+|(?:DEPTH_ZERO_)?SELF_SIGNED_CERT\w*|UNABLE_TO_\w+|CERT_\w+|ERR_SSL_WRONG_VERSION_NUMBER|HOSTNAME_MISMATCH)$/;

/** Default time limit for an answer, in ms. */
const TIMEOUT_MS = 30_000;
/** Default bound of an answer in bytes: a list of large blocks in JSON. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

/** No answer came. `sent` is true when the node may have received the request and acted on it. */
export class NoAnswer extends TesseraError {
  readonly sent: boolean;

  constructor(url: string, cause: unknown) {
    const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
    const code = reason instanceof Error && 'code' in reason ? String(reason.code) : '';
    const isTrusted = !NOT_TRUSTED.test(code);
    const advice = isTrusted ? '' : ' (its certificate is not trusted: name that of its authority with --ca-file)';
    super('node_unreachable', `${url} does not answer: ${errorMessage(reason)}${advice}`, { cause });
    this.sent = isTrusted && !NOT_SENT.has(code);
  }
}

/**
 * The node refused. Code and message are the node's; details hold the `status`, the `requestId`, and `retryAfter` in seconds
 * when the node has named a time.
 */
class RefusedCall extends TesseraError {
  readonly status: number;
  readonly requestId: string | null;

  constructor(code: ErrorCode, message: string, { status, headers }: Response) {
    const requestId = headers.get('x-request-id');
    super(code, message, { details: { status, requestId, ...retryAfter(headers) } });
    this.status = status;
    this.requestId = requestId;
  }
}

export interface ClientOptions {
  /** Base URL of the node, without a path. */
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** Time limit in ms; 0 for none. */
  readonly timeoutMs?: number;
  /** Bytes of the largest answer, unpacked. */
  readonly maxAnswerBytes?: number;
  /** Instead of that of Node.js: for certificates that it does not trust. */
  readonly fetch?: Fetch | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** For envelope routes: makes it safe to repeat the request. */
  readonly cacheId?: string;
  /** For operations that take an `Idempotency-Key`: makes it safe to repeat the request. */
  readonly idempotencyKey?: string | undefined;
  /** Instead of that of the client. */
  readonly timeoutMs?: number;
}

/** The parts of a request that the operation has. */
export type CallArguments<O extends Operation> = {
  readonly [Part in keyof Arguments<O> as Arguments<O>[Part] extends undefined ? never : Part]: Arguments<O>[Part];
};

/** The parameters of a call after its operation. */
export type CallParameters<O extends Operation> = keyof CallArguments<O> extends never
  ? [args?: Record<string, never> | undefined, options?: CallOptions]
  : [args: CallArguments<O>, options?: CallOptions];

/** Operations that answer with one JSON value. */
export type CallableOperation = Exclude<KnownOperation, { readonly id: 'getDocs' | 'streamEvents' }>;

/** The parts of a request, unchecked: the node checks them. */
export interface AnyArguments {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/** A method for each operation, by its id. */
type OperationMethods = {
  readonly [O in CallableOperation as O['id']]: (...args: CallParameters<O>) => Promise<Result<O>>;
};

export class NodeClient {
  readonly url: string;
  readonly api: OperationMethods;
  readonly #apiKey: string | undefined;
  readonly #timeoutMs: number;
  readonly #maxAnswerBytes: number;
  readonly #fetch: Fetch;

  constructor(options: ClientOptions) {
    const { url, apiKey, timeoutMs = TIMEOUT_MS, maxAnswerBytes = MAX_ANSWER_BYTES } = options;
    this.#fetch = options.fetch ?? fetch;
    this.url = url;
    this.#apiKey = apiKey;
    this.#timeoutMs = timeoutMs;
    this.#maxAnswerBytes = maxAnswerBytes;
    const methods = OPERATIONS.map((operation: Operation) => [
      operation.id,
      (args: AnyArguments = {}, options: CallOptions = {}) => this.#send(operation, args, options),
    ]);
    this.api = Object.fromEntries(methods) as OperationMethods;
  }

  /** Throws `RefusedCall` with the node's error, or `NoAnswer`. */
  call<O extends Operation>(operation: O, ...[args, options]: CallParameters<O>): Promise<Result<O>> {
    // The node checks its answers against the schemas that these types come from.
    return this.#send(operation, (args ?? {}) as AnyArguments, options ?? {}) as Promise<Result<O>>;
  }

  async #send(operation: Operation, args: AnyArguments, options: CallOptions): Promise<JsonValue | undefined> {
    const { response, text } = await this.#exchange(operation, args, options);
    // GET /readyz answers 503 with a body of its own.
    const isAnswer = response.ok || (operation.success[response.status] !== undefined && !isProblem(response));
    if (!isAnswer) throw refusal(response, text, this.url);
    return text === '' ? undefined : readJson(text, this.url);
  }

  async #exchange(operation: Operation, args: AnyArguments, options: CallOptions) {
    const { signal, cacheId, idempotencyKey, timeoutMs = this.#timeoutMs } = options;
    const limit = new TimeLimit(timeoutMs, signal);
    const sendsKey = this.#apiKey !== undefined && operation.apiKey === true;
    try {
      const response = await this.#fetch(targetOf(this.url, operation, args), {
        method: operation.method,
        redirect: 'error',
        signal: limit.signal,
        headers: {
          accept: 'application/json',
          ...(sendsKey ? { 'x-api-key': this.#apiKey } : {}),
          ...(cacheId === undefined ? {} : { 'x-cache-id': cacheId }),
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
          ...(args.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(args.body === undefined ? {} : { body: stringifyExact(args.body) }),
      });
      return { response, text: await readText(response, this.#maxAnswerBytes, limit.signal) };
    } catch (cause) {
      signal?.throwIfAborted();
      throw new NoAnswer(this.url, cause);
    } finally {
      limit.end();
    }
  }
}

function targetOf(url: string, { path }: Operation, { params = {}, query = {} }: AnyArguments): URL {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(String(params[name] ?? '')));
  const target = new URL(filled, url);
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) target.searchParams.append(name, String(one));
    }
  }
  return target;
}

function isProblem({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('application/problem+json') ?? false;
}

/** The error in a problem document or an error envelope; no node answers anything else. */
export function refusal(response: Response, text: string, url: string): TesseraError {
  const { status, headers } = response;
  let answer: JsonValue = null;
  try {
    answer = parseExactJson(text, { anyName: true });
  } catch {
    // This is not a node, or a proxy in front of it.
  }
  const { code, detail, title, reason } = memberTexts(answer);
  const message = detail ?? title ?? reason;
  if (message === undefined) {
    const details = { status, ...retryAfter(headers) };
    return new TesseraError('node_unreachable', `${url} answers with status ${status}, and not as a node does`, {
      details,
    });
  }
  return new RefusedCall(code !== undefined && isErrorCode(code) ? code : codeOf(status), message, response);
}

/** Seconds after which the request may be repeated. */
function retryAfter(headers: Headers): { readonly retryAfter?: number } {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? { retryAfter: seconds } : {};
}

function memberTexts(value: JsonValue): Readonly<Record<string, string | undefined>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([, member]) => typeof member === 'string')) as Record<
    string,
    string
  >;
}

/** A code for errors in envelopes, which have none. */
function codeOf(status: number): ErrorCode {
  return status >= 500 ? 'internal_error' : 'invalid_request';
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}

function readJson(text: string, url: string): JsonValue {
  try {
    return parseExactJson(text, { anyName: true });
  } catch (cause) {
    throw new TesseraError('node_unreachable', `${url} does not answer as a node does`, { cause });
  }
}
