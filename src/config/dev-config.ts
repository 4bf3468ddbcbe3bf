/** The configuration of the four nodes of the dev network: `config/dev.toml` and what differs from node to node. */

import { join } from 'node:path';
import type { NodeRole } from '../lib/roles.js';
import { loadConfig } from './load.js';
import { PACKAGE_CONFIG_DIR } from './option-table.js';
import { JOINT_API_PORT } from './placing.js';
import type { Config } from './schema.js';
import { type FlagValue, IN_CODE } from './sources.js';

export interface DevConfigOptions {
  /** Folder of the network, in which each node keeps its data in a folder of its role. */
  readonly dataDir: string;
  /** Number that is added to the default ports of every role; `any` takes free ports (for tests). Default 0. */
  readonly ports?: number | 'any';
  /** Genesis file: by default the supplied one, with the default accounts. */
  readonly genesisFile?: string;
  /** Port of the address of the whole network; `off` for none. By default 8080, moved with the others. */
  readonly port?: number | 'off';
  /** Address on which the whole network listens, by default on loopback; the nodes stay there. */
  readonly host?: string;
  /** Milliseconds between blocks; without it, a block is made when there is something to put into it. */
  readonly intervalMs?: number;
  /** Peer addresses of nodes that are up already. */
  readonly peers?: Readonly<Partial<Record<NodeRole, readonly string[]>>>;
  /** Further options, from code, or from the command line with the name of the flag. */
  readonly flags?: readonly FlagValue[];
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Index in `user_wallet_seeds` of the genesis file. */
const WALLET_SEEDS: Partial<Record<NodeRole, number>> = { user: 0, miner: 1 };

/** The configuration of the dev network's node of that role. Throws `invalid_config`. */
export function devConfig(role: NodeRole, options: DevConfigOptions): Config {
  const own: Record<string, unknown> = { 'node.data_dir': join(options.dataDir, role) };
  for (const [other, addresses] of Object.entries(options.peers ?? {})) own[`peers.${other}`] = addresses;
  if (options.genesisFile !== undefined) own['network.genesis_file'] = options.genesisFile;
  if (options.intervalMs !== undefined) {
    own['mining.instant'] = false;
    own['mining.block_interval_ms'] = options.intervalMs;
  }
  const seeds = WALLET_SEEDS[role];
  if (seeds !== undefined) own['wallet.genesis_seed_index'] = seeds;
  const ports = Object.entries(portsOf(role, options.ports ?? 0));
  const flags = [...Object.entries(own), ...ports].map(([option, value]) => ({ option, value, flag: IN_CODE }));
  return loadConfig({
    role,
    file: join(PACKAGE_CONFIG_DIR, 'dev.toml'),
    env: options.env ?? {},
    flags: [...flags, ...(options.flags ?? [])],
  }).config;
}

/** The configuration of the API at the one address of the network; undefined when there is none. */
export function devAddressConfig(options: DevConfigOptions): Pick<Config, 'api' | 'envelope'> | undefined {
  const { port, ports = 0 } = options;
  if (port === 'off') return undefined;
  const { api, envelope } = devConfig('user', options);
  const moved = api.port === 0 || ports === 'any' ? 0 : JOINT_API_PORT + ports;
  return { api: { ...api, port: port ?? moved }, envelope };
}

function portsOf(role: NodeRole, ports: number | 'any'): Readonly<Record<string, unknown>> {
  if (ports === 0) return {};
  const { api, peers, metrics } = loadConfig({ role, file: join(PACKAGE_CONFIG_DIR, 'dev.toml') }).config;
  const moved = (port: number) => (ports === 'any' ? 0 : port + ports);
  return {
    'api.port': moved(api.port),
    'peers.port': moved(peers.port),
    'metrics.port': moved(metrics.port),
  };
}
