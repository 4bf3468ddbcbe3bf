/**
 * Calls of a node's API by its operation definitions: arguments and answers are typed, integers are exact, and problem
 * documents become errors with the node's own code and detail.
 */

import type { Arguments, Operation, Result } from '../../api/operation.js';
import { ERROR_CODES, type ErrorCode, errorMessage, TesseraError } from '../../lib/errors.js';
import { parseExactJson, stringifyExact } from '../../lib/json.js';

/** Failures in which the request has certainly not reached the node. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** No answer came. `sent` is true when the node may have got the request and done what it says. */
export class NoAnswer extends TesseraError {
  readonly sent: boolean;

  constructor(url: string, cause: unknown) {
    const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
    super('node_unreachable', `${url} does not answer: ${errorMessage(reason)}`, { cause });
    const code = reason instanceof Error && 'code' in reason ? String(reason.code) : '';
    this.sent = !NOT_SENT.has(code);
  }
}

export interface ClientOptions {
  /** Base URL, without a path. */
  readonly url: string;
  readonly apiKey: string | undefined;
}

export interface NodeClient {
  readonly url: string;
  /** Throws `NoAnswer`, or the error that the node answers. */
  call<O extends Operation>(operation: O, args?: Partial<Arguments<O>>): Promise<Result<O>>;
}

export function createNodeClient({ url, apiKey }: ClientOptions): NodeClient {
  return {
    url,
    async call<O extends Operation>(operation: O, args: Partial<Arguments<O>> = {}): Promise<Result<O>> {
      const target = new URL(operation.path, url);
      for (const [name, value] of Object.entries(args.query ?? {})) target.searchParams.set(name, String(value));
      const { status, text } = await send(target, {
        method: operation.method,
        headers: {
          ...(apiKey === undefined || operation.apiKey !== true ? {} : { 'x-api-key': apiKey }),
          ...(args.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(args.body === undefined ? {} : { body: stringifyExact(args.body) }),
      });
      if (status >= 400) throw problemError(status, text, url);
      // The node checks its answers against the schema that the type is derived from.
      return (text === '' ? undefined : readAnswer(text, url)) as Result<O>;
    },
  };

  async function send(target: URL, init: RequestInit): Promise<{ readonly status: number; readonly text: string }> {
    try {
      const response = await fetch(target, { ...init, redirect: 'error' });
      return { status: response.status, text: await response.text() };
    } catch (cause) {
      throw new NoAnswer(url, cause);
    }
  }
}

function readAnswer(text: string, url: string): unknown {
  try {
    return parseExactJson(text);
  } catch (cause) {
    throw new TesseraError('node_unreachable', `${url} does not answer as a node does`, { cause });
  }
}

/** The error of a problem document; anything else that is no answer of a node keeps its status. */
function problemError(status: number, text: string, url: string): TesseraError {
  let problem: { readonly code?: unknown; readonly detail?: unknown } = {};
  try {
    const parsed = parseExactJson(text);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) problem = parsed;
  } catch {
    // Not a node, or something between it and us.
  }
  const { code, detail } = problem;
  if (typeof code !== 'string' || typeof detail !== 'string') {
    return new TesseraError('node_unreachable', `${url} answers with status ${status}, and not as a node does`);
  }
  return new TesseraError(isErrorCode(code) ? code : 'internal_error', detail + hintFor(code));
}

function hintFor(code: string): string {
  return code === 'missing_api_key' || code === 'invalid_api_key'
    ? ' Name its file with --api-key-file or TESSERA_API_KEY_FILE; a node keeps its own in <data dir>/api-key.'
    : '';
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}
