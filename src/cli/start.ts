/** `tessera start`, the default: runs one node until a signal or a fatal error. */

import { changesText, EffectiveOptions } from '../config/changes.js';
import { type ConfigInput, loadConfig } from '../config/load.js';
import type { Config } from '../config/schema.js';
import type { Service } from '../lib/service.js';
import { NodeLogger } from '../observability/logger.js';
import type { CliContext, Command, CommandSpec, Output, ParsedArgs } from './command.js';
import { CONFIG_FLAGS, configInput } from './config-flags.js';
import { errorFields, reportFailure, runUntilStopped } from './lifecycle.js';
import { withTypedPassphrase } from './wallet/start-passphrase.js';

const spec: CommandSpec = {
  name: 'start',
  summary: 'Runs a node (the command when none is named)',
  description: [
    'Runs one node of the given role until SIGINT or SIGTERM, which stops it cleanly within five seconds; a second signal ' +
      'ends it at once. SIGHUP reads the configuration again, applies the log level and the API keys, and logs what has ' +
      'changed and what needs a restart.',
    'Without --config, the file that ships for the role is read; the four files make a network on one machine. ' +
      '`tessera help options` explains every option, and `tessera config` shows their values and sources.',
    'A user or miner node needs the passphrase of its wallet: from wallet.passphrase_file or TESSERA_WALLET__PASSPHRASE, or, ' +
      'if neither is given, typed on a terminal when it starts.',
  ],
  flags: [
    ...CONFIG_FLAGS,
    { name: 'json', description: 'Writes the log as JSON lines, also on a terminal: --log-format json.' },
  ],
  examples: [
    { line: 'tessera --role storage', does: 'A storage node of the network on this machine.' },
    {
      line: 'tessera --role mempool --config /etc/tessera/mempool.toml --data /var/lib/tessera',
      does: 'A mempool node configured by the file, with its data in the folder.',
    },
    { line: 'tessera -r miner -s mining.threads=4 -l debug', does: 'A miner with four threads and a detailed log.' },
  ],
  exits: { 130: 'ended by a second SIGINT', 143: 'ended by a second SIGTERM' },
};

/** A node as this command sees it. */
export interface StartedNode extends Service {
  readonly apiUrl: string;
  readonly peerAddress: string;
  /** Undefined or empty when the metrics are off. */
  readonly metricsUrl?: string;
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
  const input = withJsonLog(configInput(args, context), args);
  const loaded = loadConfig(input);
  const config = await withTypedPassphrase(loaded, context);
  const logger = NodeLogger.create({ ...config.log, node: config.node.name });
  for (const warning of loaded.warnings) logger.warn({}, warning);
  logger.info({ role: config.node.role, file: loaded.file ?? null, data_dir: config.node.dataDir }, 'starting');
  const node = await create(config, logger, load, context);
  if (node === undefined) return 1;
  const options = new EffectiveOptions(loaded);
  const removeReload = context.onSignal('SIGHUP', () => void reload(input, { node, logger, options }));
  try {
    return await runUntilStopped(node, {
      logger,
      context,
      onReady: () => logger.info(addressesOf(node), 'ready'),
    });
  } finally {
    removeReload();
    logger.info({}, 'stopped');
  }
}

function withJsonLog(input: ConfigInput, args: ParsedArgs): ConfigInput {
  if (!args.has('json')) return input;
  return { ...input, flags: [...(input.flags ?? []), { option: 'log.format', value: 'json', flag: '--json' }] };
}

interface Reloaded {
  readonly node: StartedNode;
  readonly logger: NodeLogger;
  readonly options: EffectiveOptions;
}

/** Reads the configuration again; an invalid one changes nothing. Never throws. */
async function reload(input: ConfigInput, { node, logger, options }: Reloaded): Promise<void> {
  try {
    const loaded = loadConfig(input);
    await node.reload?.(loaded.config);
    logger.setLevel(loaded.config.log.level);
    const changes = options.takeOver(loaded);
    const fields = { applied: changes.applied, need_restart: changes.needRestart };
    if (changes.needRestart.length > 0) logger.warn(fields, changesText(changes));
    else logger.info(fields, changesText(changes));
  } catch (error) {
    logger.error(errorFields(error), 'configuration not read again: the node keeps the one it has');
  }
}

async function create(config: Config, logger: NodeLogger, load: () => Promise<StartModules>, context: CliContext) {
  try {
    const { createNode } = await load();
    return await createNode(config, { logger, terminal: context.stderr.isTTY === true ? context.stderr : undefined });
  } catch (error) {
    reportFailure(error, 'the node cannot be made', { logger, context });
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

/** Where the node is reached. */
function addressesOf({ apiUrl, peerAddress, metricsUrl = '' }: StartedNode): object {
  return { api: apiUrl, peers: peerAddress, ...(metricsUrl === '' ? {} : { metrics: metricsUrl }) };
}
