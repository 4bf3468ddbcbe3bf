/**
 * Four real processes that make blocks all the time, and what is noted of them while they are attacked: how late they
 * answer, their memory, descriptors and readiness, and whether the chain goes on.
 */

import { call, type Network, type NodeProcess, type Nodes, until } from '../support/processes.js';
import { type NodeFigures, NodeWatch } from './node-watch.js';

export interface Arena extends Nodes {
  /** Size of the attacks: 1 in the test suite, more by hand. */
  readonly scale: number;
}

/** What was seen during one attack. */
export interface Seen {
  /** Blocks stored meanwhile. */
  readonly blocks: number;
  /** Of storage, mempool, miner and user. */
  readonly nodes: readonly NodeFigures[];
  /** Of nodes that the attack has started for itself. */
  readonly others: readonly NodeFigures[];
}

/** Options of every node that is watched. */
export const WATCHED = { 'metrics.enabled': true, 'metrics.port': 0 };

export async function startArena(network: Network, scale: number): Promise<Arena> {
  const arena = { ...(await network.addAll(WATCHED)), scale };
  await payOnce(arena);
  return arena;
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
  readonly #firstBlock: number;
  readonly #nodes: readonly NodeWatch[];
  readonly #others: NodeWatch[] = [];
  readonly #payments: Promise<void>;
  #isOver = false;

  private constructor(arena: Arena, firstBlock: number, nodes: readonly NodeWatch[]) {
    this.#arena = arena;
    this.#firstBlock = firstBlock;
    this.#nodes = nodes;
    this.#payments = this.#pay();
  }

  static async begin(arena: Arena): Promise<Watch> {
    const nodes = [arena.storage, arena.mempool, arena.miner, arena.user];
    return new Watch(arena, await lastBlock(arena), await Promise.all(nodes.map(NodeWatch.begin)));
  }

  /** Looks at a further node too, which the attack has started for itself. */
  async alsoAt(node: NodeProcess): Promise<void> {
    this.#others.push(await NodeWatch.begin(node));
  }

  async stop(): Promise<Seen> {
    this.#isOver = true;
    await this.#payments;
    return {
      blocks: (await lastBlock(this.#arena)) - this.#firstBlock,
      nodes: await Promise.all(this.#nodes.map((node) => node.stop())),
      others: await Promise.all(this.#others.map((node) => node.stop())),
    };
  }

  async #pay(): Promise<void> {
    while (!this.#isOver) await payOnce(this.#arena);
  }
}

async function lastBlock({ storage }: Arena): Promise<number> {
  const latest = (await call(`${storage.apiUrl}/v1/blocks/latest`)) as {
    block: { block: { header: { b_num: number } } };
  };
  return Number(latest.block.block.header.b_num);
}
