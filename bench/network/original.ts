/**
 * Four processes of the node that Tessera replaces, on disk and on loopback, and the load generator. The program is given by its
 * path: it is built of its own sources, Network 1.1.2, in release mode.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.js';
import { until } from '../../test/support/processes.js';
import { benchGenesis } from '../payments.js';
import { originalHeaders } from './dialects.js';
import type { Watched } from './figures.js';
import { LoadProcess } from './load.js';
import { GENESIS_OUTPUTS } from './network.js';

const ROLES = ['storage', 'mempool', 'miner', 'user'] as const;
type Role = (typeof ROLES)[number];
/** The settings that it comes with, but for TLS and the ports. Blocks have 2,000 transactions at most: the program has no setting for that. */
const settings = (peers: Ports, api: Ports): string => `
mempool_db_mode = { Test = 0 }
storage_db_mode = { Test = 0 }
miner_db_mode = { Test = 0 }
user_db_mode = { Test = 1000 }
mempool_raft = 0
storage_raft = 0
mempool_partition_full_size = 1
mempool_minimum_miner_pool_len = 1
mempool_mining_event_timeout = 500
jurisdiction = "US"
passphrase = ""
${ROLES.map((role) => `${role}_api_port = ${api[role]}\n${role}_api_use_tls = false`).join('\n')}
[mempool_unicorn_fixed_param]
modulus = "6864797660130609714981900799081393217269435300143305409394463459185543183397656052122559640661454554977296311391480858037121987999716643812574028291115057151"
iterations = 2
security = 1
[user_test_auto_gen_setup]
user_setup_tx_chunk_size = 5
user_setup_tx_in_per_tx = 3
user_setup_tx_max_count = 100000
${ROLES.map((role) => `[[${role}_nodes]]\naddress = "127.0.0.1:${peers[role]}"`).join('\n')}
`;
type Ports = Readonly<Record<Role, number>>;
/** Its other files, by the argument that names each. */
const OTHERS = {
  tls_config: { tls_config: { pem_certificates: {}, pem_pkcs8_private_keys: {}, socket_name_mapping: {} } },
  api_config: { api_keys: { pause_nodes: ['not used'] }, routes_pow: {} },
  initial_issuance: { initial_issuances: [] },
  mempool_miner_whitelist: { mempool_miner_whitelist: { active: false, miner_api_keys: null, miner_addresses: null } },
};
/** Which of them each role takes. */
const TAKEN: Readonly<Record<Role, readonly string[]>> = {
  storage: ['tls_config', 'api_config'],
  mempool: ['tls_config', 'api_config', 'initial_block_config', 'initial_issuance', 'mempool_miner_whitelist'],
  miner: ['tls_config', 'api_config', 'initial_block_config'],
  user: ['tls_config', 'api_config', 'initial_block_config'],
};
/** Milliseconds for a process that was told to end. */
const PATIENCE_MS = 10_000;

export class OriginalNetwork {
  readonly watched: readonly Watched[];
  readonly load = new LoadProcess();
  /** The URL of the mempool node's API. */
  readonly mempool: string;
  readonly #children: readonly ChildProcess[];
  readonly #folder: string;

  private constructor(children: readonly ChildProcess[], mempool: string, folder: string) {
    this.mempool = mempool;
    this.#children = children;
    this.#folder = folder;
    this.watched = [...ROLES.map((name, i) => ({ name, pid: () => children[i]?.pid ?? 0 })), this.load.watched];
  }

  /** Resolves when block 1 is stored: before, nothing can be spent. */
  static async start(program: string, outputs = GENESIS_OUTPUTS): Promise<OriginalNetwork> {
    const folder = await mkdtemp(join(tmpdir(), 'tessera-bench-'));
    const ports = async (): Promise<Ports> => ({
      storage: await freePort(),
      mempool: await freePort(),
      miner: await freePort(),
      user: await freePort(),
    });
    const api = await ports();
    const genesis = benchGenesis(outputs, {
      mempool_genesis_tx_in: 'bench',
      user_wallet_seeds: [[]],
      user_test_auto_gen_setup: { user_initial_transactions: [] },
    });
    const files = { ...OTHERS, initial_block_config: JSON.parse(genesis) as unknown };
    await writeFile(join(folder, 'settings.toml'), settings(await ports(), api));
    for (const [name, content] of Object.entries(files))
      await writeFile(join(folder, `${name}.json`), JSON.stringify(content));
    const children = ROLES.map((role) => {
      const args = [role, '--config=settings.toml', ...TAKEN[role].map((name) => `--${name}=${name}.json`)];
      return spawn(program, args, { cwd: folder, env: { RUST_LOG: 'error' }, stdio: ['ignore', 'ignore', 'inherit'] });
    });
    const network = new OriginalNetwork(children, `http://127.0.0.1:${api.mempool}`, folder);
    try {
      const storage = `http://127.0.0.1:${api.storage}`;
      const isThere = until('block 1 of the original', async () => {
        const answer = await fetch(`${storage}/latest_block`, { headers: originalHeaders() });
        return /"b_num":[1-9]/.test(await answer.text()) || undefined;
      });
      const ended = children.map(async (child, i) => {
        await once(child, 'exit');
        throw new Error(`the ${ROLES[i]} node of the original has ended`);
      });
      await Promise.race([isThere, ...ended]);
      await network.load.order({
        kind: 'nodes',
        mempool: network.mempool,
        storage,
        isOriginal: true,
        genesisOutputs: outputs,
      });
      return network;
    } catch (error) {
      await network.end();
      throw error;
    }
  }

  /** What is admitted from now on stays in the pool. */
  async endMiner(): Promise<void> {
    const miner = this.#children[ROLES.indexOf('miner')];
    if (miner !== undefined) await endOf(miner);
  }

  async end(): Promise<void> {
    this.load.end();
    for (const child of this.#children) await endOf(child);
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  await ended;
  clearTimeout(timer);
}
