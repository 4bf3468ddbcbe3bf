/** The judge of a world at rest: what clients were told, against what is there. The rules of histories are those of the cluster runs. */

import { fromUtf8 } from '../../../src/lib/bytes.js';
import { isTesseraError } from '../../../src/lib/errors.js';
import { keys } from '../../../src/mempool/state/layout.js';
import { violationsOf } from '../../cluster/check-history.js';
import type { End, EndBlock, EndState, Operation } from '../../cluster/history.js';
import { personOf } from '../people/people.js';
import { restOf, type Stage, type Violation, within } from '../play.js';
import type { FaultKind } from '../themes.js';
import type { Machine } from '../world/node.js';
import { EPOCH, type Process, type World } from '../world/world.js';
import { indexViolations } from './index-check.js';

/** Milliseconds in which a damaged archive is whole again. */
const HEAL_MS = 120_000;
/** Milliseconds between the time of a block and when it is stored: what clocks may differ by, and some rounds. */
const MOST_GAP_MS = 25_000;
/** Milliseconds between two reads of the end. */
const LOOK_MS = 100;

/** Faults after which a state may be made from blocks, which counts what came before them otherwise (docs/adr/0048-a-state-from-storage.md). */
const FROM_BLOCKS: ReadonlySet<FaultKind> = new Set([
  'lose disk',
  'lose disk alone',
  'restore etcd',
  'restore and keep etcd',
]);
/** Times that the end is read, until nothing has changed meanwhile. */
const MOST_READS = 50;

export async function judge(stage: Stage): Promise<Violation[]> {
  const { clients } = stage;
  const end = await endOf(stage);
  const found: Violation[] = violationsOf(toldOf(stage), end);
  const [chain = []] = end.chains.values();
  const inBlocks = new Set(chain.flatMap(({ transactions }) => transactions));
  const torn = clients.trades.filter(([one, other]) => inBlocks.has(one) !== inBlocks.has(other));
  for (const [one] of torn)
    found.push({ rule: 'tradesAreWhole', detail: `one half of the trade of ${one} is in no block` });
  const { customers } = stage;
  const ofWallets = customers === undefined ? [] : await atOnePlace(stage, () => customers.violations(stage, inBlocks));
  return [
    ...found,
    ...ofWallets,
    ...(await indexViolations(stage)),
    ...(await wrongTimesOf(stage)),
    ...(await deniedOf(stage, inBlocks)),
  ];
}

/** What clients were told. Where something acknowledged may be lost, what was told before is open again; blocks are kept. */
function toldOf({ story, history: { operations }, operator: { keptSince } }: Stage): readonly Operation[] {
  const since = story.faults.some(({ kind }) => kind === 'older copy alone') ? Number.POSITIVE_INFINITY : keptSince;
  if (since === undefined) return operations;
  return operations.flatMap((one): Operation[] => {
    if (one.began >= since) return [one];
    if (one.kind === 'post') return [{ ...one, answer: 'unknown', code: '' }];
    return one.kind === 'status' && one.status === 'Confirmed' ? [one] : [];
  });
}

/** Halves of trades in blocks that a node calls rejected. */
async function deniedOf({ world, mempools, clients }: Stage, inBlocks: ReadonlySet<string>): Promise<Violation[]> {
  const hashes = clients.trades.flat().filter((hash) => inBlocks.has(hash));
  const found: Violation[] = [];
  for (const { name, process, services } of mempools) {
    const mempool = services?.mempool;
    if (process === undefined || mempool === undefined) throw new Error(`${name} is not there at the end`);
    const statuses = await within(world, process, () => mempool.statuses(hashes));
    const denied = hashes.filter((hash) => statuses.get(hash)?.status === 'Rejected');
    if (denied.length > 0) {
      const detail = `${name} calls rejected what is in blocks: ${denied.join(', ')}`;
      found.push({ rule: 'confirmedStays', detail });
    }
  }
  return found;
}

/** Blocks whose time is not that of their making, in a story in which one clock was wrong at a time, if any. */
async function wrongTimesOf({ story, storages, watch, world }: Stage): Promise<Violation[]> {
  const [storage] = storages;
  const { faults } = story;
  if (storage === undefined || faults.length > 1 || faults.some(({ kind }) => kind !== 'wrong clock')) return [];
  const times = await timesOf(world, storage);
  const gaps = times.map((time, height) => time - EPOCH - (watch.stored[height] ?? world.now));
  return gaps.flatMap((gap, height) =>
    height === 0 || Math.abs(gap) < MOST_GAP_MS
      ? []
      : [
          {
            rule: 'timesAreTrue',
            detail: `block ${height} has a time that is ${gap.toFixed()} ms from when it was there`,
          },
        ],
  );
}

/** Times of all blocks, in milliseconds. */
async function timesOf(world: World, { process, services, name }: Machine): Promise<number[]> {
  const storage = services?.storage;
  if (process === undefined || storage === undefined) throw new Error(`${name} is not there at the end`);
  return within(world, process, async () => {
    const times: number[] = [];
    for (let height = 0; height < storage.nextHeight; height++) {
      const stored = await storage.blockAt(height);
      times.push(Number(stored?.block().header.timestamp ?? 0) * 1_000);
    }
    return times;
  });
}

/** Everything that is there between two blocks. */
async function endOf(stage: Stage): Promise<End> {
  const { storages, mempools, people } = stage;
  const owners = (await stage.customers?.owners(stage)) ?? [];
  const addresses = [...[...people, personOf('miner')].map(({ address }) => address), ...owners];
  return atOnePlace(stage, async () => {
    const chains = new Map<string, readonly EndBlock[]>();
    for (const storage of storages) chains.set(storage.name, await healedChainOf(stage, storage));
    const states: EndState[] = [];
    for (const mempool of mempools) states.push(await stateOf(stage, mempool, addresses));
    return { chains, states };
  });
}

/** What is read while all nodes stand at one block. */
async function atOnePlace<T>(stage: Stage, read: () => Promise<T>): Promise<T> {
  const { world } = stage;
  for (let reads = 0; reads < MOST_READS; reads++) {
    const before = placeOf(stage);
    if (before !== undefined) {
      const found = await read();
      if (before === placeOf(stage)) return found;
    }
    await world.run(world.now + LOOK_MS);
  }
  throw new Error('the nodes never stand still at one block');
}

/** The block and the command at which all nodes are; undefined while they are not at the same. */
function placeOf(stage: Stage): string | undefined {
  if (restOf(stage).length > 0) return undefined;
  const [height = 0] = stage.storages.map(({ services }) => services?.storage?.nextHeight);
  const areWalletsThere = stage.wallets.every(({ services }) => services?.wallet?.chain.height === height - 1);
  return areWalletsThere ? `${height} ${stage.mempools[0]?.services?.mempool?.figures().seq}` : undefined;
}

/** A damaged record that nobody has read before is found now: the node names it, and heals. */
async function healedChainOf(stage: Stage, storage: Machine): Promise<EndBlock[]> {
  try {
    return await chainOf(stage.world, storage);
  } catch (error) {
    if (!isTesseraError(error, 'data_corrupt') || !stage.damaged.has(storage.name)) throw error;
  }
  const { starts } = storage;
  const healed = await stage.world.run(stage.world.now + HEAL_MS, () => storage.starts > starts && storage.isReady);
  if (!healed) throw new Error(`${storage.name} does not heal`);
  return chainOf(stage.world, storage);
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

async function stateOf({ world, story }: Stage, machine: Machine, addresses: readonly string[]): Promise<EndState> {
  const { process, services, name } = machine;
  const mempool = services?.mempool;
  if (process === undefined || mempool === undefined) throw new Error(`${name} is not there at the end`);
  const isShared = story.mempools > 1 && story.faults.some(({ kind }) => FROM_BLOCKS.has(kind));
  return within(world, process, async () => ({
    node: name,
    digest: isShared ? await sharedDigestOf(machine, process) : mempool.digest(),
    held: mempool.balances(addresses).tokens,
    issued: mempool.supply().issued,
  }));
}

/** The digest of the state after the last block that nodes at one journal compare, from the database. */
async function sharedDigestOf({ disk, name }: Machine, process: Process): Promise<string> {
  const record = await disk.open('mempool', process).get(keys.digests);
  const { own }: { readonly own: readonly object[] } = JSON.parse(fromUtf8(record ?? new Uint8Array()) || '{"own":[]}');
  if (own.length === 0) throw new Error(`${name} has no digest of a block`);
  return JSON.stringify(own.at(-1));
}
