/** Proofs of inputs: the transactions that made them. A storage node is not trusted: their hashes are in the names of the outputs. */

import { queryBlockchainEntries } from '../../api/routes/storage/operations.js';
import type { Genesis } from '../../chain/genesis.js';
import type { Transaction } from '../../chain/types.js';
import type { NodeClient } from '../../client/client.js';
import { devAccounts } from '../../config/dev-accounts.js';
import { loadConfig } from '../../config/load.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { assertSound } from '../../lib/fault.js';
import { readGenesis } from '../../node/genesis-file.js';
import { fetchMakers, HASH } from '../../sdk/proofs.js';
import { unspentFault } from '../../wallet/coins/unspent.js';
import { type CliContext, type FlagSpec, flag, type ParsedArgs, UsageError } from '../command.js';
import { configInput } from '../config-flags.js';
import { checkUrl, connect, publicClient } from '../node-access.js';
import { type Draft, type DraftInput, draftFault, outPointName } from './draft.js';
import { connectToMempool } from './mempool-node.js';

export const STORAGE_FLAG: FlagSpec = flag(
  '--storage URL',
  'Base URL of a storage node, for the transactions that made the inputs. Default: the node of --url if it also ' +
    'stores blocks; without --url, the configured one: http://127.0.0.1:3001.',
);

export const UNPROVEN_FLAG: FlagSpec = flag(
  '--unproven',
  'Leaves these transactions out. Signers then have to trust the file (tessera tx sign --trust-amounts).',
);

const STORAGE_NODE = {
  roles: ['storage'],
  refusal: (role: string) => `it is a ${role} node`,
} as const;

/** The draft with its proofs. Throws `malformed_transaction` for an input that holds something else, `node_unreachable` without a proof. */
export async function withProofs(draft: Draft, args: ParsedArgs, context: CliContext): Promise<Draft> {
  const open = await unprovenInputs(draft, args, context);
  if (open.length === 0) return draft;
  const hashes = [...new Set(open.map(({ outPoint }) => outPoint.tHash))].filter((name) => HASH.test(name));
  const reasons: string[] = [];
  const previous = new Map(draft.previous);
  if (hashes.length > 0) {
    for (const client of storageNodes(args, context)) {
      if (hashes.every((hash) => previous.has(hash))) break;
      await takeFrom(client, hashes, previous).catch((error: unknown) => {
        if (!isTesseraError(error)) throw error;
        reasons.push(`${client.url}: ${errorMessage(error)}`);
      });
    }
  }
  const proven = { ...draft, previous };
  assertSound(draftFault(proven));
  const [left] = await unprovenInputs(proven, args, context);
  if (left === undefined) return proven;
  const why = reasons.length === 0 ? '' : ` (${reasons.join('; ')})`;
  throw new TesseraError(
    'node_unreachable',
    `nothing proves what ${outPointName(left.outPoint)} holds${why}: name a storage node with --${STORAGE_FLAG.name}, for an output of ` +
      `block 0 the genesis file with --genesis, or leave the proof out with --${UNPROVEN_FLAG.name}`,
  );
}

function storageNodes(args: ParsedArgs, context: CliContext): readonly NodeClient[] {
  const named = args.value(STORAGE_FLAG.name);
  if (named !== undefined) return [publicClient(checkUrl(named, STORAGE_FLAG.name), args, context)];
  if (args.value('utxos') !== undefined) return [];
  const asked = connectToMempool(args, context);
  if (args.value('url') !== undefined) return [asked];
  try {
    return [asked, connect(args, context, STORAGE_NODE)];
  } catch (error) {
    // A `UsageError` means that the configuration is that of a mempool node.
    if (error instanceof UsageError) return [asked];
    throw error;
  }
}

/** Adds the transactions with the hashes. Throws the error of the node, and `entry_not_found` when it lacks one. */
async function takeFrom(client: NodeClient, hashes: readonly string[], to: Map<string, Transaction>): Promise<void> {
  const ask = (keys: string[]) => client.call(queryBlockchainEntries, { body: { keys } });
  if (await fetchMakers(ask, hashes, to)) return;
  throw new TesseraError('entry_not_found', 'it does not have the transaction');
}

export const GENESIS_FLAG: FlagSpec = flag(
  '--genesis FILE',
  'The genesis file of the network, for the amounts of outputs of block 0. Default: that of the given configuration.',
);

/**
 * Inputs that neither a transaction in the file nor the genesis file proves, except those of `tessera dev`, whose keys are published.
 * Throws `malformed_transaction` when the genesis file says something else, `invalid_config` when it cannot be read.
 */
export async function unprovenInputs(
  { inputs, previous }: Draft,
  args: ParsedArgs,
  context: CliContext,
): Promise<readonly DraftInput[]> {
  const without = inputs.filter(({ outPoint }) => !previous.has(outPoint.tHash));
  if (without.length === 0) return [];
  const published = publishedAddresses();
  const open = without.filter(({ address }) => !published.has(address));
  const genesis = open.length === 0 ? undefined : await namedGenesis(args, context);
  return open.filter((input) => {
    const maker = genesis?.transactions.get(input.outPoint.tHash);
    if (maker === undefined) return true;
    assertSound(unspentFault(input, maker));
    return false;
  });
}

function publishedAddresses(): ReadonlySet<string> {
  const { accounts, user, miner } = devAccounts();
  return new Set([...accounts, user, miner].map(({ address }) => address));
}

/** Genesis file of the flag, or of a named configuration: a file that merely lies there may have come with the transaction. */
async function namedGenesis(args: ParsedArgs, context: CliContext): Promise<Genesis | undefined> {
  const file = args.value(GENESIS_FLAG.name);
  if (file !== undefined) return readGenesis(file);
  const input = configInput(args, context);
  if (input.file === undefined && context.env.TESSERA_CONFIG === undefined) return undefined;
  return readGenesis(loadConfig(input).config.network.genesisFile);
}
