/** What the state knows about a transaction that is accepted and not stored yet. */

import type { CurrentRound } from './current-round.js';
import type { DruidPool, Pool } from './pool.js';

export interface PendingTx {
  readonly bytes: Uint8Array;
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
  if (pooled !== undefined) return { bytes: pooled.bytes, time: pooled.time, info: 'Waits for a block' };
  const mined = round.transaction(hash);
  if (mined !== undefined && round.value !== null) {
    return { bytes: mined.bytes, time: mined.time, info: `In block ${round.value.height}, which is being made` };
  }
  const set = druids.setOf(hash);
  const member = set?.members.find((tx) => tx.hash === hash);
  if (set === undefined || member === undefined) return undefined;
  const missing = set.participants - BigInt(set.members.length);
  const info = `DRUID transaction: waits for ${missing} of ${set.participants}`;
  return { bytes: member.bytes, time: member.time, info };
}

/** The number of the oldest transaction that is accepted and not stored; undefined when there is none. */
export function oldestArrival({ pool, druids, round }: PendingPlaces): number | undefined {
  let oldest: number | undefined;
  const see = ({ arrival }: { readonly arrival: number }): void => {
    // Issuances have no number.
    if (arrival > 0 && arrival < (oldest ?? Number.POSITIVE_INFINITY)) oldest = arrival;
  };
  for (const unit of pool.units()) unit.forEach(see);
  for (const set of druids.olderThan(Number.POSITIVE_INFINITY)) set.members.forEach(see);
  round.value?.transactions.forEach(see);
  return oldest;
}

/** The same question without the words: asked for every transaction that arrives. */
export function isPending(hash: string, { pool, druids, round }: PendingPlaces): boolean {
  return pool.get(hash) !== undefined || round.transaction(hash) !== undefined || druids.setOf(hash) !== undefined;
}
