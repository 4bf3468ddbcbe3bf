/** Calls of operations that take an idempotency key: repeated with it until there is an answer. */

import type { Operation, Result } from '../api/operation.js';
import type { Clock } from '../lib/clock.js';
import type { TesseraError } from '../lib/errors.js';
import type { CallArguments, NodeClient } from './client.js';
import { describesKeys, KEYED_ATTEMPT, repeat } from './repeat.js';

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
export function callOnce<O extends Operation>(
  client: NodeClient,
  operation: O,
  args: CallArguments<O>,
  { key, ...options }: RepeatOptions,
): Promise<Result<O>> {
  const attempt = (): Promise<Result<O>> =>
    client.call(operation, ...([args, { idempotencyKey: key, timeoutMs: KEYED_ATTEMPT }] as never));
  return repeat(attempt, { ...options, refusals: false, afterLoss: () => takesKeys(client, operation) });
}

/** True when the node describes the operation as one that takes an idempotency key. */
export async function takesKeys(client: NodeClient, operation: Operation): Promise<boolean> {
  return describesKeys(await client.api.getOpenApi({}, { timeoutMs: KEYED_ATTEMPT }), operation);
}
