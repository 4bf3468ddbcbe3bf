/** Facts of the state about a transaction that is accepted and not stored yet. */

import type { DruidPool, Pool, PooledTx } from './pool.js';
import type { Rounds } from './rounds.js';

export interface PendingTx {
  readonly bytes: Uint8Array;
  /** Unix seconds of the first sight. */
  readonly time: number;
  /** Description of what it waits for. */
  readonly info: string;
}

/** Places where it can be. */
export interface PendingPlaces {
  readonly pool: Pool;
  readonly druids: DruidPool;
  readonly rounds: Rounds;
}

/** Undefined when it is in none of the places. */
export function pendingTx(hash: string, { pool, druids, rounds }: PendingPlaces): PendingTx | undefined {
  const pooled = pool.get(hash);
  if (pooled !== undefined) return { bytes: pooled.bytes, time: pooled.time, info: 'Waits for a block' };
  const mined = rounds.transaction(hash);
  if (mined !== undefined) {
    return { bytes: mined.bytes, time: mined.time, info: `In block ${rounds.heightOf(hash)}, which is being made` };
  }
  const set = druids.setOf(hash);
  const member = set?.members.find((tx) => tx.hash === hash);
  if (set === undefined || member === undefined) return undefined;
  const missing = set.participants - BigInt(set.members.length);
  const info = `DRUID transaction: waits for ${missing} of ${set.participants}`;
  return { bytes: member.bytes, time: member.time, info };
}

/** Transactions that wait to be stored. */
export interface Waiting {
  /** Heights of the blocks that are being made. */
  readonly rounds: readonly number[];
  /**
   * The number of the oldest transaction that is accepted and not stored; undefined when there is none. A member of a DRUID set is as old
   * as it was when it began to wait for the others: the command that brought it is of that time.
   */
  oldest(): number | undefined;
}

export function waitingIn(places: PendingPlaces): Waiting {
  return { rounds: places.rounds.values.map(({ height }) => height), oldest: () => oldestArrival(places) };
}

function oldestArrival({ pool, druids, rounds }: PendingPlaces): number | undefined {
  let oldest: number | undefined;
  const see = ({ arrival, waitedAs = arrival }: Pick<PooledTx, 'arrival' | 'waitedAs'>): void => {
    // Issuances have no number.
    if (arrival > 0 && waitedAs < (oldest ?? Number.POSITIVE_INFINITY)) oldest = waitedAs;
  };
  for (const unit of pool.units()) unit.forEach(see);
  for (const set of druids.olderThan(Number.POSITIVE_INFINITY)) set.members.forEach(see);
  for (const round of rounds.values) round.transactions.forEach(see);
  return oldest;
}

/** The same question without the words: asked for every transaction that arrives. */
export function isPending(hash: string, { pool, druids, rounds }: PendingPlaces): boolean {
  return pool.get(hash) !== undefined || rounds.transaction(hash) !== undefined || druids.setOf(hash) !== undefined;
}
