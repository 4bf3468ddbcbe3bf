/**
 * `npm run bench:network -- --original FILE`: what a confirmed payment costs beside the node that Tessera replaces. Both networks begin with the
 * same genesis in each round, one after the other, and only one of them is there at a time: the original works while it idles.
 */

import { measured } from '../rounds.js';
import { BenchNetwork, type BenchNetworkOptions } from './network.js';
import { OriginalNetwork } from './original.js';
import { confirmAll, type Loaded, type PhaseOptions } from './phases.js';
import type { Phase } from './tables.js';

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** What one round gives of a network: confirmed a second, and µs of processor time of each process for a confirmed payment. */
export interface Round {
  readonly rate: number;
  readonly costs: ReadonlyMap<string, number>;
}

type Startable = Loaded & { end(): Promise<void> };

export interface BesideOptions {
  /** The original's program. */
  readonly program: string;
  readonly rounds: number;
  readonly load: PhaseOptions;
  readonly network: BenchNetworkOptions;
}

export async function beside({ program, rounds, load, network }: BesideOptions): Promise<void> {
  const networks: readonly { readonly name: string; readonly start: () => Promise<Startable> }[] = [
    { name: 'the original', start: () => OriginalNetwork.start(program) },
    { name: 'ours', start: () => BenchNetwork.start(network) },
  ];
  const all = new Map<string, Round[]>(networks.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const { name, start } of networks) {
      say(`\nround ${round + 1}, ${name}`);
      all.get(name)?.push(await roundOf(await start(), load));
    }
  }
  const [original, ours] = networks.map(({ name }) => medians(all.get(name) ?? []));
  if (original === undefined || ours === undefined) return;
  const share = (mine: number, its: number): string => `${((100 * mine) / its).toFixed(0)} %`;
  say(`\nmedians of ${rounds} rounds: the original, ours, ours beside it`);
  say(row('confirmed a second', original.rate, ours.rate, share(ours.rate, original.rate)));
  say(row('us for each, all of them', original.cost, ours.cost, share(ours.cost, original.cost)));
  for (const [name, cost] of ours.costs) say(row(`  ${name}`, original.costs.get(name) ?? 0, cost, ''));
}

/** Half the time is not counted, in which the code is compiled and the pool is filled and emptied. */
export async function roundOf(network: Startable, load: PhaseOptions): Promise<Round> {
  try {
    await confirmAll(network, 'not counted', { ...load, seconds: Math.ceil(load.seconds / 2) });
    return figuresOf(await confirmAll(network, 'posted and confirmed', load));
  } finally {
    await network.end();
  }
}

function figuresOf({ count, confirmed, processes }: Phase): Round {
  const nodes = processes.filter(({ name }) => name !== 'load');
  return {
    rate: confirmed?.rate ?? 0,
    costs: new Map(nodes.map(({ name, cpu }) => [name, (1e6 * cpu) / count])),
  };
}

/** µs of processor time of all its processes for a confirmed payment. */
export const costOf = ({ costs }: Round): number => [...costs.values()].reduce((sum, cost) => sum + cost, 0);

function medians(rounds: readonly Round[]): Round & { readonly cost: number } {
  const median = (figure: (round: Round) => number): number => measured(rounds.map(figure)).median;
  const names = [...(rounds[0]?.costs.keys() ?? [])];
  return {
    rate: median(({ rate }) => rate),
    cost: median(costOf),
    costs: new Map(names.map((name) => [name, median(({ costs }) => costs.get(name) ?? 0)])),
  };
}

const row = (name: string, original: number, ours: number, share: string): string =>
  `  ${name.padEnd(26)}${original.toFixed(0).padStart(8)}${ours.toFixed(0).padStart(8)}${share.padStart(8)}`;
