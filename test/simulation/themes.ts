/** What stories are about: the kinds of faults, and the theme that a seed draws. */

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
  'older wallet',
  'fail wallet',
  'restore and keep etcd',
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
  'older wallet',
  'fail wallet',
  'restore and keep etcd',
];

/** What a story is about. In a short one with few kinds of faults each of them comes often. */
export interface Theme {
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
  /** So many of the acts of wallets are about items and trades; none by default. */
  readonly barter?: number;
  /** True where the rewards of miners go to wallets of their own. */
  readonly areMinersPaid?: boolean;
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
  // User nodes get an older copy of their disk.
  copied: {
    ...SHORT,
    kinds: ['older wallet', 'older wallet', 'older wallet', 'kill', 'lose power', 'lose answers', 'cut'],
    mempools: [1, 1, 2],
    storages: [1, 2],
    users: [1, 2],
    faultMs: 6_000,
    faults: 12,
  },
  // Wallets create items, and trade them.
  barter: {
    ...SHORT,
    kinds: [
      'kill',
      'kill at a write',
      'lose power',
      'lose power at a write',
      'lose answers',
      'cut',
      'cut one way',
      'break',
      'stop',
      'suspend',
      'full disk',
      'failing disk',
    ],
    mempools: [1, 1, 2],
    storages: [1, 2],
    users: [2],
    barter: 0.5,
    ms: 30_000,
    faultMs: 6_000,
    faults: 18,
  },
  // Miners have wallets, and the disks of wallets fail.
  rewards: {
    ...SHORT,
    kinds: [
      'fail wallet',
      'fail wallet',
      'kill',
      'kill at a write',
      'lose power',
      'lose power at a write',
      'slow disk',
    ],
    users: [1],
    areMinersPaid: true,
    faultMs: 5_000,
    faults: 18,
  },
  // All of etcd is an older copy of itself, and stays so, whoever has more.
  kept: {
    ...SHORT,
    kinds: ['restore and keep etcd', 'restore and keep etcd', 'kill', 'lose answers of etcd'],
    mempools: [2, 3],
    storages: [1, 2],
    ms: 40_000,
    faultMs: 10_000,
    faults: 4,
    long: 0.5,
  },
  images: { ...SHORT, kinds: ['kill at a write', 'lose power at a write'], faultMs: 500, faults: 24 },
  clocks: { ...SHORT, kinds: ['wrong clock'], mempools: [1, 3], storages: [2], faultMs: 15_000, faults: 2 },
  calm: { ...SHORT, kinds: [], mempools: [1, 2, 3], ms: 30_000, faults: 0 },
} as const satisfies Readonly<Record<string, Theme>>;
export type ThemeName = keyof typeof THEMES;

/** Themes that came later, new ones at the end: drawn apart, so that the seeds of earlier ones, some of which are kept, still tell the same stories. */
export const LATER: readonly ThemeName[] = [
  ...['damaged', 'compacted', 'alone', 'named', 'restored', 'wallets', 'indexed'],
  ...['copied', 'barter', 'rewards', 'kept'],
] as ThemeName[];
/** So many of the other seeds are of each of them. */
export const SHARE_OF_LATER = 1 / 15;
