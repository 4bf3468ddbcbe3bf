/** Repeats a request until there is an answer. A request that acts is repeated only with an idempotency key that the node takes. */

import type { Clock } from '../lib/clock.js';
import { type ErrorCode, isTesseraError, TesseraError } from '../lib/errors.js';
import { NoAnswer } from './transport.js';

/** Milliseconds of one attempt with a key: a node answers wrong passphrases late, and payments to a peer take up to 15 s. */
export const KEYED_ATTEMPT = 90_000;
/** Milliseconds between attempts: the first pause, and the longest. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 2_000;

/** Codes for a lost answer: none came, it is not the node's, or the node failed at the request or does not know. */
const LOST: ReadonlySet<ErrorCode> = new Set(['node_unreachable', 'internal_error', 'outcome_unknown']);
/** Codes of a node that could not look at the request now. */
const PASSING: ReadonlySet<ErrorCode> = new Set(['overloaded', 'shutting_down', 'rate_limited', 'aborted']);
/** Statuses of a node that could not look at the request now, whatever the code is. */
const PASSING_STATUSES: ReadonlySet<unknown> = new Set([429, 503]);
/** Codes of a node that has looked at the key: nothing was done for it, now or before. */
const DEFINITE: ReadonlySet<ErrorCode> = new Set([
  'insufficient_funds',
  'payment_refused',
  'peer_unreachable',
  'wallet_write_failed',
  'idempotency_key_reused',
]);

/** Error of a request when it is not known whether the node has acted. */
export class UnknownOutcome extends TesseraError {
  constructor(cause: TesseraError) {
    super(cause.code, cause.message, { cause });
  }
}

export interface Repeating {
  /** Policy for a lost answer: `stop` throws it, `repeat` asks again; a function is asked once whether a repetition does nothing more. */
  readonly afterLoss: 'stop' | 'repeat' | (() => Promise<boolean>);
  /** Policy for refusals: `passing` repeats a request that the node could not look at then, `all` also one that never reached it. */
  readonly refusals: false | 'passing' | 'all';
  /** Called at the first failure; gives the time, on the monotonic clock, until which the request is repeated. */
  readonly until: () => number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly pause: (ms: number) => Promise<void>;
  readonly onRepeat?: ((lost: TesseraError) => void) | undefined;
}

/** The first answer to an attempt. Throws the error of the last attempt, or `UnknownOutcome`. */
export async function repeat<T>(attempt: () => Promise<T>, options: Repeating): Promise<T> {
  const { afterLoss, refusals, clock, pause, onRepeat } = options;
  const isKeyed = typeof afterLoss === 'function';
  let lost: TesseraError | undefined;
  let isKeyTaken = !isKeyed;
  let until: number | undefined;
  for (let wait = FIRST_PAUSE; ; wait = Math.min(2 * wait, LONGEST_PAUSE)) {
    let failure: TesseraError;
    try {
      if (lost !== undefined && !isKeyTaken && isKeyed) {
        if (!(await afterLoss())) throw new UnknownOutcome(lost);
        isKeyTaken = true;
      }
      return await attempt();
    } catch (error) {
      if (!isTesseraError(error) || error instanceof UnknownOutcome) throw error;
      failure = error;
    }
    if (isKeyed && lost !== undefined) {
      if (isDefinite(failure)) throw failure;
      if (!LOST.has(failure.code) && !isPassing(failure)) throw new UnknownOutcome(failure);
    } else if (mayHaveActed(failure)) {
      if (afterLoss === 'stop' || (afterLoss === 'repeat' && !mayPass(failure))) throw failure;
      if (isKeyed) lost = failure;
    } else {
      // A node that was reached before is probably starting again.
      const mayCome = failure instanceof NoAnswer && (refusals === 'all' || until !== undefined);
      if (refusals === false || !(mayCome || isPassing(failure))) throw failure;
    }
    if (until === undefined) onRepeat?.(failure);
    until ??= options.until();
    const pauseMs = Math.max(wait, retryAfterMs(failure));
    if (clock.monotonic() + pauseMs > until) throw lost === undefined ? failure : new UnknownOutcome(lost);
    await pause(pauseMs);
  }
}

/** True when an OpenAPI document describes an operation as one that takes an idempotency key. */
export function describesKeys(
  document: unknown,
  { path, method }: { readonly path: string; readonly method: string },
): boolean {
  const text = 'Idempotency-Key';
  const parameters = memberOf(document, 'paths', path, method.toLowerCase(), 'parameters');
  return Array.isArray(parameters) && parameters.some((parameter) => memberOf(parameter, 'name') === text);
}

/** True if the node may have acted. Its errors say that nothing was done, unless it is broken or does not know. */
export function mayHaveActed(error: TesseraError): boolean {
  return error instanceof NoAnswer ? error.sent : LOST.has(error.code);
}

/** True when the node has looked at the key, and nothing was done for it. */
export function isDefinite({ code }: TesseraError): boolean {
  return DEFINITE.has(code);
}

/** True when the node, or a proxy in front of it, could not look at the request. */
export function isPassing({ code, details }: TesseraError): boolean {
  return PASSING.has(code) || PASSING_STATUSES.has(details.status);
}

/** False for an error that will be the same next time: the node fails at the request, or the server is not a node. */
function mayPass({ code, details: { status } }: TesseraError): boolean {
  return code === 'outcome_unknown' || (code === 'node_unreachable' && (typeof status !== 'number' || status >= 500));
}

/** True when the same question may be answered later: no answer came, or the node, or one behind it, cannot look at the question now. */
export function mayAnswerLater(error: TesseraError): boolean {
  return error.code === 'node_unreachable' || error.code === 'mempool_unreachable' || isPassing(error);
}

/** Time that the node asks to wait, in ms; 0 when it has named no time. */
export function retryAfterMs({ details }: TesseraError): number {
  return typeof details.retryAfter === 'number' ? 1_000 * details.retryAfter : 0;
}

function memberOf(value: unknown, ...names: readonly string[]): unknown {
  let at = value;
  for (const name of names) at = typeof at === 'object' && at !== null ? Reflect.get(at, name) : undefined;
  return at;
}

type Statuses = Readonly<Record<string, { readonly status: string }>>;

interface Submitting extends Omit<Repeating, 'afterLoss'> {
  readonly send: () => Promise<unknown>;
  readonly ask: () => Promise<Statuses>;
}

/** Sends transactions. Throws the node's error when it refuses them, and `UnknownOutcome` when it is not known whether it has them. */
export async function submit(hashes: readonly string[], { send, ask, ...repeating }: Submitting): Promise<void> {
  let isLost = false;
  let isRefused = false;
  const attempt = async (): Promise<void> => {
    try {
      await send();
    } catch (error) {
      if (!isTesseraError(error) || error instanceof UnknownOutcome) throw error;
      // An earlier attempt may have been admitted, and mined since: then a refusal says nothing about it, but the statuses do.
      const found = isLost ? await areKnown(hashes, ask) : false;
      if (found === true) return;
      const isVerdict = !(mayHaveActed(error) || isPassing(error) || error instanceof NoAnswer);
      isRefused = isVerdict && found === false;
      isLost ||= mayHaveActed(error);
      throw isVerdict && found !== false ? found : error;
    }
  };
  try {
    await repeat(attempt, { ...repeating, afterLoss: 'repeat' });
  } catch (error) {
    throw isLost && !isRefused && isTesseraError(error) ? new UnknownOutcome(error) : error;
  }
}

/** True if the node knows all the transactions; the error when it does not say. */
async function areKnown(hashes: readonly string[], ask: () => Promise<Statuses>): Promise<boolean | TesseraError> {
  try {
    const statuses = await ask();
    return hashes.every((hash) => ['Pending', 'Confirmed'].includes(statuses[hash]?.status ?? ''));
  } catch (error) {
    if (isTesseraError(error)) return error;
    throw error;
  }
}
