/** Sending signed transactions until it is known what became of them: the same ones happen once, however often they are sent. */

import { transactionHash } from '../chain/hash.js';
import type { Transaction } from '../chain/types.js';
import { isPassing, mayHaveActed, repeat, UnknownOutcome } from '../client/repeat.js';
import { NoAnswer } from '../client/transport.js';
import { systemClock } from '../lib/clock.js';
import { isTesseraError, type TesseraError } from '../lib/errors.js';
import { pause } from '../lib/pause.js';
import type { CallOptions } from './calls.js';
import type { Operations } from './generated/operations.js';
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
  let isRefused = false;
  const attempt = async (): Promise<readonly string[]> => {
    try {
      await client.createTransactions(body, { ...options, retryForMs: 0 });
      return hashes;
    } catch (error) {
      if (!isTesseraError(error)) throw error;
      // An earlier attempt may have been admitted, and mined since: then a refusal says nothing about it, but the statuses do.
      const found = isLost ? await areKnown(client, hashes, options) : false;
      if (found === true) return hashes;
      const isVerdict = !(mayHaveActed(error) || isPassing(error) || error instanceof NoAnswer);
      isRefused = isVerdict && found === false;
      isLost ||= mayHaveActed(error);
      throw isVerdict && found !== false ? found : error;
    }
  };
  const sending = { forMs: retryForMs, clock: systemClock, pause: (ms: number) => pause(ms, options.signal) };
  try {
    return await repeat(attempt, { ...sending, afterLoss: 'repeat', refusals: true });
  } catch (error) {
    throw isLost && !isRefused && isTesseraError(error) ? new UnknownOutcome(error) : error;
  }
}

/** Gives the error when nobody says. */
async function areKnown(
  client: SubmittingClient,
  hashes: readonly string[],
  options: Pick<CallOptions, 'signal'>,
): Promise<boolean | TesseraError> {
  let statuses: Awaited<ReturnType<SubmittingClient['queryTransactionStatus']>>;
  try {
    statuses = await client.queryTransactionStatus({ hashes }, { ...options, retryForMs: 0 });
  } catch (error) {
    if (isTesseraError(error)) return error;
    throw error;
  }
  return hashes.every((hash) => ['Pending', 'Confirmed'].includes(statuses[hash]?.status ?? ''));
}
