/** Stories: what a world is made of and what goes wrong in it, all drawn from a seed. A story can be told again, whole or with parts left out. */

import { type Fault, LATER, SHARE_OF_LATER, THEMES, type Theme, type ThemeName } from './themes.js';
import { Luck } from './world/luck.js';
import { MOST_STEP_MS } from './world/world.js';

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
  /** So many of the acts of wallets are about items and trades. */
  readonly barter: number;
  readonly areMinersPaid: boolean;
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
      name === 'named' ? [120] : isSlow ? [250] : theme.users !== undefined ? [400, 800] : [800, 1_500, 3_000],
    ),
    stepMs: name === 'named' ? SLOWEST_STEP_MS : isSlow ? SLOW_STEP_MS : MOST_STEP_MS,
    trades: name === 'late' ? 0.7 : 0.1,
    ms: Math.floor(ms),
    users: theme.users === undefined ? 0 : luck.pick(theme.users),
    isIndexed: theme.isIndexed === true,
    barter: theme.barter ?? 0,
    areMinersPaid: theme.areMinersPaid === true,
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
