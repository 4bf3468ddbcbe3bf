/** `tessera rebuild`: rebuilds the data of a stopped node from the chain and from what its own folder still holds. */

import { loadConfig } from '../config/load.js';
import type { Config } from '../config/schema.js';
import { hasService, hasWallet } from '../lib/roles.js';
import { REOPENED_HOURS } from '../wallet/start-over.js';
import {
  type CliContext,
  flag,
  integerFlag,
  type OwnCommand,
  type ParsedArgs,
  printed,
  UsageError,
} from './command.js';
import { CONFIG_FLAGS, configInput } from './config-flags.js';
import { withProgress } from './output.js';

/** Hours of a leap year. */
const MAX_HOURS = 8_784;
const TASK = ['rebuild', 'blocks'] as const;

export const command: OwnCommand = {
  spec: {
    description: [
      'Rebuilds the unspent outputs of a mempool node from the genesis file and the blocks of an archive, each fully ' +
        'validated. Transactions that are still in the old journal or pool, and in no block, are submitted again ' +
        'after the node has started. The old databases are kept in a folder beside the new ones; remove it when all ' +
        'is well.',
      'Without --archive only the old folder is read, and the node fetches the blocks from a linked storage node ' +
        'when it starts. If interrupted, the same command continues. The node must be stopped, and so must the node ' +
        'of the archive.',
      'On a miner or user node, the wallet keeps its keys, and forgets its view of the chain. It asks for its coins ' +
        'again, looks up its payments of the last twelve hours (--hours), and sends those again that the chain does ' +
        'not have. Use this if the chain has lost blocks that the wallet had seen.',
      'On a storage node with a damaged archive, a new archive takes the readable blocks, each fully validated. The ' +
        'rest comes from other storage nodes or the mempool node when it runs again. With another storage node in ' +
        'peers.storage, a node does all of this by itself when it starts.',
      '--index rebuilds the index for explorers on a storage node. A node with a damaged index rebuilds it by itself.',
    ],
    flags: [
      ...CONFIG_FLAGS,
      flag('--archive DIR', 'The data folder of a storage node of this network, or a restored backup of it.'),
      flag(
        '--index',
        'On a storage node: rebuilds only the index of the chain (storage.index) from the archive. With storage.index = ' +
          'false, removes it.',
      ),
      flag(
        '--hours N',
        `Payments of the last N hours are sent again (default ${REOPENED_HOURS}). At most ` +
          'mempool.tx_status_lifetime_hours: the mempool node refuses older payments that are in a block.',
      ),
    ],
    examples: {
      'tessera rebuild --role mempool --config mempool.toml --archive /var/lib/tessera/storage':
        'Rebuilds from the archive on this machine.',
      'tessera rebuild --role mempool --config mempool.toml': 'Rebuilds from a storage node, at the next start.',
      'tessera rebuild --role user --config user.toml': 'Rebuilds a wallet after the chain has lost blocks.',
    },
    exits: { 1: 'nothing was changed, or the command was interrupted: the message says which' },
  },
  async run(args, context) {
    const { config } = loadConfig(configInput(args, context));
    const { role } = config.node;
    if (args.has('index')) return rebuildTheIndex(args, context, config);
    const archive = args.value('archive');
    if (archive !== undefined && hasService(role, 'storage')) throw new UsageError('--archive is for mempool nodes');
    const hours = (hasWallet(role) ? integerFlag(args, 'hours', 0, MAX_HOURS) : undefined) ?? REOPENED_HOURS;
    const { DEFINITIONS } = await import('../node/roles/roles.js');
    const { text, report, problems } = await withProgress(TASK, context, (long) =>
      DEFINITIONS[role].rebuild({ config, archive, hours, ...long }),
    );
    for (const problem of problems) context.stderr.write(`${problem}\n`);
    return printed(args, context, report, text);
  },
};

async function rebuildTheIndex(args: ParsedArgs, context: CliContext, config: Config): Promise<number> {
  if (!hasService(config.node.role, 'chainIndex')) throw new UsageError('--index is for storage nodes');
  const { readGenesis } = await import('../node/genesis-file.js');
  const { rebuildIndex } = await import('../node/rebuild/rebuild-index.js');
  const genesis = await readGenesis(config.network.genesisFile);
  const { blocks, removed } = await withProgress(TASK, context, (long) => rebuildIndex({ config, genesis, ...long }));
  const off = `storage.index is false: ${removed ? 'the index is removed' : 'there is no index'}`;
  const text = blocks === null ? off : `the index of the chain is built anew, with ${blocks} blocks`;
  return printed(args, context, { indexed_blocks: blocks, removed }, text);
}
