/** `tessera start`, the default: runs one node until a signal or a fatal error. */

import { loadConfig } from '../config/load.js';
import type { Config } from '../config/schema.js';
import type { Service } from '../lib/service.js';
import { createLogger, type NodeLogger } from '../observability/logger.js';
import type { CliContext, Command, CommandSpec, Output, ParsedArgs } from './command.js';
import { CONFIG_FLAGS, configInput } from './config-flags.js';
import { failureText, runUntilStopped } from './lifecycle.js';
import { withTypedPassphrase } from './wallet/start-passphrase.js';

const spec: CommandSpec = {
  name: 'start',
  summary: 'Runs a node (the command when none is named)',
  description: [
    'Runs one node of the given role until SIGINT or SIGTERM, which stop it cleanly within five seconds; a second signal ' +
      'ends it at once. SIGHUP reads the configuration again and applies the log level and the API keys.',
    'Without --config the file that ships for the role is read; the four of them make a network on one machine. ' +
      '`tessera help options` explains every option, `tessera config` shows which are in effect and why.',
    'A user or miner node needs the passphrase of its wallet: wallet.passphrase_file, TESSERA_WALLET__PASSPHRASE, or, on a ' +
      'terminal and when neither is given, typed when it starts.',
  ],
  flags: CONFIG_FLAGS,
  examples: [
    { line: 'tessera --role storage', does: 'A storage node of the network on this machine.' },
    {
      line: 'tessera --role mempool --config /etc/tessera/mempool.toml --data /var/lib/tessera',
      does: 'A mempool node as the file says, its data in the folder.',
    },
    { line: 'tessera -r miner -s mining.threads=4 -l debug', does: 'A miner with four threads and a talkative log.' },
  ],
  exits: { 130: 'ended by a second SIGINT', 143: 'ended by a second SIGTERM' },
};

/** A node as this command sees it. */
export interface StartedNode extends Service {
  readonly apiUrl: string;
  readonly peerAddress: string;
  /** Applies what can change while the node runs. */
  reload?(config: Config): Promise<void>;
}

export interface StartModules {
  createNode(
    config: Config,
    modules: { readonly logger: NodeLogger; readonly terminal?: Output | undefined },
  ): Promise<StartedNode>;
}

/** Runs a node; `load` gives the composition root, which is imported only when it is needed. */
export async function runNode(
  args: ParsedArgs,
  context: CliContext,
  load: () => Promise<StartModules>,
): Promise<number> {
  const input = configInput(args, context);
  const loaded = loadConfig(input);
  const { file, warnings } = loaded;
  const config = await withTypedPassphrase(loaded, context);
  const logger = createLogger({ ...config.log, node: config.node.name });
  for (const warning of warnings) logger.warn({}, warning);
  logger.info({ role: config.node.role, file: file ?? null, data_dir: config.node.dataDir }, 'starting');
  const node = await create(config, logger, load, context);
  if (node === undefined) return 1;
  const reload = async (): Promise<void> => {
    try {
      const again = loadConfig(input).config;
      await node.reload?.(again);
      logger.setLevel(again.log.level);
      logger.info({}, 'configuration read again');
    } catch (error) {
      logger.error({ error }, 'configuration not read again: the node goes on as it is');
    }
  };
  const removeReload = context.onSignal('SIGHUP', () => void reload());
  try {
    return await runUntilStopped(node, {
      logger,
      context,
      onReady: () => logger.info({ api: node.apiUrl, peers: node.peerAddress }, 'ready'),
    });
  } finally {
    removeReload();
    logger.info({}, 'stopped');
  }
}

async function create(config: Config, logger: NodeLogger, load: () => Promise<StartModules>, context: CliContext) {
  try {
    const { createNode } = await load();
    return await createNode(config, { logger, terminal: context.stderr.isTTY === true ? context.stderr : undefined });
  } catch (error) {
    logger.error({ error }, 'the node cannot be made');
    context.stderr.write(`${failureText(error)}\n`);
    return undefined;
  }
}

export const command: Command = {
  spec,
  run: (args, context) =>
    runNode(args, context, async () => {
      const { Node } = await import('../node/node.js');
      return { createNode: Node.create };
    }),
};
