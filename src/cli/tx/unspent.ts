/** Unspent outputs of some addresses, from a mempool node or from an earlier listing of one. */

import { queryBalances } from '../../api/routes/mempool/operations.js';
import { isPayableAddress } from '../../chain/address.js';
import type { NodeClient } from '../../client/client.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { parseJsonFile } from '../../lib/json-file.js';
import { type Unspent, unspentIn } from '../../wallet/coins/unspent.js';
import { type CliContext, type ParsedArgs, UsageError } from '../command.js';
import { nameOf, readInput } from './input.js';
import { connectToMempool } from './mempool-node.js';

/** Unspent outputs of the addresses; of a listing all, when no address is named. Throws `UsageError`, `malformed_transaction`. */
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
