/** Sending signed transactions until it is known what became of them: the same ones happen once, however often they are sent. */

import { transactionHash } from '../chain/hash.js';
import type { Transaction } from '../chain/types.js';
import { isPassing, mayHaveActed, repeat, UnknownOutcome } from '../client/repeat.js';
import { systemClock } from '../lib/clock.js';
import { isTesseraError } from '../lib/errors.js';
import { pause } from '../lib/pause.js';
import type { CallOptions } from './calls.js';
import type { Operations } from './operations.js';
import { toCreateTransaction } from './payments.js';

/** Milliseconds in which they are sent again. */
const RETRY_FOR = 30_000;

/** What a client must have. */
export type SubmittingClient = Pick<Operations, 'createTransactions' | 'queryTransactionStatus'>;

/**
 * Sends transactions, which are admitted together or not at all, and resolves with their hashes. When an answer is lost, they are sent
 * again, which does it once. Throws the node's error when it refuses them, such as `double_spend`, and `UnknownOutcome` when it is not
 * known whether it has them: then send the same ones again.
 */
export async function submitTransactions(
  client: SubmittingClient,
  transactions: readonly Transaction[],
  { retryForMs = RETRY_FOR, ...options }: Pick<CallOptions, 'signal' | 'timeoutMs' | 'retryForMs'> = {},
): Promise<readonly string[]> {
  const hashes = transactions.map((transaction) => transactionHash(transaction));
  const body = { transactions: transactions.map(toCreateTransaction) };
  let isLost = false;
  const attempt = async (): Promise<readonly string[]> => {
    try {
      await client.createTransactions(body, { ...options, retryForMs: 0 });
      return hashes;
    } catch (error) {
      // An earlier attempt may have been admitted, and mined since.
      if (isLost && (await areKnown(client, hashes, options))) return hashes;
      isLost ||= isTesseraError(error) && mayHaveActed(error);
      throw error;
    }
  };
  const sending = { forMs: retryForMs, clock: systemClock, pause: (ms: number) => pause(ms, options.signal) };
  try {
    return await repeat(attempt, { ...sending, afterLoss: 'repeat', refusals: true });
  } catch (error) {
    const isUnknown = isLost && isTesseraError(error) && (mayHaveActed(error) || isPassing(error));
    throw isUnknown ? new UnknownOutcome(error) : error;
  }
}

async function areKnown(
  client: SubmittingClient,
  hashes: readonly string[],
  options: Pick<CallOptions, 'signal'>,
): Promise<boolean> {
  const statuses = await client
    .queryTransactionStatus({ hashes }, { ...options, retryForMs: 0 })
    .catch((): Record<string, never> => ({}));
  return hashes.every((hash) => ['Pending', 'Confirmed'].includes(statuses[hash]?.status ?? ''));
}
