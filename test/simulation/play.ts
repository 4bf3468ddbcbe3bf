/** Plays a story: builds its world, lets its faults happen, and holds what came of it against the rules. */

import { parseGenesis } from '../../src/chain/genesis.js';
import { isDiskFull } from '../../src/db/database-error.js';
import { isForgotten } from '../../src/journal/journal.js';
import { toHex } from '../../src/lib/bytes.js';
import { errorMessage, isTesseraError } from '../../src/lib/errors.js';
import { hasWallet, type NodeRole } from '../../src/lib/roles.js';
import { History } from '../cluster/history.js';
import { keyOf } from '../support/peers.js';
import { Faults } from './faults/faults.js';
import { judge } from './judge/judge.js';
import { Watch } from './judge/watch.js';
import { Operator } from './operator.js';
import { Clients } from './people/clients.js';
import { Customers, PASSPHRASE } from './people/customers.js';
import { type Person, personOf } from './people/people.js';
import type { Story } from './story.js';
import { Etcd } from './world/etcd.js';
import { mount } from './world/files.js';
import { connectTo } from './world/grpc.js';
import { Http } from './world/http.js';
import { Luck } from './world/luck.js';
import { enter } from './world/no-reality.js';
import { Machine } from './world/node.js';
import { Wires } from './world/wires.js';
import { type Process, World } from './world/world.js';

const COINS_EACH = 8;
const COIN = 1_000_000n;
const GENESIS = '000000';
/** Milliseconds after the last fault in which everything has come to rest. */
const REST_MS = 240_000;
const LOOK_MS = 500;
/** Blocks that are made while nothing waits, before a world counts as at rest. */
const BLOCKS_AT_REST = 2;
/** States of trades that come to an end. */
const UNDER_WAY: ReadonlySet<string> = new Set(['open', 'accepted', 'agreed', 'cancelling']);

export interface Violation {
  readonly rule: string;
  readonly detail: string;
}

export interface Outcome {
  readonly violations: readonly Violation[];
  readonly trace: string;
  readonly steps: number;
  /** Milliseconds of the world. */
  readonly ms: number;
  readonly lines: readonly string[];
  readonly blocks: number;
  readonly accepted: number;
  readonly faults: number;
}

/** The parts of a world that a story happens to. */
export interface Stage {
  readonly world: World;
  readonly wires: Wires;
  readonly etcd: Etcd | undefined;
  readonly machines: readonly Machine[];
  readonly mempools: readonly Machine[];
  readonly storages: readonly Machine[];
  /** User nodes, and miners whose rewards are their own. */
  readonly wallets: readonly Machine[];
  readonly http: Http;
  readonly people: readonly Person[];
  readonly history: History;
  readonly clients: Clients;
  /** Of the wallets, where there are any. */
  readonly customers: Customers | undefined;
  readonly violations: Violation[];
  /** Machines that were damaged, of which nothing but a name of the damage is expected. */
  readonly damaged: Map<string, string>;
  readonly diskTrouble: Set<string>;
  /** Mempool nodes whose state is not that of the others, and that must name it. */
  readonly diverging: Set<string>;
  readonly story: Story;
  readonly watch: Watch;
  readonly operator: Operator;
}

export async function play(story: Story): Promise<Outcome> {
  const world = new World(story.seed, story.stepMs);
  const violations: Violation[] = [];
  const found = (rule: string, detail: string): void => void violations.push({ rule, detail });
  world.onUncaught = (process, error) => found('uncaught', `${process.name}: ${errorMessage(error)} ${stackOf(error)}`);
  const onRejection = (error: unknown): void =>
    found('uncaught', `${world.current?.name}: a promise nobody awaits: ${errorMessage(error)} ${stackOf(error)}`);
  process.on('unhandledRejection', onRejection);
  try {
    const stage = await build(world, story, violations);
    const faults = new Faults(stage, story.faults);
    for (const machine of stage.machines) machine.start();
    faults.schedule();
    stage.watch.start(stage);
    startClients(stage);
    const end = Math.max(story.ms, ...story.faults.map(({ at, ms }) => at + ms)) + 1;
    await guarded(world, end, found);
    faults.heal();
    stage.clients.end();
    stage.customers?.end();
    const limit = world.now + REST_MS;
    let isResting = false;
    /** Blocks that there must be: what waits for nothing may be in the block that is being made. */
    let enough: number | undefined;
    while (!isResting && violations.length === 0 && world.now < limit) {
      await guarded(world, world.now + LOOK_MS, found);
      if (!stage.clients.isAtRest || stage.customers?.isAtRest === false || restOf(stage).length > 0) continue;
      enough ??= blocksOf(stage) + BLOCKS_AT_REST;
      isResting = blocksOf(stage) >= enough;
    }
    if (violations.length === 0 && !isResting) found('comesToRest', restOf(stage).join('; '));
    if (violations.length === 0) {
      const verdict = await judge(stage).catch((error: unknown) => [{ rule: 'judged', detail: errorMessage(error) }]);
      violations.push(...verdict);
    }
    return {
      violations,
      trace: world.trace,
      steps: world.steps,
      ms: world.now,
      lines: world.lines,
      blocks: blocksOf(stage),
      accepted: stage.clients.accepted,
      faults: story.faults.length,
    };
  } finally {
    process.off('unhandledRejection', onRejection);
  }
}

/** Clients begin when there is something to spend. */
function startClients({ world, mempools, clients, customers, story }: Stage): void {
  const look = (): void => {
    if (mempools.some(({ services }) => (services?.mempool?.figures().height ?? -1) >= 0)) {
      clients.start(story.pauseMs, story.trades);
      customers?.start(story.pauseMs, story.barter);
    } else world.later(clients.process, LOOK_MS, look);
  };
  look();
}

function blocksOf({ storages }: Stage): number {
  return Math.max(0, ...storages.map(({ services }) => services?.storage?.nextHeight ?? 0));
}

async function guarded(world: World, until: number, found: (rule: string, detail: string) => void): Promise<void> {
  try {
    await world.run(until);
  } catch (error) {
    world.now = until;
    found('neverRests', errorMessage(error));
  }
}

/** Why the world is not at rest; empty when it is. */
export function restOf({ machines, mempools, storages, wallets, operator }: Stage): string[] {
  const problems = machines.flatMap((machine) => machine.problems.map((problem) => `${machine.name}: ${problem}`));
  const figures = mempools.flatMap(({ name, services }) => {
    try {
      const found = services?.mempool?.figures();
      return found === undefined ? [] : [{ name, ...found }];
    } catch {
      return [];
    }
  });
  const heights = [
    ...figures.map(({ height }) => height + 1),
    ...storages.map(({ services }) => services?.storage?.nextHeight ?? -1),
  ];
  const waiting = figures.filter(({ waitingCount }) => waitingCount > 0);
  const sequences = new Set(figures.map(({ seq }) => seq));
  return [
    ...problems,
    ...(operator.problem === null ? [] : [operator.problem]),
    ...storages.flatMap(({ name, services }) => {
      const { state, problem } = services?.chainIndex?.status() ?? { state: 'ready' };
      return state === 'ready' ? [] : [`the index of ${name} is ${state}: ${problem}`];
    }),
    ...wallets.flatMap(({ name, services }) => {
      const open = services?.wallet?.outgoing.size ?? 0;
      const trades = services?.user?.trades().filter(({ state }) => UNDER_WAY.has(state)) ?? [];
      return [
        ...(open > 0 ? [`${open} payments of ${name} are in no block`] : []),
        ...trades.map(({ id, state }) => `the trade ${id} of ${name} is ${state}`),
      ];
    }),
    ...waiting.map(({ name, waitingCount }) => `${waitingCount} transactions wait at ${name}`),
    ...(new Set(heights).size > 1 ? [`the heights are ${heights.join(', ')}`] : []),
    ...(sequences.size > 1 ? [`the commands are ${[...sequences].join(', ')}`] : []),
  ];
}

async function build(world: World, story: Story, violations: Violation[]): Promise<Stage> {
  const wires = new Wires(world, new Luck(`${story.seed}/wires`));
  enter(world);
  mount(world);
  const etcd = story.mempools > 1 ? new Etcd(world, wires) : undefined;
  connectTo(etcd);
  const people = Array.from({ length: story.people }, (_, i) => personOf(`person ${i}`));
  const damaged = new Map<string, string>();
  const diskTrouble = new Set<string>();
  const diverging = new Set<string>();
  const watch = new Watch(story, violations);
  const operator = new Operator(() => stage);
  const onFailed = (machine: Machine, error: unknown): void => {
    watch.onEnded(machine, error);
    // As a node does that opens anew.
    if (isForgotten(error) || isDiskFull(error) || operator.onEnded(machine, error)) return;
    // As an operator does whom the node tells so.
    if (isTesseraError(error, 'state_diverged') && diverging.delete(machine.name)) {
      machine.loseDisk();
      return;
    }
    const isDamage = isTesseraError(error, 'data_corrupt') && damaged.has(machine.name);
    const ofDisk = isTesseraError(error, 'database_failed') || isTesseraError(error, 'write_failed');
    if (isDamage || (ofDisk && diskTrouble.has(machine.name))) return;
    violations.push({ rule: 'nodesGoOn', detail: `${machine.name} ended: ${errorMessage(error)} ${stackOf(error)}` });
  };
  const heard = { onFailed, onSaid: watch.onSaid.bind(watch) };
  const machines = machinesOf(story, people, etcd).map((options) => new Machine(options, { world, wires, ...heard }));
  const mempools = machines.filter(({ role }) => role === 'mempool');
  const storages = machines.filter(({ role }) => role === 'storage');
  const wallets = machines.filter(({ role, config }) => hasWallet(role) && config.wallet.enabled);
  const http = await Http.create(world, wires, machines);
  const history = new History();
  const customers = wallets.length > 0 ? new Customers(wallets, { world, http }) : undefined;
  const payees = (): readonly string[] => customers?.addresses ?? [];
  const modules = { world, http, history, mempools, storages, payees };
  const clients = new Clients(people, COINS_EACH, COIN, modules);
  const parts = {
    machines,
    mempools,
    storages,
    wallets,
    people,
    history,
    clients,
    customers,
    violations,
    damaged,
    diskTrouble,
    diverging,
    story,
    watch,
    operator,
  };
  const stage: Stage = { world, wires, etcd, http, ...parts };
  return stage;
}

function machinesOf(story: Story, people: readonly Person[], etcd: Etcd | undefined) {
  const hosts = (count: number, net: number): string[] =>
    Array.from({ length: count }, (_, i) => `10.0.${net}.${i + 1}`);
  const [mempools, storages, miners] = [hosts(story.mempools, 0), hosts(story.storages, 1), hosts(story.miners, 2)];
  const at = (of: readonly string[]): string[] => of.map((host) => Machine.addressOf(host));
  const genesis = parseGenesis({
    mempool_seed_utxo: {
      [GENESIS]: people.flatMap(({ address }) => Array.from({ length: COINS_EACH }, () => ({ address, amount: COIN }))),
    },
  });
  const common = {
    'network.name': 'world',
    'network.secret': 'a secret of this operator',
    'network.genesis_file': `${process.cwd()}/config/genesis.json`,
    'network.producer_keys': mempools.map((_, i) => toHex(keyOf(`mempool-${i + 1}`).publicKey)),
  };
  const paid = { 'wallet.passphrase': PASSPHRASE, 'wallet.aggregate_above': 4 };
  const unpaid = { 'wallet.enabled': false, 'mining.static_address': personOf('miner').address };
  const checked = { 'mining.asert_activation_height': 1_000_000 };
  const made = (role: NodeRole, of: readonly string[], settings: (host: string) => object) =>
    of.map((host, i) => ({
      name: `${role}-${i + 1}`,
      role,
      host,
      genesis,
      settings: { ...common, ...settings(host) },
    }));
  return [
    ...made('mempool', mempools, (host) => ({
      ...checked,
      'mining.block_interval_ms': story.intervalMs,
      'mining.unicorn.modulus': String(2n ** 127n - 1n),
      'mining.unicorn.security': 60,
      'mining.unicorn.iterations': 2,
      'mempool.verify_threads': 0,
      'mempool.druid_lifetime_blocks': 8,
      'mempool.image_outputs': story.imageOutputs,
      'peers.storage': at(storages),
      'peers.mempool': at(mempools.filter((other) => other !== host)),
      ...(etcd === undefined ? {} : { 'journal.kind': 'etcd', 'journal.endpoints': etcd.endpoints }),
    })),
    ...made('storage', storages, (host) => ({
      ...checked,
      'storage.verify_threads': 0,
      'storage.index': story.isIndexed,
      'peers.storage': at(storages.filter((other) => other !== host)),
    })),
    ...made('miner', miners, () => ({
      ...(story.areMinersPaid ? { ...checked, ...paid } : unpaid),
      'peers.mempool': at(mempools),
      'peers.storage': at(storages),
    })),
    ...made('user', hosts(story.users, 4), () => ({
      ...checked,
      'wallet.passphrase': PASSPHRASE,
      'peers.mempool': at(mempools),
      'peers.storage': at(storages),
    })),
  ];
}

function stackOf(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  return stack
    .split('\n')
    .slice(1, 4)
    .map((line) => line.trim().replace(/\(.*\//, '('))
    .join(' ');
}

/** Runs something in a step of a process, and the world until it is done. */
export async function within<T>(world: World, process: Process, work: () => Promise<T>): Promise<T> {
  let result: { readonly value: T } | { readonly error: unknown } | undefined;
  world.later(process, 0, () => {
    work().then(
      (value) => {
        result = { value };
      },
      (error: unknown) => {
        result = { error };
      },
    );
  });
  await world.run(world.now + 60_000, () => result !== undefined);
  if (result === undefined) throw new Error(`${process.name} gives no answer`);
  if ('error' in result) throw result.error;
  return result.value;
}
