/** One request and its answer, bounded in time and bytes. Knows no operations, runs in browsers; used by commands and sdk/client.ts. */

import { ERROR_CODES, type ErrorCode, errorMessage, TesseraError } from '../lib/errors.js';
import { type JsonValue, parseExactJson } from '../lib/json.js';
import { TimeLimit } from '../lib/time-limit.js';

export type Fetch = (url: URL | string, init: RequestInit) => Promise<Response>;

/** The `fetch` of the platform, looked up at each call: browsers refuse it as a method of another object. */
export const platformFetch: Fetch = (url, init) => fetch(url, init);

/** Error codes that mean that the request has not reached the node. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Error codes of TLS before the request is sent: a certificate that is not trusted, a server without TLS. Others may come later. */
const NOT_TRUSTED =
  /^(?:ERR_TLS_CERT_\w+|(?:DEPTH_ZERO_)?SELF_SIGNED_CERT\w*|UNABLE_TO_\w+|CERT_\w+|ERR_SSL_WRONG_VERSION_NUMBER|HOSTNAME_MISMATCH)$/;

export const TIMEOUT_MS = 30_000;
/** Default bound of an answer in bytes: a list of large blocks in JSON. */
export const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

/** Longest delay that a node may ask for, in seconds. */
const LONGEST_RETRY_AFTER = 86_400;

/** Error when no answer came. `sent` is true when the node may have received the request and acted on it. */
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

/** Error of a request that the node refused. Code and message are the node's. */
export class RefusedCall extends TesseraError {
  readonly status: number;
  readonly requestId: string | null;
  /** Seconds after which the request may be repeated, when the node has named a time. */
  readonly retryAfter: number | undefined;

  constructor(code: ErrorCode, message: string, { status, headers }: Response) {
    const requestId = headers.get('x-request-id');
    const after = retryAfter(headers);
    super(code, message, { details: { status, requestId, ...after } });
    this.status = status;
    this.requestId = requestId;
    this.retryAfter = after.retryAfter;
  }

  /** The node's sentence about the error; the same as `message`. */
  get detail(): string {
    return this.message;
  }
}

export interface Outgoing {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON, or bytes in the chain's own encoding. */
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
}

export interface Sending {
  readonly fetch: Fetch;
  readonly signal?: AbortSignal | undefined;
  /** Time limit in ms; 0 for none. */
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
}

export interface Exchanged {
  readonly status: number;
  /** JSON with exact integers; undefined without a body. */
  readonly answer: JsonValue | undefined;
}

/** The answer; `isSuccess` allows statuses besides 2xx. Throws `RefusedCall` (the node's error), `NoAnswer`, and the signal's reason. */
export async function exchange(
  outgoing: Outgoing,
  sending: Sending,
  isSuccess: (status: number) => boolean,
): Promise<Exchanged> {
  const { origin } = outgoing.url;
  const { response, text } = await send(outgoing, sending);
  // GET /readyz answers 503 with a body of its own.
  if (!response.ok && (!isSuccess(response.status) || isProblem(response))) throw refusal(response, text, origin);
  return { status: response.status, answer: text === '' ? undefined : readJson(text, origin) };
}

async function send({ method, url, headers, body }: Outgoing, sending: Sending) {
  const { signal, timeoutMs, maxAnswerBytes } = sending;
  const limit = new TimeLimit(timeoutMs, signal);
  // A type is sent without a body too: it needs a preflight, without which nodes that ask for no key take no change from other origins.
  const media = body instanceof Uint8Array ? 'application/octet-stream' : 'application/json';
  const type = method === 'GET' ? {} : { 'content-type': media };
  try {
    const response = await sending.fetch(url, {
      method,
      redirect: 'error',
      signal: limit.signal,
      headers: { accept: 'application/json', ...headers, ...type },
      ...(body === undefined ? {} : { body }),
    });
    return { response, text: await readText(response, maxAnswerBytes, limit.signal) };
  } catch (cause) {
    signal?.throwIfAborted();
    throw new NoAnswer(url.origin, cause);
  } finally {
    limit.end();
  }
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
    // The server is not a node, or a proxy in front of it.
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

/** Seconds after which the request may be repeated: a day at most, as timers of more than 24 days end at once. */
function retryAfter(headers: Headers): { readonly retryAfter?: number } {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? { retryAfter: Math.min(seconds, LONGEST_RETRY_AFTER) } : {};
}

function memberTexts(value: JsonValue): Readonly<Record<string, string | undefined>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([, member]) => typeof member === 'string')) as Record<
    string,
    string
  >;
}

/** The code for an error in an envelope, which has none. */
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
    throw notANode(url, undefined, cause);
  }
}

/** The error for a server that answers and is not a node. */
export function notANode(url: string, fault?: string, cause?: unknown): TesseraError {
  const what = `${url} does not answer as a node does`;
  return new TesseraError('node_unreachable', fault === undefined ? what : `${what}: ${fault}`, { cause });
}

/** The body as text. Throws `node_unreachable` when it has more than `maxBytes` bytes, uncompressed. */
export async function readText({ body }: Response, maxBytes: number, signal?: AbortSignal): Promise<string> {
  if (body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(body, signal)) {
    bytes += chunk.length;
    // Leaving the loop cancels the rest.
    if (bytes > maxBytes) throw new TesseraError('node_unreachable', `the answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return new TextDecoder().decode(whole);
}

/** Chunks of the stream, until it ends or is aborted: the signal of a `fetch` may be garbage-collected while its body is read. */
export async function* chunksOf(body: ReadableStream<Uint8Array>, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  signal?.addEventListener('abort', cancel);
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
    signal?.throwIfAborted();
  } finally {
    signal?.removeEventListener('abort', cancel);
    cancel();
  }
}
