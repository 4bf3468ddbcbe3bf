/** The shortest story of faults that still fails in the same way, as far as leaving out one after the other comes. */

import { play, type Violation } from './play.js';
import { type Story, withOnly } from './story.js';

/** Plays that the search takes at most, and milliseconds. */
const MOST_PLAYS = 60;
const MOST_MS = 60_000;
const NS_PER_MS = 1_000_000n;

export interface Shrunk {
  /** Numbers of the faults that are left. */
  readonly kept: readonly number[];
  readonly violations: readonly Violation[];
  readonly plays: number;
}

/** Halves first, then single faults. `violations` are those of the whole story. */
export async function shrink(story: Story, violations: readonly Violation[]): Promise<Shrunk> {
  const rules = new Set(violations.map(({ rule }) => rule));
  let kept = story.faults.map((_, index) => index);
  let last = violations;
  let plays = 0;
  const now = (): bigint => process.hrtime.bigint() / NS_PER_MS;
  const end = now() + BigInt(MOST_MS);
  const mayPlay = (): boolean => plays < MOST_PLAYS && now() < end;
  for (let size = Math.ceil(kept.length / 2); size >= 1 && mayPlay(); ) {
    let isShorter = false;
    for (let at = 0; at < kept.length && mayPlay(); ) {
      const fewer = [...kept.slice(0, at), ...kept.slice(at + size)];
      plays++;
      const { violations: found } = await play(withOnly(story, fewer));
      if (found.some(({ rule }) => rules.has(rule))) {
        [kept, last, isShorter] = [fewer, found, true];
      } else at += size;
    }
    if (size === 1 && !isShorter) break;
    size = size === 1 ? 1 : Math.ceil(size / 2);
  }
  return { kept, violations: last, plays };
}
