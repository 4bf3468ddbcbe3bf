/** What the state knows about a transaction that is accepted and not stored yet. */

import type { CurrentRound } from './current-round.js';
import type { DruidPool, Pool } from './pool.js';

export interface PendingTx {
  /** Unix seconds of the first sight. */
  readonly time: number;
  /** What it waits for. */
  readonly info: string;
}

/** Where it can be. */
export interface PendingPlaces {
  readonly pool: Pool;
  readonly druids: DruidPool;
  readonly round: CurrentRound;
}

/** Undefined when it is in none of the places. */
export function pendingTx(hash: string, { pool, druids, round }: PendingPlaces): PendingTx | undefined {
  const pooled = pool.get(hash);
  if (pooled !== undefined) return { time: pooled.time, info: 'Waits for a block' };
  const mined = round.transaction(hash);
  if (mined !== undefined && round.value !== null) {
    return { time: mined.time, info: `In block ${round.value.height}, which is being made` };
  }
  const set = druids.setOf(hash);
  const member = set?.members.find((tx) => tx.hash === hash);
  if (set === undefined || member === undefined) return undefined;
  const missing = set.participants - BigInt(set.members.length);
  return { time: member.time, info: `DRUID transaction: waits for ${missing} of ${set.participants}` };
}

/** The same question without the words: asked for every transaction that arrives. */
export function isPending(hash: string, { pool, druids, round }: PendingPlaces): boolean {
  return pool.get(hash) !== undefined || round.transaction(hash) !== undefined || druids.setOf(hash) !== undefined;
}
