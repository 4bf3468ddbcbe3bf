/** Stories: what a world is made of and what goes wrong in it, all drawn from a seed. A story can be told again, whole or with parts left out. */

import { Luck } from './world/luck.js';

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
  'lose power',
  'blackout',
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
  'compact etcd',
  'isolate etcd',
  'lose answers',
  'flip',
  'upgrade',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface Story {
  readonly seed: string;
  readonly mempools: number;
  readonly storages: number;
  readonly miners: number;
  readonly intervalMs: number;
  readonly people: number;
  /** Milliseconds between two acts of one client. */
  readonly pauseMs: number;
  /** Milliseconds of the load. */
  readonly ms: number;
  readonly faults: readonly Fault[];
}

/** The story of a seed. */
export function storyOf(seed: string): Story {
  const luck = new Luck(`story ${seed}`);
  const mempools = luck.pick([1, 1, 1, 2, 2, 3, 3, 3, 4, 5]);
  const ms = luck.between(15_000, 60_000);
  // Some days have faults of few kinds, so that one does not hide another.
  const some = FAULT_KINDS.filter(() => luck.chance(0.2));
  const kinds = luck.chance(0.4) || some.length === 0 ? FAULT_KINDS : some;
  const count = luck.chance(0.05) ? 0 : 1 + luck.below(luck.chance(0.3) ? 24 : 9);
  const faults = Array.from({ length: count }, (): Fault => {
    return {
      kind: luck.pick(kinds),
      at: Math.floor(luck.between(2_000, ms * 0.9)),
      ms: Math.floor(luck.chance(0.2) ? luck.between(20_000, 60_000) : luck.between(200, 15_000)),
      where: luck.below(1_000),
      other: luck.below(1_000),
      much: luck.next(),
    };
  });
  return {
    seed,
    mempools,
    storages: luck.pick([1, 2, 2, 3]),
    miners: luck.pick([1, 1, 1, 2]),
    intervalMs: luck.pick([1_500, 3_000, 6_000]),
    people: 2 + luck.below(3),
    pauseMs: luck.pick([800, 1_500, 3_000]),
    ms: Math.floor(ms),
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
