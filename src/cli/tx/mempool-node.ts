/** The mempool node that `tessera tx` asks and sends to. */

import { createTransactions, queryBalances, queryTransactionStatus } from '../../api/routes/mempool/operations.js';
import { isPayableAddress } from '../../chain/address.js';
import { transactionToCreateJson } from '../../chain/create-transaction.js';
import { transactionHash } from '../../chain/hash.js';
import type { Transaction } from '../../chain/types.js';
import type { CallOptions, NodeClient } from '../../client/client.js';
import { submit as submitOnce } from '../../client/repeat.js';
import { TIMEOUT_MS } from '../../client/transport.js';
import { systemClock } from '../../lib/clock.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { parseJsonFile } from '../../lib/json.js';
import { pause } from '../../lib/pause.js';
import { printable } from '../../lib/printable.js';
import { type Unspent, unspentIn } from '../../wallet/coins/unspent.js';
import { type CliContext, type FlagSpec, type ParsedArgs, UsageError } from '../command.js';
import { type CommandClient, TIMEOUT_FLAG } from '../command-client.js';
import { lookUntil } from '../look-again.js';
import { connect, nodeFlags } from '../node-access.js';
import { nameOf, readInput } from './draft.js';

const MEMPOOL_NODE = {
  roles: ['mempool'],
  refusal: (role: string) =>
    `transactions go to a mempool node, and this is a ${role} node: name one with --url or --role mempool`,
} as const;

export const MEMPOOL_FLAGS: readonly FlagSpec[] = [
  ...nodeFlags(
    MEMPOOL_NODE.roles,
    'mempool, which is the default.',
    'where the mempool node of the data folder listens, else as configured: http://127.0.0.1:3003.',
  ),
  TIMEOUT_FLAG,
];

export function connectToMempool(args: ParsedArgs, context: CliContext): CommandClient {
  return connect(args, context, MEMPOOL_NODE);
}

/** Sends transactions. Throws the node's error when it refuses them, and `UnknownOutcome` when it is not known whether it has taken them. */
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

/** Resolves when blocks have all the transactions. A node that cannot answer for a while is asked again. Throws `transaction_rejected`. */
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

/** Unspent outputs of the addresses; all those of a listing, when no address is named. Throws `UsageError`, `malformed_transaction`. */
export async function readUnspent(
  addresses: readonly string[],
  args: ParsedArgs,
  context: CliContext,
): Promise<readonly Unspent[]> {
  const file = args.value('utxos');
  if (file !== undefined) {
    const all = parseListing(await readInput(file, context), nameOf(file));
    return addresses.length === 0 ? all : all.filter(({ address }) => addresses.includes(address));
  }
  if (addresses.length === 0) throw new UsageError('say whose outputs are to be spent: --from ADDRESS');
  return unspentOf(addresses, connectToMempool(args, context));
}

/** Unspent outputs as the node names them; those of other addresses are left out. */
export async function unspentOf(addresses: readonly string[], client: NodeClient): Promise<readonly Unspent[]> {
  const answer: unknown = await client.call(queryBalances, { body: { addresses: [...addresses] } });
  return listingOf(answer).filter(({ address }) => addresses.includes(address));
}

function parseListing(text: string, name: string): Unspent[] {
  try {
    return listingOf(parseJsonFile(text, { anyName: true }));
  } catch (cause) {
    const what = 'it is not an answer of tessera call getBalances --json';
    throw new TesseraError('malformed_transaction', `${name}: ${what}: ${errorMessage(cause)}`, { cause });
  }
}

/** Outputs listed at addresses that can be paid. */
function listingOf(answer: unknown): Unspent[] {
  return unspentIn(answer).filter(({ address }) => isPayableAddress(address));
}
