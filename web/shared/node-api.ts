/** Calls of the node that has served the page: exact integers both ways, a time limit, and errors with the node's own words. */

import { parseExact, stringifyExact } from './json.js';

/** An integer as it comes: a bigint beyond 2^53 - 1. */
export type ExactInteger = number | bigint;

const TIMEOUT_MS = 30_000;
/** Seconds. A timer of more than 24 days ends at once, and the page would ask without a pause. */
const LONGEST_RETRY_AFTER = 3_600;

/** The node has refused. */
export class Refused extends Error {
  readonly status: number;
  /** A code of the node's catalogue of errors; empty when the answer was not a node's. */
  readonly code: string;
  /** Seconds after which to ask again, where the node has named them. */
  readonly retryAfter: number | undefined;

  constructor(status: number, code: string, message: string, retryAfter: number | undefined) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/** No answer came: the node is down, or the way to it. */
export class NoAnswer extends Error {}

export interface CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly query?: Readonly<Record<string, string | ExactInteger | readonly (string | ExactInteger)[] | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Milliseconds; half a minute by default. */
  readonly timeoutMs?: number;
  /** Statuses beyond 2xx that carry an answer and no error. */
  readonly alsoAnswers?: readonly number[];
}

/** The body of a success answer; undefined when it has none. Throws `Refused` or `NoAnswer`. */
export async function callNode<T>(path: string, options: CallOptions = {}): Promise<T> {
  const { method = 'GET', query = {}, body, headers = {}, signal, timeoutMs = TIMEOUT_MS, alsoAnswers = [] } = options;
  const limit = new AbortController();
  const abort = (): void => limit.abort();
  const timer = setTimeout(abort, timeoutMs);
  signal?.addEventListener('abort', abort);
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${path}${queryText(query)}`, {
      method,
      credentials: 'omit',
      redirect: 'error',
      signal: limit.signal,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: stringifyExact(body) }),
    });
    text = await response.text();
  } catch (cause) {
    signal?.throwIfAborted();
    throw new NoAnswer('The node does not answer.', { cause });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
  if (!response.ok && !alsoAnswers.includes(response.status)) throw refusal(response, text);
  return (text === '' ? undefined : readBody(text)) as T;
}

function readBody(text: string): unknown {
  try {
    return parseExact(text);
  } catch (cause) {
    throw new NoAnswer('What answers here is not a node.', { cause });
  }
}

function queryText(query: NonNullable<CallOptions['query']>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) search.append(name, String(one));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** The error of a problem document; of anything else, only its status. */
function refusal({ status, headers }: Response, text: string): Refused {
  let problem: { readonly code?: unknown; readonly detail?: unknown } = {};
  try {
    problem = Object(parseExact(text));
  } catch {
    // Some proxy between the page and the node.
  }
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return new Refused(
    status,
    typeof problem.code === 'string' ? problem.code : '',
    typeof problem.detail === 'string' ? problem.detail : `The node answers with status ${status}.`,
    Number.isFinite(seconds) ? Math.min(seconds, LONGEST_RETRY_AFTER) : undefined,
  );
}
