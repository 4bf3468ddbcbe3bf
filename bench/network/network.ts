/** Four real processes on disk and the load generator, a fifth, with what was measured of each. */

import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createNetwork, type Network, type NodeProcess, type Nodes, whenReady } from '../../test/support/processes.js';
import { benchGenesis } from '../payments.js';
import type { Watched } from './figures.js';
import { LoadProcess } from './load.js';

/** Outputs that the payments begin with. */
export const GENESIS_OUTPUTS = 20_000;
const TURNS = new URL('./turns-preload.mjs', import.meta.url);
/** As a node has them by default; those of the dev network verify on the main thread. */
const VERIFY_THREADS = 1;
const POOL = 2_000_000;

export interface BenchNetworkOptions {
  /** Transactions of a block at most, and milliseconds between two at most. */
  readonly transactions: number;
  readonly intervalMs: number;
  /** Arguments of Node.js for the nodes. */
  readonly nodeArguments: readonly string[];
  /** Folder for a profile of each process, written when it ends. */
  readonly profiles?: string | undefined;
  /** The mempool node has the first processor for itself, and all others share the rest. */
  readonly isApart: boolean;
}

const run = promisify(execFile);

export class BenchNetwork {
  readonly nodes: Nodes;
  readonly watched: readonly Watched[];
  readonly load = new LoadProcess();
  readonly #network: Network;
  readonly #folder: string;
  readonly #isApart: boolean;

  private constructor(network: Network, nodes: Nodes, folder: string, isApart: boolean) {
    this.#isApart = isApart;
    this.#network = network;
    this.nodes = nodes;
    this.#folder = folder;
    const all: readonly NodeProcess[] = [nodes.mempool, nodes.storage, nodes.miner, nodes.user];
    this.watched = [
      ...all.map((node) => ({
        name: node.role,
        pid: () => node.pid,
        node,
        turns: turnsFile(folder, node.role),
      })),
      this.load.watched,
    ];
  }

  /** Resolves when block 0 is stored. */
  static async start({
    transactions,
    intervalMs,
    nodeArguments,
    profiles,
    isApart,
  }: BenchNetworkOptions): Promise<BenchNetwork> {
    const folder = await mkdtemp(join(tmpdir(), 'tessera-bench-'));
    const genesis = join(folder, 'genesis.json');
    const rules = { max_transactions: transactions, max_bytes: 48 * 1024 * 1024, interval_ms: intervalMs };
    await writeFile(genesis, benchGenesis(GENESIS_OUTPUTS, { block_rules: rules }));
    const profiling = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`];
    const network = await createNetwork({
      nodeArguments: [`--import=${TURNS.href}`, ...nodeArguments, ...profiling],
      environment: (name) => ({ BENCH_TURNS: turnsFile(folder, name) }),
    });
    try {
      const common = { 'network.genesis_file': genesis, 'metrics.enabled': true, 'metrics.port': 0 };
      const nodes = await network.addAll(common, {
        mempool: {
          'mining.instant': false,
          'mining.block_interval_ms': intervalMs,
          'mempool.verify_threads': VERIFY_THREADS,
          'mempool.pool_max_transactions': POOL,
          'mempool.pool_max_bytes': 2 ** 31,
        },
        storage: { 'storage.verify_threads': VERIFY_THREADS },
      });
      const bench = new BenchNetwork(network, nodes, folder, isApart);
      await bench.#keepApart();
      const { mempool, storage } = nodes;
      const places = { mempool: mempool.apiUrl, storage: storage.apiUrl, isOriginal: false };
      await bench.load.order({ kind: 'nodes', ...places, genesisOutputs: GENESIS_OUTPUTS });
      return bench;
    } catch (error) {
      await network.stopAll();
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Without a miner no block is made. */
  async stopMining(): Promise<void> {
    await this.nodes.miner.stop();
  }

  async startMining(): Promise<void> {
    await this.nodes.miner.start();
    await whenReady(this.nodes.miner);
    await this.#keepApart();
  }

  /** As if the mempool node had a machine of its own, of one processor: all threads of a process, and those that they make. */
  async #keepApart(): Promise<void> {
    if (!this.#isApart) return;
    const others = `1-${cpus().length - 1}`;
    for (const { name, pid } of this.watched)
      await run('taskset', ['-acp', name === 'mempool' ? '0' : others, String(pid())]);
  }

  /** Ends everything, in order, so that profiles are written; their files are named by role. */
  async end(profiles?: string): Promise<void> {
    this.load.end();
    const { user, miner, mempool, storage } = this.nodes;
    if (profiles !== undefined) {
      for (const node of [user, miner, mempool, storage]) {
        const { pid } = node;
        await node.stop();
        await nameProfiles(profiles, pid, node.role);
      }
    }
    await this.#network.stopAll();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

const turnsFile = (folder: string, name: string): string => join(folder, `turns-${name}`);

/** Node.js names a profile by date, time, process, thread and a number. */
async function nameProfiles(folder: string, pid: number, role: string): Promise<void> {
  for (const file of await readdir(folder)) {
    const [, thread, number] = new RegExp(`^CPU\\..*\\.${pid}\\.(\\d+)\\.(\\d+)\\.cpuprofile$`).exec(file) ?? [];
    if (thread === undefined) continue;
    await rename(join(folder, file), join(folder, `${role}-thread-${thread}-${number}.cpuprofile`));
  }
}
