/** The judge of a world at rest: what clients were told, against what is there. The rules of histories are those of the cluster runs. */

import { violationsOf } from '../cluster/check-history.js';
import type { EndBlock, EndState } from '../cluster/history.js';
import { personOf } from './clients.js';
import { type Stage, type Violation, within } from './play.js';
import type { Machine } from './world/node.js';
import type { World } from './world/world.js';

export async function judge(stage: Stage): Promise<Violation[]> {
  const { world, storages, mempools, people, history, clients } = stage;
  const chains = new Map<string, readonly EndBlock[]>();
  for (const storage of storages) chains.set(storage.name, await chainOf(world, storage));
  const states: EndState[] = [];
  const addresses = [...people, personOf('miner')].map(({ address }) => address);
  for (const mempool of mempools) states.push(await stateOf(world, mempool, addresses));
  const found: Violation[] = violationsOf(history.operations, { chains, states });
  const [chain = []] = chains.values();
  const inBlocks = new Set(chain.flatMap(({ transactions }) => transactions));
  const torn = clients.trades.filter(([one, other]) => inBlocks.has(one) !== inBlocks.has(other));
  for (const [one] of torn)
    found.push({ rule: 'tradesAreWhole', detail: `one half of the trade of ${one} is in no block` });
  return found;
}

async function chainOf(world: World, { process, services, name }: Machine): Promise<EndBlock[]> {
  const storage = services?.storage;
  if (process === undefined || storage === undefined) throw new Error(`${name} is not there at the end`);
  return within(world, process, async () => {
    const blocks: EndBlock[] = [];
    for (let height = 0; height < storage.nextHeight; height++) {
      const stored = await storage.blockAt(height);
      if (stored === undefined) throw new Error(`${name} does not have block ${height}`);
      const { header, transactions } = stored.block();
      blocks.push({ height, hash: stored.key, previousHash: header.previousHash, transactions });
    }
    return blocks;
  });
}

async function stateOf(world: World, machine: Machine, addresses: readonly string[]): Promise<EndState> {
  const { process, services, name } = machine;
  const mempool = services?.mempool;
  if (process === undefined || mempool === undefined) throw new Error(`${name} is not there at the end`);
  return within(world, process, async () => ({
    node: name,
    digest: mempool.digest(),
    held: mempool.balances(addresses).tokens,
    issued: mempool.supply().issued,
  }));
}
