/** `tessera start`, the default: runs one node until a signal or a fatal error. */

import { changesText, EffectiveOptions, joined } from '../config/describe.js';
import { type ConfigInput, type LoadedProcess, loadProcess } from '../config/load.js';
import type { Config } from '../config/schema.js';
import { TesseraError } from '../lib/errors.js';
import type { NodeRole } from '../lib/roles.js';
import type { Service } from '../lib/service.js';
import type { Node } from '../node/node.js';
import type { NodeGroup, NodeGroupModules, NodeGroupOptions } from '../node/node-group.js';
import { NodeLogger } from '../observability/logger.js';
import type { CliContext, OwnCommand, OwnSpec, ParsedArgs } from './command.js';
import { CONFIG_FLAGS, configInput } from './config-flags.js';
import { errorFields, reportFailure, runUntilStopped } from './lifecycle.js';
import { withTypedPassphrase } from './wallet/secrets.js';

const spec: OwnSpec = {
  description: [
    'Runs one node of the given role until SIGINT or SIGTERM, which stops it cleanly within five seconds; a second ' +
      'signal ends it at once. SIGHUP reads the configuration again, applies the log level and the API keys, and ' +
      'logs what has changed and what needs a restart.',
    'With several roles (--role mempool,storage), one node of each role runs in this process. Each has a subfolder ' +
      'of the data folder, named after its role. All share one address (api.port, 8080 by default).',
    'Without --config, the supplied file of the role is read; the four files form a network on one machine. `tessera help ' +
      'options` explains every option, and `tessera config` shows their values and sources.',
    'A user or miner node needs the passphrase of its wallet, in wallet.passphrase_file or TESSERA_WALLET__PASSPHRASE. If ' +
      'neither is given, it asks for the passphrase on a terminal.',
  ],
  flags: CONFIG_FLAGS,
  json: 'Writes the log as JSON lines, also on a terminal: --log-format json.',
  examples: {
    'tessera --role storage': 'A storage node of the network on this machine.',
    'tessera --role mempool --config /etc/tessera/mempool.toml --data /var/lib/tessera':
      'A mempool node configured by the file, with its data in the folder.',
    'tessera --role mempool,storage,miner,user --data ./network':
      'A whole network in one process, reached at http://127.0.0.1:8080.',
    'tessera -r miner -s mining.threads=4 -l debug': 'A miner with four threads and a detailed log.',
  },
  exits: { 130: 'ended by a second SIGINT', 143: 'ended by a second SIGTERM' },
};

/** Parts of a node, and of several, that the command uses. */
type StartedNode = Service & Pick<Node, 'apiUrl' | 'peerAddress'> & Partial<Pick<Node, 'metricsUrl' | 'reload'>>;
type StartedGroup = Service &
  Pick<NodeGroup, 'apiUrl'> &
  Partial<Pick<NodeGroup, 'reload'>> & { readonly nodes: ReadonlyMap<NodeRole, StartedNode> };

export interface StartModules {
  createNode(config: Config, modules: NodeGroupModules): Promise<StartedNode>;
  createGroup(options: NodeGroupOptions, modules: NodeGroupModules): StartedGroup;
}

/** Runs a node, or several; `load` gives the composition root, which is imported only when it is needed. */
export async function runNode(
  args: ParsedArgs,
  context: CliContext,
  load: () => Promise<StartModules>,
): Promise<number> {
  const input = withJsonLog(configInput(args, context), args);
  const loaded = loadProcess(input);
  const { config } = loaded.joint ?? loaded.nodes[0];
  const configs = await withTypedPassphrases(loaded.nodes, context);
  const logger = NodeLogger.create({ ...config.log, node: config.node.name });
  for (const warning of new Set(loaded.nodes.flatMap(({ warnings }) => warnings))) logger.warn({}, warning);
  const role = configs.map(({ node }) => node.role).join(',');
  const file = loaded.nodes[0].file ?? null;
  logger.info({ role, file, data_dir: config.node.dataDir }, 'starting');
  // SIGHUP is caught from here on: by default it ends the process, and it may come while the program is still being loaded.
  const hangUps = new HangUps(context);
  try {
    const started = await create(loaded, configs, { logger, load, context });
    if (started === undefined) return 1;
    const options = [...loaded.nodes, ...(loaded.joint ? [loaded.joint] : [])].map((one) => new EffectiveOptions(one));
    hangUps.handle(() => void reload(input, { ...started, logger, options }));
    return await runUntilStopped(started.running, {
      logger,
      context,
      onReady: () => logger.info(started.addresses(), 'ready'),
    });
  } finally {
    hangUps.end();
    logger.info({}, 'stopped');
  }
}

/** Catches SIGHUP from its creation on; a signal that comes before there is a handler is handed over to it later. */
class HangUps {
  readonly end: () => void;
  #handler: (() => void) | undefined;
  #isWaiting = false;

  constructor(context: CliContext) {
    this.end = context.onSignal('SIGHUP', () => {
      if (this.#handler === undefined) this.#isWaiting = true;
      else this.#handler();
    });
  }

  handle(handler: () => void): void {
    this.#handler = handler;
    if (this.#isWaiting) handler();
  }
}

async function withTypedPassphrases(nodes: LoadedProcess['nodes'], context: CliContext): Promise<Config[]> {
  const configs: Config[] = [];
  for (const node of nodes) configs.push(await withTypedPassphrase(node, context, nodes.length > 1));
  return configs;
}

function withJsonLog(input: ConfigInput, args: ParsedArgs): ConfigInput {
  if (!args.has('json')) return input;
  return { ...input, flags: [...(input.flags ?? []), { option: 'log.format', value: 'json', flag: '--json' }] };
}

interface Started {
  readonly running: Service;
  apply(loaded: LoadedProcess): Promise<void>;
  addresses(): object;
}

interface Reloaded extends Pick<Started, 'apply'> {
  readonly logger: NodeLogger;
  readonly options: readonly EffectiveOptions[];
}

/** Reads the configuration again; an invalid one changes nothing. Never throws. */
async function reload(input: ConfigInput, { apply, logger, options }: Reloaded): Promise<void> {
  try {
    const loaded = loadProcess(input);
    const all = [...loaded.nodes, ...(loaded.joint ? [loaded.joint] : [])];
    if (all.length !== options.length) throw new TesseraError('invalid_config', 'other roles need a restart');
    await apply(loaded);
    logger.setLevel((loaded.joint ?? loaded.nodes[0]).config.log.level);
    const changes = joined(all.flatMap((one, index) => options[index]?.takeOver(one) ?? []));
    const fields = { applied: changes.applied, need_restart: changes.needRestart };
    if (changes.needRestart.length > 0) logger.warn(fields, changesText(changes));
    else logger.info(fields, changesText(changes));
  } catch (error) {
    logger.error(errorFields(error), 'configuration not read again: the node keeps the one it has');
  }
}

interface CreateModules {
  readonly logger: NodeLogger;
  readonly load: () => Promise<StartModules>;
  readonly context: CliContext;
}

/** Makes the node, or the nodes with the configurations in their order. */
async function create(
  { nodes, joint }: LoadedProcess,
  configs: readonly Config[],
  { logger, load, context }: CreateModules,
): Promise<Started | undefined> {
  const modules = { logger, terminal: context.stderr.isTTY === true ? context.stderr : undefined };
  try {
    const { createNode, createGroup } = await load();
    if (joint === undefined) return single(await createNode(configs[0] ?? nodes[0].config, modules));
    const members = nodes.map((node, index) => ({ ...node, config: configs[index] ?? node.config }));
    return several(createGroup({ nodes: members, joint: joint.config }, modules));
  } catch (error) {
    reportFailure(error, 'the node cannot be made', { logger, context });
    return undefined;
  }
}

function single(node: StartedNode): Started {
  return {
    running: node,
    apply: async ({ nodes: [first] }) => node.reload?.(first.config),
    addresses: () => addressesOf(node),
  };
}

function several(group: StartedGroup): Started {
  return {
    running: group,
    apply: async ({ nodes, joint }) => {
      if (joint !== undefined) await group.reload?.({ nodes, joint: joint.config });
    },
    addresses: () => ({
      api: group.apiUrl,
      nodes: Object.fromEntries([...group.nodes].map(([role, node]) => [role, addressesOf(node)])),
    }),
  };
}

export const command: OwnCommand = {
  spec,
  run: (args, context) =>
    runNode(args, context, async () => {
      const { Node } = await import('../node/node.js');
      const { NodeGroup } = await import('../node/node-group.js');
      return {
        createNode: Node.create,
        createGroup: (options, modules) => new NodeGroup(options, modules),
      };
    }),
};

function addressesOf({ apiUrl, peerAddress, metricsUrl = '' }: StartedNode): object {
  return {
    ...(apiUrl === '' ? {} : { api: apiUrl }),
    peers: peerAddress,
    ...(metricsUrl === '' ? {} : { metrics: metricsUrl }),
  };
}
