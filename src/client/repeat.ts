/**
 * Repeats a request whose answer was lost, with its idempotency key, until there is an answer. Only where the node says that it
 * takes such a key: another would do the thing twice.
 */

import type { Operation, Result } from '../api/operation.js';
import { getOpenApi } from '../api/routes/common/operations.js';
import type { Clock } from '../lib/clock.js';
import { type ErrorCode, isTesseraError, TesseraError } from '../lib/errors.js';
import type { CallArguments, NodeClient } from './client.js';
import { NoAnswer } from './client.js';

/** Milliseconds of one attempt: a node answers wrong passphrases late, and payments to a peer take up to 15 s. */
const ATTEMPT = 90_000;
/** Milliseconds between attempts: the first pause, and the longest. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 2_000;

/** No answer, one that is not the node's, or one of a node that broke over it. */
const LOST: ReadonlySet<ErrorCode> = new Set(['node_unreachable', 'internal_error']);
/** The node could not look at the request now. */
const PASSING: ReadonlySet<ErrorCode> = new Set(['overloaded', 'shutting_down', 'rate_limited', 'aborted']);
/** Answers of a node that has looked at the key: nothing was done for it, now or before. */
const DEFINITE: ReadonlySet<ErrorCode> = new Set([
  'insufficient_funds',
  'payment_refused',
  'peer_unreachable',
  'wallet_write_failed',
  'idempotency_key_reused',
]);

/** It is not known whether the node has acted. */
export class UnknownOutcome extends TesseraError {
  constructor(cause: TesseraError) {
    super(cause.code, cause.message, { cause });
  }
}

export interface RepeatOptions {
  readonly key: string;
  /** Milliseconds from the first lost answer on in which it is repeated. */
  readonly forMs: number;
  readonly clock: Clock;
  /** Resolves after so many milliseconds. */
  readonly pause: (ms: number) => Promise<void>;
  /** Called before the first repetition. */
  readonly onRepeat?: (lost: TesseraError) => void;
}

/**
 * The answer of an operation that takes an idempotency key. Throws the node's error when nothing was done, and
 * `UnknownOutcome` when it is not known whether something was.
 */
export async function callOnce<O extends Operation>(
  client: NodeClient,
  operation: O,
  args: CallArguments<O>,
  options: RepeatOptions,
): Promise<Result<O>> {
  const { key, forMs, clock, pause, onRepeat } = options;
  let lost: TesseraError | undefined;
  let isKeyTaken = false;
  for (let until = 0, wait = FIRST_PAUSE; ; wait = Math.min(2 * wait, LONGEST_PAUSE)) {
    try {
      if (lost !== undefined && !isKeyTaken) isKeyTaken = await mustTakeKeys(client, operation, lost);
      return await client.call(operation, ...([args, { idempotencyKey: key, timeoutMs: ATTEMPT }] as never));
    } catch (error) {
      if (!isTesseraError(error) || error instanceof UnknownOutcome) throw error;
      if (lost === undefined) {
        if (!mayHaveActed(error)) throw error;
        lost = error;
        until = clock.monotonic() + forMs;
        onRepeat?.(error);
      } else if (DEFINITE.has(error.code)) throw error;
      else if (!LOST.has(error.code) && !PASSING.has(error.code)) throw new UnknownOutcome(error);
    }
    if (clock.monotonic() + wait > until) throw new UnknownOutcome(lost);
    await pause(wait);
  }
}

/** True when the node describes the operation as one that takes an idempotency key. */
export async function takesKeys(client: NodeClient, { path, method }: Operation): Promise<boolean> {
  const document: unknown = await client.call(getOpenApi, {}, { timeoutMs: ATTEMPT });
  const text = 'Idempotency-Key';
  const parameters = memberOf(document, 'paths', path, method.toLowerCase(), 'parameters');
  return Array.isArray(parameters) && parameters.some((parameter) => memberOf(parameter, 'name') === text);
}

async function mustTakeKeys(client: NodeClient, operation: Operation, lost: TesseraError): Promise<true> {
  if (await takesKeys(client, operation)) return true;
  throw new UnknownOutcome(lost);
}

/** After a first attempt. The errors of a node say that nothing was done, but for those of a broken one. */
function mayHaveActed(error: TesseraError): boolean {
  return error instanceof NoAnswer ? error.sent : LOST.has(error.code);
}

function memberOf(value: unknown, ...names: readonly string[]): unknown {
  let at = value;
  for (const name of names) at = typeof at === 'object' && at !== null ? Reflect.get(at, name) : undefined;
  return at;
}
