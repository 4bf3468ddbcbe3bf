/**
 * Four real processes that make blocks all the time, and what is noted of them while they are attacked: how late they
 * answer, their memory, descriptors and readiness, and whether the chain goes on.
 */

import { type ProcessFigures, processFigures } from '../soak/process-figures.js';
import { call, createNetwork, type Network, type NodeProcess, until } from '../support/processes.js';

export interface Arena {
  readonly storage: NodeProcess;
  readonly mempool: NodeProcess;
  readonly miner: NodeProcess;
  readonly user: NodeProcess;
  /** Size of the attacks: 1 in the test suite, more by hand. */
  readonly scale: number;
}

/** The worst that was seen of all nodes during one attack. */
export interface Worst {
  /** Milliseconds that /livez took, or the time until it was given up. */
  readonly livezMs: number;
  /** MiB above what the node had before. */
  readonly memoryGrowth: number;
  readonly descriptors: number;
  /** Looks at /readyz that did not find 200. */
  readonly notReady: number;
  /** Blocks stored meanwhile. */
  readonly blocks: number;
}

/** Milliseconds between two looks at the nodes. */
const LOOK_EVERY_MS = 250;
/** Milliseconds after which a node that does not answer is noted as that. */
const GIVE_UP_MS = 10_000;
const MIB = 1024 * 1024;

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export async function startArena(scale: number): Promise<{ readonly network: Network; readonly arena: Arena }> {
  const network = await createNetwork();
  try {
    const storage = await network.add('storage', 'storage');
    const mempool = await network.add('mempool', 'mempool', { 'peers.storage': storage.peerAddress });
    const peers = { 'peers.mempool': mempool.peerAddress };
    const miner = await network.add('miner', 'miner', { ...peers, 'wallet.genesis_seed_index': 1 });
    const user = await network.add('user', 'user', { ...peers, 'wallet.genesis_seed_index': 0 });
    const arena = { storage, mempool, miner, user, scale };
    await payOnce(arena);
    return { network, arena };
  } catch (error) {
    await network.stopAll();
    throw error;
  }
}

/** A payment of the user to itself, from its route to the block that storage keeps. */
export async function payOnce({ user, mempool }: Arena): Promise<void> {
  const { address } = (await call(`${user.apiUrl}/v1/wallet/addresses`, {})) as { address: string };
  await until('the wallet of the user to pay', async () => {
    await call(`${user.apiUrl}/v1/payments`, { kind: 'address', address, amount: 1_000, passphrase: '' });
    return true;
  });
  await until('the payment to be in a block', async () => {
    const { balance } = (await call(`${mempool.apiUrl}/v1/balances?address=${address}`)) as {
      balance: { address_list: Record<string, unknown> };
    };
    return address in balance.address_list ? true : undefined;
  });
}

/** Pays without a pause, so that the chain goes on, and looks at the nodes; ended by `stop`. */
export class Watch {
  readonly #arena: Arena;
  readonly #nodes: readonly NodeProcess[];
  readonly #before = new Map<NodeProcess, ProcessFigures>();
  readonly #work: Promise<unknown>[] = [];
  #isOver = false;
  #livezMs = 0;
  #memory = 0;
  #descriptors = 0;
  #notReady = 0;
  #firstBlock = 0;

  private constructor(arena: Arena) {
    this.#arena = arena;
    this.#nodes = [arena.storage, arena.mempool, arena.miner, arena.user];
  }

  static async begin(arena: Arena): Promise<Watch> {
    const watch = new Watch(arena);
    for (const node of watch.#nodes) watch.#before.set(node, await processFigures(node.pid));
    watch.#firstBlock = await lastBlock(arena);
    watch.#work.push(watch.#pay(), ...watch.#nodes.map((node) => watch.#look(node)));
    return watch;
  }

  async stop(): Promise<Worst> {
    this.#isOver = true;
    await Promise.all(this.#work);
    return {
      livezMs: Math.round(this.#livezMs),
      memoryGrowth: Math.round(this.#memory),
      descriptors: this.#descriptors,
      notReady: this.#notReady,
      blocks: (await lastBlock(this.#arena)) - this.#firstBlock,
    };
  }

  async #pay(): Promise<void> {
    while (!this.#isOver) await payOnce(this.#arena);
  }

  async #look(node: NodeProcess): Promise<void> {
    while (!this.#isOver) {
      const begun = performance.now();
      const alive = await statusOf(`${node.apiUrl}/livez`);
      this.#livezMs = Math.max(this.#livezMs, performance.now() - begun);
      if (alive !== 200 || (await statusOf(`${node.apiUrl}/readyz`)) !== 200) this.#notReady += 1;
      const figures = await processFigures(node.pid);
      const before = this.#before.get(node)?.rss ?? 0;
      this.#memory = Math.max(this.#memory, (figures.rss - before) / MIB);
      this.#descriptors = Math.max(this.#descriptors, figures.descriptors.all);
      await sleep(LOOK_EVERY_MS);
    }
  }
}

async function statusOf(url: string): Promise<number> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(GIVE_UP_MS) })).status;
  } catch {
    return 0;
  }
}

async function lastBlock({ storage }: Arena): Promise<number> {
  const latest = (await call(`${storage.apiUrl}/v1/blocks/latest`)) as {
    block: { block: { header: { b_num: number } } };
  };
  return Number(latest.block.block.header.b_num);
}
