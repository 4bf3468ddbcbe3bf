/** What happens to a cluster while clients write to it. Each heals what it has broken, and starts what it has ended. */

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Chance } from '../reliability/chance.js';
import { sleep } from '../reliability/round.js';
import { type Cluster, LEASE_SECONDS, type Placed } from './cluster.js';
import { whenReady } from './judge.js';

export interface Fault {
  readonly name: string;
  /** It cuts lines, which not every system permits. */
  readonly cuts?: boolean;
  /** It is part of keeping a cluster, and costs a client that tries the next node nothing. */
  readonly isPlanned?: boolean;
  /** Resolves with what was done, in a few words, when nothing is broken any more; nodes may not be ready yet. */
  run(cluster: Cluster, chance: Chance): Promise<string>;
}

/** Milliseconds that something is away: shorter and longer than the lease. */
const AWAY = { least: 500, spread: 6_500 };
/** Longer than the lease and what its owner does not use of it. */
const HELD_MS = LEASE_SECONDS * 1_000 + 1_500;
/** Longer than connections that nobody answers live. */
const HELD_ETCD_MS = 15_000;

const awayMs = (chance: Chance): number => AWAY.least + chance.below(AWAY.spread);
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

type Target = (cluster: Cluster, chance: Chance) => Promise<Placed>;

const theLeader: Target = (cluster) => cluster.leader();
const aFollower: Target = (cluster, chance) => cluster.follower((of) => chance.pick(of));
const aMempool: Target = async (cluster, chance) => chance.pick(cluster.mempools);
const aStorage: Target = async (cluster, chance) => chance.pick(cluster.storages);

/** kill -9, and a start after a while. */
function kill(name: string, target: Target): Fault {
  return {
    name: `kill -9 of ${name}`,
    async run(cluster, chance) {
      const placed = await target(cluster, chance);
      const ms = awayMs(chance);
      await placed.node.kill();
      await sleep(ms);
      await placed.node.start();
      return `${placed.name}, away for ${seconds(ms)}`;
    },
  };
}

function killEtcd(name: string, isLeader: boolean): Fault {
  return {
    name: `kill -9 of ${name}`,
    async run({ etcd }, chance) {
      const leader = await etcd.leader();
      const member = isLeader ? leader : chance.pick(etcd.members.filter((one) => one !== leader));
      const ms = awayMs(chance);
      await member.kill();
      await sleep(ms);
      await member.start();
      return `${member.name}, away for ${seconds(ms)}`;
    },
  };
}

/** SIGSTOP for longer than the lease. */
function hold(name: string, target: Target): Fault {
  return {
    name: `SIGSTOP of ${name}`,
    async run(cluster, chance) {
      const placed = await target(cluster, chance);
      placed.node.suspend();
      try {
        await sleep(HELD_MS);
      } finally {
        placed.node.resume();
      }
      return `${placed.name}, for ${seconds(HELD_MS)}`;
    },
  };
}

/** Its connections stay open, and nothing comes over them. */
const holdEtcdLeader: Fault = {
  name: 'SIGSTOP of the leader of etcd',
  async run({ etcd }) {
    const member = await etcd.leader();
    member.suspend();
    try {
      await sleep(HELD_ETCD_MS);
    } finally {
      member.resume();
    }
    return `${member.name}, for ${seconds(HELD_ETCD_MS)}`;
  },
};

const WAYS = ['both ways', 'outgoing', 'incoming'] as const;
type Way = (typeof WAYS)[number];

/** A node is cut off from others for longer than the lease. */
function cutOff(name: string, target: Target, from: (cluster: Cluster, placed: Placed) => readonly string[]): Fault[] {
  return WAYS.map((way) => ({
    name: `${name}, ${way}`,
    cuts: true,
    async run(cluster, chance) {
      const placed = await target(cluster, chance);
      await cutLines(cluster, [placed.name], from(cluster, placed), way);
      return `${placed.name}, for ${seconds(HELD_MS)}`;
    },
  }));
}

async function cutLines(
  { machines }: Cluster,
  one: readonly string[],
  others: readonly string[],
  way: Way,
): Promise<void> {
  try {
    if (way !== 'incoming') await machines.cut(one, others);
    if (way !== 'outgoing') await machines.cut(others, one);
    await sleep(HELD_MS);
  } finally {
    await machines.heal();
  }
}

const etcdNames = ({ etcd }: Cluster): string[] => etcd.members.map(({ name }) => name);
const nodeNames = ({ nodes }: Cluster): string[] => nodes.map(({ name }) => name);
const mempoolNames = ({ mempools }: Cluster): string[] => mempools.map(({ name }) => name);
const storageNames = ({ storages }: Cluster): string[] => storages.map(({ name }) => name);
const allBut = (cluster: Cluster, { name }: Placed): string[] =>
  [...etcdNames(cluster), ...nodeNames(cluster)].filter((other) => other !== name);

/** etcd elects another leader, and the old one does not know. */
const cutEtcdLeader: Fault = {
  name: 'leader of etcd cut off from members',
  cuts: true,
  async run(cluster) {
    const { name } = await cluster.etcd.leader();
    const others = etcdNames(cluster).filter((other) => other !== name);
    await cutLines(cluster, [name], others, 'both ways');
    return `${name}, for ${seconds(HELD_MS)}`;
  },
};

/** One mempool node after the other is stopped and started, as for a new version. */
const rollingRestart: Fault = {
  name: 'rolling restart',
  isPlanned: true,
  async run(cluster) {
    for (const placed of cluster.mempools) {
      const code = await placed.node.stop();
      if (code !== 0) throw new Error(`${placed.name} stopped with ${code}: ${placed.node.log().slice(-500)}`);
      await placed.node.start();
      await whenReady(placed);
    }
    return `${cluster.mempools.length} nodes`;
  },
};

/** Everything but the files that its operator put there. */
const wipe: Fault = {
  name: "a replica's disk is wiped",
  async run(cluster, chance) {
    const placed = await aMempool(cluster, chance);
    await placed.node.kill();
    await rm(placed.node.folder, { recursive: true, force: true });
    await placed.node.start();
    await whenReady(placed);
    return placed.name;
  },
};

/** A fourth replica joins under load, is asked like the others for a while, and leaves. */
const join4: Fault = {
  name: 'a fourth replica joins',
  async run({ guest }) {
    await rm(join(guest.node.folder), { recursive: true, force: true });
    await guest.node.start();
    await whenReady(guest);
    await guest.node.stop();
    return guest.name;
  },
};

export const FAULTS: readonly Fault[] = [
  kill('the leader', theLeader),
  kill('a follower', aFollower),
  killEtcd('a member of etcd', false),
  killEtcd('the leader of etcd', true),
  kill('storage', aStorage),
  hold('the leader', theLeader),
  hold('a follower', aFollower),
  holdEtcdLeader,
  ...cutOff('leader cut off from etcd', theLeader, etcdNames),
  ...cutOff('mempool node cut off', aMempool, allBut),
  ...cutOff('storage cut off from mempools', aStorage, mempoolNames),
  cutEtcdLeader,
  rollingRestart,
  join4,
  wipe,
  ...cutOff('leader cut off from storage', theLeader, storageNames),
];
