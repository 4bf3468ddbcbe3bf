/** Sending signed transactions, again where an answer is lost. */

import { encodeTransactions } from '../chain/decode-in-pieces.js';
import { transactionHash } from '../chain/hash.js';
import type { Transaction } from '../chain/types.js';
import { submit } from '../client/repeat.js';
import { systemClock } from '../lib/clock.js';
import { isTesseraError } from '../lib/errors.js';
import { pause } from '../lib/pause.js';
import type { CallOptions } from './calls.js';
import type { Operations } from './generated/operations.js';
import { toCreateTransaction } from './payments.js';

/** Milliseconds in which transactions are sent again. */
const RETRY_FOR = 30_000;

/** Methods that a client must have. */
export type SubmittingClient = Pick<Operations, 'createTransactions' | 'queryTransactionStatus'>;

/**
 * Sends transactions, admitted together or not at all; gives their hashes. After a lost answer they are sent again, and still admitted once.
 * Throws the node's refusal, or `UnknownOutcome`: then send the same transactions again.
 */
export async function submitTransactions(
  client: SubmittingClient,
  transactions: readonly Transaction[],
  { retryForMs = RETRY_FOR, ...options }: Pick<CallOptions, 'signal' | 'timeoutMs' | 'retryForMs'> = {},
): Promise<readonly string[]> {
  const hashes = transactions.map((transaction) => transactionHash(transaction));
  const once = { ...options, retryForMs: 0 };
  let body: Parameters<SubmittingClient['createTransactions']>[0] = encodeTransactions(transactions);
  const send = () => client.createTransactions(body, once);
  await submit(hashes, {
    send: () =>
      send().catch((error: unknown) => {
        if (!isTesseraError(error, 'unsupported_media_type')) throw error;
        // A node of an earlier version takes JSON only.
        body = { transactions: transactions.map(toCreateTransaction) };
        return send();
      }),
    ask: () => client.queryTransactionStatus({ hashes }, once),
    refusals: 'all',
    until: () => systemClock.monotonic() + retryForMs,
    clock: systemClock,
    pause: (ms) => pause(ms, options.signal),
  });
  return hashes;
}
