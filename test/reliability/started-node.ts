/**
 * What a node answers that is started on a folder: the whole node, as `tessera` starts it, with its API on loopback, in this
 * process. It has no other node to ask, so it must answer from what it has, or refuse by name.
 */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { NodeClient } from '../../src/client/client.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { loadConfig } from '../../src/config/load.js';
import type { Config } from '../../src/config/schema.js';
import { IN_CODE } from '../../src/config/sources.js';
import { stringifyExact } from '../../src/lib/json.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { Node } from '../../src/node/node.js';
import { silentLogger } from '../support/silent-logger.js';
import { PRODUCER_KEYS } from './producers.js';

/** The configuration and the genesis of the node, below its folder: they are files that can be damaged as well. */
export const CONFIG_FILE = 'node.toml';
/** Nobody listens there. */
const NOBODY = '127.0.0.1:1';
const FOREVER_MS = 3_600_000;

/** Index of the wallet's keys in the genesis file. */
const SEEDS: Partial<Record<NodeRole, number>> = { user: 0, miner: 1 };

function configOf(role: NodeRole, folder: string): Config {
  const own: Record<string, unknown> = {
    'node.data_dir': folder,
    'network.producer_keys': PRODUCER_KEYS,
    'api.auth': 'keys',
    'api.port': 0,
    'peers.port': 0,
    // It tries once to reach the others, and not again while it is asked.
    'peers.reconnect_max_ms': FOREVER_MS,
  };
  const seeds = SEEDS[role];
  if (seeds !== undefined) Object.assign(own, { 'wallet.genesis_seed_index': seeds, 'peers.mempool': [NOBODY] });
  const flags = Object.entries(own).map(([option, value]) => ({ option, value, flag: IN_CODE }));
  return loadConfig({ role, file: join(folder, CONFIG_FILE), env: {}, flags }).config;
}

type Read = (client: NodeClient) => Promise<readonly (readonly [name: string, value: unknown])[]>;

const readWallet: Read = async ({ api }) => [
  ['keys', await api.exportKeypairs()],
  ['funds', await api.getWallet({ query: {} })],
];

const READS: Readonly<Record<NodeRole, Read>> = {
  storage: async ({ api }) => {
    const { block: latest } = await api.getLatestBlock();
    const heights = Array.from({ length: Number(latest.block.header.b_num) + 1 }, (_, num) => num);
    const blocks = heights.map(async (num) => [`block ${num}`, await api.getBlock({ params: { num } })] as const);
    return [['the last block', latest], ...(await Promise.all(blocks))];
  },
  mempool: async ({ api }) => [
    ['supply', await api.getSupply()],
    [
      'balances',
      await api.queryBalances({ body: { addresses: devAccounts().accounts.map(({ address }) => address) } }),
    ],
  ],
  miner: readWallet,
  user: readWallet,
};

/** Starts the node, asks it for everything and stops it. Throws as it does that does not start, or ends. */
export async function startedAnswers(role: NodeRole, folder: string, apiKey: string): Promise<Map<string, string>> {
  const node = await Node.create(configOf(role, folder), { logger: silentLogger });
  try {
    await Promise.race([node.start(), node.failed]);
    const client = new NodeClient({ url: node.apiUrl, apiKey });
    const answers = await Promise.race([READS[role](client), node.failed]);
    return new Map(answers.map(([name, value]) => [name, digestOf(value)]));
  } finally {
    await node.stop();
  }
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(stringifyExact(value)).digest('hex').slice(0, 16);
}
