/**
 * Finds the inputs of a transaction file whose amount is proven, without a network (docs/cli.md#signing-without-a-node).
 */

import type { Genesis } from '../../chain/genesis.js';
import { devAccounts } from '../../config/dev-accounts.js';
import { loadConfig } from '../../config/load.js';
import { assertSound } from '../../lib/fault.js';
import { readGenesis } from '../../node/genesis-file.js';
import { unspentFault } from '../../wallet/coins/unspent.js';
import type { CliContext, FlagSpec, ParsedArgs } from '../command.js';
import { configInput } from '../config-flags.js';
import type { Draft, DraftInput } from './draft.js';

export const GENESIS_FLAG: FlagSpec = {
  name: 'genesis',
  value: 'FILE',
  description:
    'The genesis file of the network, for the amounts of outputs of block 0. Default: that of the given configuration.',
};

/**
 * The inputs of which nothing proves what they hold: neither a transaction in the file nor the genesis file has made them. Those of
 * the accounts of `tessera dev` need no proof: their keys are published. Throws `malformed_transaction` when the genesis file says
 * something else, and `invalid_config` when it cannot be read.
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
