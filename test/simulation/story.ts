/** Stories: what a world is made of and what goes wrong in it, all drawn from a seed. A story can be told again, whole or with parts left out. */

import { Luck } from './world/luck.js';
import { MOST_STEP_MS } from './world/world.js';

/** Something that goes wrong for a while. */
export interface Fault {
  readonly kind: FaultKind;
  /** Milliseconds from the beginning. */
  readonly at: number;
  /** Milliseconds that it lasts. */
  readonly ms: number;
  /** Numbers that say where, each of which is taken modulo what there is. */
  readonly where: number;
  readonly other: number;
  /** From 0 to 1. */
  readonly much: number;
}

export const FAULT_KINDS = [
  'kill',
  'kill at a write',
  'lose power',
  'lose power at a write',
  'blackout',
  'blackout at a write',
  'lose disk',
  'lose disk alone',
  'older copy',
  'older copy alone',
  'damage state',
  'miss a compaction',
  'kill at an image',
  'lose power at an image',
  'stop',
  'suspend',
  'cut',
  'cut one way',
  'isolate',
  'delay',
  'loss',
  'break',
  'full disk',
  'failing disk',
  'slow disk',
  'wrong clock',
  'fast clock',
  'kill etcd',
  'lose answers of etcd',
  'slow etcd',
  'far from etcd',
  'compact etcd',
  'isolate etcd',
  'restore etcd',
  'lose answers',
  'flip',
  'flip index',
  'lose index',
  'upgrade',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];
/** Faults that come in themes of their own: of most of them, something that was acknowledged may be lost, or given to others. */
const APART: readonly FaultKind[] = [
  'older copy alone',
  'damage state',
  'miss a compaction',
  'kill at an image',
  'lose power at an image',
  'restore etcd',
  'flip index',
  'lose index',
];

/** What a story is about. In a short one with few kinds of faults each of them comes often. */
interface Theme {
  readonly kinds: readonly FaultKind[];
  readonly mempools: readonly number[];
  readonly storages: readonly number[];
  /** Milliseconds of the load, and of a fault: at most. */
  readonly ms: number;
  readonly faultMs: number;
  /** Faults: at most. */
  readonly faults: number;
  /** So many of the faults are long. */
  readonly long?: number;
  /** User nodes, with wallets; none by default. */
  readonly users?: readonly number[];
  /** True where storage nodes have an index of the chain. */
  readonly isIndexed?: boolean;
}

const SHORT = { mempools: [1], storages: [1], ms: 20_000, faultMs: 3_000, faults: 8 } as const;

export const THEMES = {
  mixed: {
    kinds: FAULT_KINDS.filter((kind) => !APART.includes(kind)),
    mempools: [1, 1, 1, 2, 2, 3, 3, 3, 4, 5],
    storages: [1, 2, 2, 3],
    ms: 60_000,
    faultMs: 60_000,
    faults: 24,
  },
  power: {
    ...SHORT,
    kinds: ['kill', 'kill at a write', 'lose power', 'lose power at a write', 'blackout', 'blackout at a write'],
    mempools: [1, 1, 1, 2],
  },
  lease: {
    ...SHORT,
    kinds: ['suspend', 'isolate', 'kill etcd', 'lose answers of etcd', 'slow etcd', 'isolate etcd', 'delay', 'kill'],
    mempools: [2, 3],
    ms: 40_000,
    faultMs: 20_000,
  },
  behind: {
    ...SHORT,
    kinds: ['slow etcd', 'slow etcd', 'compact etcd', 'lose answers of etcd', 'cut', 'kill', 'lose answers'],
    mempools: [2, 3],
    faultMs: 10_000,
  },
  links: {
    ...SHORT,
    kinds: ['cut', 'cut one way', 'isolate', 'break', 'lose power', 'lose answers', 'kill', 'loss'],
    storages: [1, 2],
    faultMs: 10_000,
  },
  disks: {
    ...SHORT,
    kinds: ['full disk', 'failing disk', 'slow disk', 'flip', 'kill', 'lose power'],
    storages: [2],
    faultMs: 8_000,
  },
  joins: {
    ...SHORT,
    kinds: ['lose disk', 'older copy', 'kill', 'compact etcd', 'stop', 'upgrade', 'suspend'],
    mempools: [2, 3],
    storages: [1, 2],
    ms: 60_000,
    faultMs: 40_000,
  },
  // Readers of the journal lose their watch, and what they would read is compacted meanwhile.
  watches: {
    ...SHORT,
    kinds: ['kill etcd', 'kill etcd', 'cut', 'isolate', 'compact etcd', 'compact etcd', 'slow etcd'],
    mempools: [2, 3],
    ms: 30_000,
    faultMs: 15_000,
    faults: 18,
  },
  // Writes at one node take so long that what they are about is over.
  late: { ...SHORT, kinds: ['far from etcd'], mempools: [2, 3], ms: 30_000, faultMs: 30_000, faults: 4 },
  // States that are made from blocks, while the nodes that would give theirs are away.
  stale: {
    ...SHORT,
    kinds: ['lose disk alone'],
    mempools: [2, 3],
    ms: 40_000,
    faultMs: 30_000,
  },
  copies: {
    ...SHORT,
    kinds: ['older copy', 'older copy', 'kill'],
    mempools: [2, 3],
    storages: [2],
    ms: 40_000,
    faultMs: 15_000,
  },
  // A node is away for longer than the others remember their states, and comes back with another one.
  damaged: {
    ...SHORT,
    kinds: ['damage state', 'damage state', 'kill', 'slow etcd', 'lose answers of etcd'],
    mempools: [3],
    ms: 40_000,
    faultMs: 24_000,
    faults: 6,
    long: 0.8,
  },
  // What a reader of the journal would read next is compacted while it is away for a moment.
  compacted: {
    ...SHORT,
    kinds: ['miss a compaction'],
    mempools: [2, 3],
    faultMs: 6_000,
  },
  // The only mempool node has an older disk than storage.
  alone: { ...SHORT, kinds: ['older copy alone', 'older copy alone', 'kill'], storages: [1, 2], faultMs: 8_000 },
  // A node ends as soon as its image has a name, which it gets late on a slow disk.
  named: {
    ...SHORT,
    kinds: ['kill at an image', 'kill at an image', 'lose power at an image', 'slow disk', 'slow disk', 'slow disk'],
    ms: 60_000,
    faultMs: 20_000,
    long: 0.7,
    faults: 24,
  },
  // All of etcd is an older copy of itself, which lacks what mempool nodes have.
  restored: {
    ...SHORT,
    kinds: ['restore etcd', 'restore etcd', 'kill', 'lose answers of etcd'],
    mempools: [2, 3],
    storages: [1, 2],
    ms: 40_000,
    faultMs: 10_000,
    faults: 4,
    long: 0.5,
  },
  // Storage nodes have an index of the chain, which is written behind their blocks.
  indexed: {
    ...SHORT,
    kinds: [
      'kill at a write',
      'lose power at a write',
      'lose power',
      'full disk',
      'failing disk',
      'flip index',
      'lose index',
      'older copy',
    ],
    storages: [1, 2],
    isIndexed: true,
    faultMs: 5_000,
    faults: 24,
  },
  // Wallets of user nodes pay while they and the nodes that they need fail.
  wallets: {
    ...SHORT,
    kinds: [
      'kill',
      'kill at a write',
      'kill at a write',
      'lose power',
      'lose power at a write',
      'lose power at a write',
      'lose answers',
      'lose answers',
      'cut',
      'cut one way',
      'isolate',
      'break',
      'stop',
      'suspend',
      'full disk',
      'failing disk',
      'slow disk',
    ],
    mempools: [1, 1, 2],
    storages: [1, 2],
    users: [1, 2],
    faultMs: 6_000,
    faults: 24,
  },
  images: { ...SHORT, kinds: ['kill at a write', 'lose power at a write'], faultMs: 500, faults: 24 },
  clocks: { ...SHORT, kinds: ['wrong clock'], mempools: [1, 3], storages: [2], faultMs: 15_000, faults: 2 },
  calm: { ...SHORT, kinds: [], mempools: [1, 2, 3], ms: 30_000, faults: 0 },
} as const satisfies Readonly<Record<string, Theme>>;
export type ThemeName = keyof typeof THEMES;
/** Themes that came later, new ones at the end: drawn apart, so that the seeds of earlier ones, some of which are kept, still tell the same stories. */
const LATER: readonly ThemeName[] = ['damaged', 'compacted', 'alone', 'named', 'restored', 'wallets', 'indexed'];
/** So many of the other seeds are of each of them. */
const SHARE_OF_LATER = 1 / 15;
const NAMES = Object.keys(THEMES) as readonly ThemeName[];
const EARLIER = NAMES.filter((name) => !LATER.includes(name));
/** Milliseconds of a long step. */
const SLOW_STEP_MS = 2;
/** The same where a command takes as long as an image. */
const SLOWEST_STEP_MS = 150;
/** Milliseconds in which everything is up, and there is something to lose. */
const QUIET_MS = 2_000;

export interface Story {
  readonly seed: string;
  readonly theme: ThemeName;
  readonly mempools: number;
  readonly storages: number;
  readonly miners: number;
  readonly users: number;
  readonly isIndexed: boolean;
  readonly intervalMs: number;
  readonly people: number;
  /** Unspent outputs from which on a mempool node has an image of them: some days have none. */
  readonly imageOutputs: number;
  /** So many of the acts of clients are trades. */
  readonly trades: number;
  /** Milliseconds of a step that waits for nothing, at most: long ones show what happens in the middle of a command. */
  readonly stepMs: number;
  /** Milliseconds between two acts of one client. */
  readonly pauseMs: number;
  /** Milliseconds of the load. */
  readonly ms: number;
  readonly faults: readonly Fault[];
}

/** The story of a seed. */
export function storyOf(seed: string): Story {
  const luck = new Luck(`story ${seed}`);
  const drawn = luck.chance(0.25) ? 'mixed' : luck.pick(EARLIER);
  const later = new Luck(`later theme ${seed}`);
  const name = drawn === 'mixed' ? drawn : (LATER.find(() => later.chance(SHARE_OF_LATER)) ?? drawn);
  const theme: Theme = THEMES[name];
  const ms = luck.between(theme.ms / 4, theme.ms);
  // Some days have faults of few kinds, so that one does not hide another.
  const some = theme.kinds.filter(() => luck.chance(0.2));
  const kinds = luck.chance(0.4) || some.length === 0 ? theme.kinds : some;
  const most = luck.chance(0.3) ? theme.faults : theme.faults / 3;
  const count = theme.faults === 0 || luck.chance(0.05) ? 0 : 1 + luck.below(most);
  const faults = Array.from({ length: count }, (): Fault => {
    const short = Math.min(15_000, theme.faultMs);
    return {
      kind: luck.pick(kinds),
      at: Math.floor(luck.between(Math.min(QUIET_MS, ms / 2), ms * 0.9)),
      ms: Math.floor(
        luck.chance(theme.long ?? 0.2) ? luck.between(theme.faultMs / 3, theme.faultMs) : luck.between(200, short),
      ),
      where: luck.below(1_000),
      other: luck.below(1_000),
      much: luck.next(),
    };
  });
  const isSlow = name === 'images' || name === 'named';
  return {
    seed,
    theme: name,
    mempools: luck.pick(theme.mempools),
    storages: luck.pick(theme.storages),
    miners: luck.pick([1, 1, 1, 2]),
    intervalMs: luck.pick(name === 'mixed' ? [1_500, 3_000, 6_000] : [1_000, 1_500]),
    people: 2 + luck.below(3),
    imageOutputs: luck.pick(name === 'named' ? [10] : [20, 20, 1_000_000]),
    pauseMs: luck.pick(
      name === 'named' ? [120] : isSlow ? [250] : name === 'wallets' ? [400, 800] : [800, 1_500, 3_000],
    ),
    stepMs: name === 'named' ? SLOWEST_STEP_MS : isSlow ? SLOW_STEP_MS : MOST_STEP_MS,
    trades: name === 'late' ? 0.7 : 0.1,
    ms: Math.floor(ms),
    users: theme.users === undefined ? 0 : luck.pick(theme.users),
    isIndexed: theme.isIndexed === true,
    faults: faults.sort((a, b) => a.at - b.at),
  };
}

export function textOf({ kind, at, ms, where, other, much }: Fault): string {
  return `${(at / 1_000).toFixed(1)} s: ${kind} for ${(ms / 1_000).toFixed(1)} s (${where}, ${other}, ${much.toFixed(2)})`;
}

/** The same story with only these of its faults, by their numbers. */
export function withOnly(story: Story, kept: readonly number[]): Story {
  return { ...story, faults: kept.flatMap((index) => story.faults[index] ?? []) };
}
