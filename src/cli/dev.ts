/** `tessera dev`: runs a whole network in this process, with funded accounts, for trying things out. */

import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { devAccounts } from '../config/dev-accounts.js';
import { type DevConfigOptions, devConfig } from '../config/dev-config.js';
import type { NodeRole } from '../lib/roles.js';
import type { Service } from '../lib/service.js';
import { NodeLogger } from '../observability/logger.js';
import { devBanner, devJson } from './banner.js';
import { type CliContext, type Command, type CommandSpec, integerFlag, type ParsedArgs } from './command.js';
import { flagValues, LOG_LEVEL_FLAG, SET_FLAG } from './config-flags.js';
import { failureText, runUntilStopped } from './lifecycle.js';
import { JSON_FLAG } from './wallet/connection.js';

const MAX_INTERVAL_MS = 86_400_000;
/** The highest default port plus this must be a port. */
const MAX_PORT_OFFSET = 53_000;

const spec: CommandSpec = {
  name: 'dev',
  summary: 'Runs a whole network on this machine, with funded accounts',
  description: [
    'Runs a mempool, a storage, a miner and a user node in one process, on their default ports on loopback, open to every ' +
      'client. Two wallets and ten accounts hold funds; their keys are printed and are the same at every start. NOT FOR ' +
      'PRODUCTION.',
    'A block is made as soon as there is something to put into it; no empty blocks are made. The chain is new ' +
      'each time and is removed at the end, unless --data names a folder for it.',
  ],
  flags: [
    {
      name: 'interval',
      short: 'i',
      value: 'MS',
      description: 'Makes a block every MS milliseconds instead, even if it is empty.',
    },
    {
      name: 'data',
      short: 'd',
      value: 'DIR',
      description: 'Keeps the chain in this folder and continues it at the next start.',
    },
    {
      name: 'port-offset',
      value: 'N',
      description: 'Adds N to every port, so that two networks can run side by side.',
    },
    LOG_LEVEL_FLAG,
    SET_FLAG,
    {
      ...JSON_FLAG,
      description: 'Prints URLs, accounts and their keys on one line of JSON when the network is ready.',
    },
  ],
  examples: [
    { line: 'tessera dev', does: 'Starts a new network and prints URLs, keys and requests to try.' },
    {
      line: 'tessera dev --interval 1000 --data ./chain',
      does: 'Makes a block every second and keeps the chain in ./chain.',
    },
    { line: 'tessera dev --port-offset 100', does: 'The same on ports 3100 to 3104.' },
  ],
  exits: { 130: 'ended by a second SIGINT', 143: 'ended by a second SIGTERM' },
};

/** The network as this command sees it. */
export interface StartedNetwork extends Service {
  /** Base URL of each node's API, once started. */
  readonly urls: Readonly<Record<NodeRole, string>>;
}

export interface DevModules {
  createDevNetwork(options: DevConfigOptions, modules: { readonly logger: NodeLogger }): StartedNetwork;
}

/** Runs the network; `load` gives the composition root. */
export async function runDev(args: ParsedArgs, context: CliContext, load: () => Promise<DevModules>): Promise<number> {
  const intervalMs = integerFlag(args, 'interval', 1, MAX_INTERVAL_MS);
  const ports = integerFlag(args, 'port-offset', 0, MAX_PORT_OFFSET) ?? 0;
  const kept = args.value('data');
  // --data names the folder of the network, not of one node.
  const flags = flagValues(args).filter(({ option }) => option !== 'node.data_dir');
  const common = { ports, flags, env: context.env, ...(intervalMs === undefined ? {} : { intervalMs }) };
  // Reports an invalid option before anything is made.
  const { log } = devConfig('mempool', { ...common, dataDir: kept ?? tmpdir() });
  // Only a name: the nodes make the folder when they start, and by then signals are handled.
  const dataDir = kept === undefined ? join(tmpdir(), `tessera-dev-${randomUUID()}`) : resolve(kept);
  const logger = NodeLogger.create(log);
  try {
    const { createDevNetwork } = await load();
    const network = createDevNetwork({ ...common, dataDir }, { logger });
    const onReady = () => {
      // performance.now() counts from the start of the process.
      const facts = {
        urls: network.urls,
        accounts: devAccounts(),
        dataDir: kept === undefined ? null : dataDir,
        intervalMs,
      };
      const show = args.has('json') ? devJson : devBanner;
      context.stdout.write(show({ ...facts, readyAfterMs: performance.now() }));
    };
    return await runUntilStopped(network, { logger, context, onReady });
  } catch (error) {
    context.stderr.write(`${failureText(error)}\n`);
    return 1;
  } finally {
    if (kept === undefined) await rm(dataDir, { recursive: true, force: true });
  }
}

export const command: Command = {
  spec,
  run: (args, context) =>
    runDev(args, context, async () => {
      const { DevNetwork } = await import('../node/dev-network.js');
      return { createDevNetwork: (options, modules) => new DevNetwork(options, modules) };
    }),
};
