/** How long a cluster stood still for its clients. */

import type { Operation } from './history.js';

/** In seconds. */
export interface Gaps {
  /** The longest time in which no post was accepted. */
  readonly posts: number;
  /** The longest time in which no storage node showed a new block. */
  readonly blocks: number;
}

/** Between two moments, in ms of the history. */
export function gapsOf(operations: readonly Operation[], from: number, to: number): Gaps {
  const accepted = operations.flatMap((one) =>
    one.kind === 'post' && one.answer === 'accepted' && one.node !== 'user' ? [one.ended] : [],
  );
  const rises: number[] = [];
  let highest = -1n;
  for (const one of operations) {
    if (one.kind !== 'count' || one.what !== 'height' || one.value <= highest) continue;
    highest = one.value;
    rises.push(one.ended);
  }
  return { posts: longest(accepted, from, to), blocks: longest(rises, from, to) };
}

/** In seconds, with the ends counted as moments at which something happened. */
function longest(moments: readonly number[], from: number, to: number): number {
  const within = [from, ...moments.filter((at) => at > from && at < to).toSorted((a, b) => a - b), to];
  const gaps = within.slice(1).map((at, i) => at - (within[i] ?? at));
  return Math.max(0, ...gaps) / 1_000;
}
