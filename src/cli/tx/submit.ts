/** Sending transactions until there is an answer: the same ones can be sent any number of times, and happen once. */

import { createTransactions, queryTransactionStatus } from '../../api/routes/mempool/operations.js';
import { transactionToCreateJson } from '../../chain/create-transaction.js';
import { transactionHash } from '../../chain/hash.js';
import type { Transaction } from '../../chain/types.js';
import type { CallOptions, NodeClient } from '../../client/client.js';
import { submit as submitOnce } from '../../client/submit.js';
import { TIMEOUT_MS } from '../../client/transport.js';
import { systemClock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { pause } from '../../lib/pause.js';
import { printable } from '../../lib/printable.js';
import type { CliContext } from '../command.js';
import type { CommandClient } from '../command-client.js';
import { lookUntil } from '../look-again.js';

/** Throws the node's error when it refuses them, and `UnknownOutcome` when it is not known whether it has taken them. */
export function submit(
  transactions: readonly Transaction[],
  client: CommandClient,
  { stderr, writes }: Pick<CliContext, 'stderr' | 'writes'>,
): Promise<void> {
  const end = systemClock.monotonic() + client.limitMs;
  const limit = (): CallOptions => ({ timeoutMs: Math.max(1, Math.min(TIMEOUT_MS, end - systemClock.monotonic())) });
  const body = { transactions: transactions.map((transaction) => transactionToCreateJson(transaction)) };
  const hashes = transactions.map((transaction) => transactionHash(transaction));
  const sending = submitOnce(hashes, {
    send: () => client.call(createTransactions, { body: body as never }, limit()),
    ask: () => client.call(queryTransactionStatus, { body: { hashes } }, limit()),
    refusals: 'passing',
    until: () => end,
    clock: systemClock,
    pause,
    onRepeat: ({ message }) => {
      stderr.write(`no answer (${printable(message)}): sending again; it happens only once\n`);
    },
  });
  return writes.answer(sending);
}

/** Resolves when blocks have all of them. A node that cannot answer for a while is asked again. Throws `transaction_rejected`. */
export function waitForBlock(
  hashes: readonly string[],
  client: Pick<NodeClient, 'call'>,
  context: Pick<CliContext, 'stderr'>,
): Promise<true> {
  return lookUntil(async () => {
    const statuses = await client.call(queryTransactionStatus, { body: { hashes: [...hashes] } });
    const rejected = hashes.find((hash) => statusOf(statuses, hash) === 'Rejected');
    if (rejected !== undefined) throw new TesseraError('transaction_rejected', `${rejected} was rejected`);
    return hashes.every((hash) => statusOf(statuses, hash) === 'Confirmed') || undefined;
  }, context);
}

/** Status of each transaction at the node; undefined where the node does not say. */
export async function statusesNow(
  hashes: readonly string[],
  client: Pick<NodeClient, 'call'>,
): Promise<(string | undefined)[]> {
  const statuses = await client.call(queryTransactionStatus, { body: { hashes: [...hashes] } }).catch(() => ({}));
  return hashes.map((hash) => statusOf(statuses, hash));
}

function statusOf(statuses: Readonly<Record<string, { readonly status: string }>>, hash: string): string | undefined {
  return statuses[hash]?.status;
}
