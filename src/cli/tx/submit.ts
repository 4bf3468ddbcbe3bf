/** Sending transactions until there is an answer: the same ones can be sent any number of times, and happen once. */

import { createTransactions, queryTransactionStatus } from '../../api/routes/mempool/operations.js';
import { transactionToCreateJson } from '../../chain/create-transaction.js';
import { transactionHash } from '../../chain/hash.js';
import type { Transaction } from '../../chain/types.js';
import type { NodeClient } from '../../client/client.js';
import { mayHaveActed } from '../../client/repeat.js';
import { NoAnswer } from '../../client/transport.js';
import type { Clock } from '../../lib/clock.js';
import { type ErrorCode, isTesseraError, TesseraError } from '../../lib/errors.js';
import { printable } from '../../lib/printable.js';
import { ExitError, type Output } from '../command.js';
import { lookUntil } from '../look-again.js';
import { UNKNOWN } from '../once.js';

/** Milliseconds after the first lost answer in which they are sent again: time for a node to start again. */
const REPEATED_FOR = 120_000;
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 2_000;

/** No answer, or that of a node that cannot take them now: the next attempt may meet another. */
const PASSING: ReadonlySet<ErrorCode> = new Set([
  'node_unreachable',
  'internal_error',
  'outcome_unknown',
  'overloaded',
  'shutting_down',
  'rate_limited',
  'mempool_unreachable',
]);

export interface SubmitModules {
  readonly clock: Clock;
  readonly stderr: Output;
}

/** Throws the node's error when it refuses them, and `ExitError` with status 3 when it is not known whether it has taken them. */
export async function submit(
  transactions: readonly Transaction[],
  client: NodeClient,
  { clock, stderr }: SubmitModules,
): Promise<void> {
  const body = { transactions: transactions.map((transaction) => transactionToCreateJson(transaction)) };
  const hashes = transactions.map((transaction) => transactionHash(transaction));
  let until = 0;
  let isLost = false;
  for (let wait = FIRST_PAUSE; ; wait = Math.min(2 * wait, LONGEST_PAUSE)) {
    try {
      await client.call(createTransactions, { body: body as never });
      return;
    } catch (error) {
      if (!isTesseraError(error)) throw error;
      if (!PASSING.has(error.code) || (error instanceof NoAnswer && !error.sent)) {
        // An earlier attempt may have been taken, and mined since: then a refusal says nothing about it, but the statuses do.
        const found = isLost ? await areKnown(hashes, client) : false;
        if (found === true) return;
        if (!isLost || (found === false && !PASSING.has(error.code))) throw error;
      }
      if (until === 0) {
        until = clock.monotonic() + REPEATED_FOR;
        stderr.write(`no answer (${printable(error.message)}): sending again, which does it once\n`);
      }
      isLost ||= mayHaveActed(error);
      if (clock.monotonic() + wait > until) throw gaveUp(error, isLost);
    }
    // Not with a `Clock`, whose timers do not keep the process alive.
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

function gaveUp(error: TesseraError, isLost: boolean): TesseraError {
  if (!isLost) return error;
  const advice = 'it is not known whether the node has taken it: send it again, which does it once';
  return new ExitError(UNKNOWN, error.code, `${error.message}; ${advice}`);
}

/** True when the node has admitted all of them; undefined when it does not say. */
async function areKnown(hashes: readonly string[], client: NodeClient): Promise<boolean | undefined> {
  try {
    const statuses = await client.call(queryTransactionStatus, { body: { hashes: [...hashes] } });
    return hashes.every((hash) => ['Pending', 'Confirmed'].includes(statusOf(statuses, hash) ?? ''));
  } catch {
    return undefined;
  }
}

/** Resolves when blocks have all of them. A node that cannot answer for a while is asked again. Throws `transaction_rejected`. */
export function waitForBlock(hashes: readonly string[], client: NodeClient): Promise<true> {
  return lookUntil(async () => {
    const statuses = await client.call(queryTransactionStatus, { body: { hashes: [...hashes] } });
    const rejected = hashes.find((hash) => statusOf(statuses, hash) === 'Rejected');
    if (rejected !== undefined) throw new TesseraError('transaction_rejected', `${rejected} was rejected`);
    return hashes.every((hash) => statusOf(statuses, hash) === 'Confirmed') || undefined;
  });
}

/** What the node says of each now; undefined where it does not say. */
export async function statusesNow(hashes: readonly string[], client: NodeClient): Promise<(string | undefined)[]> {
  const statuses = await client.call(queryTransactionStatus, { body: { hashes: [...hashes] } }).catch(() => ({}));
  return hashes.map((hash) => statusOf(statuses, hash));
}

function statusOf(statuses: Readonly<Record<string, { readonly status: string }>>, hash: string): string | undefined {
  return statuses[hash]?.status;
}
