/** Calls of operations that take an idempotency key: repeated with it until there is an answer. */

import type { Operation, Result } from '../api/operation.js';
import { getOpenApi } from '../api/routes/common/operations.js';
import type { CallArguments, CallOptions, NodeClient } from './client.js';
import { describesKeys, KEYED_ATTEMPT, type Repeating, repeat } from './repeat.js';

export interface RepeatOptions extends Pick<Repeating, 'clock' | 'pause' | 'onRepeat'> {
  readonly key: string;
  readonly limitMs: number;
}

/** The answer of an operation with an idempotency key. Throws the node's error when nothing was done, else `UnknownOutcome`. */
export function callOnce<O extends Operation>(
  client: NodeClient,
  operation: O,
  args: CallArguments<O>,
  { key, limitMs, ...options }: RepeatOptions,
): Promise<Result<O>> {
  const end = options.clock.monotonic() + limitMs;
  const limit = (): CallOptions => ({
    timeoutMs: Math.max(1, Math.min(KEYED_ATTEMPT, end - options.clock.monotonic())),
  });
  const attempt = (): Promise<Result<O>> =>
    client.call(operation, ...([args, { idempotencyKey: key, ...limit() }] as never));
  const afterLoss = (): Promise<boolean> => takesKeys(client, operation, limit());
  return repeat(attempt, { ...options, until: () => end, refusals: false, afterLoss });
}

/** True when the node describes the operation as one that takes an idempotency key. */
export async function takesKeys(client: NodeClient, operation: Operation, options: CallOptions = {}): Promise<boolean> {
  return describesKeys(await client.call(getOpenApi, {}, options), operation);
}
