/**
 * Puts the pool together again after something was taken out of it, or came back into it, from the middle: in the order of
 * arrival, each with what it claims and offers. What can no longer be confirmed stays out, and with it whatever spends it.
 */

import { decodeTransaction } from '../../chain/codec.js';
import type { Transaction } from '../../chain/types.js';
import type { Fault } from '../../lib/fault.js';
import type { Coins } from './coins.js';
import type { Pool, PooledTx } from './pool.js';

export interface ResettleModules {
  readonly pool: Pool;
  readonly coins: Coins;
}

/** A single transaction or a whole set that cannot be confirmed any more. */
export interface LostUnit {
  readonly unit: readonly PooledTx[];
  readonly fault: Fault;
}

/** The pool then holds what can stay of itself and of `returned`. `isUnchained`: nothing spends what waits. */
export function resettle(
  { pool, coins }: ResettleModules,
  returned: readonly PooledTx[],
  { isUnchained = false } = {},
): readonly LostUnit[] {
  const all = [...returned, ...[...pool.units()].flat()]
    .sort((a, b) => a.arrival - b.arrival)
    .map((pooled): Decoded => ({ pooled, tx: decodeTransaction(pooled.bytes) }));
  for (const { pooled, tx } of all) {
    pool.remove(pooled.hash);
    coins.release(tx);
    coins.withdraw(pooled.hash, tx);
  }
  const lost: LostUnit[] = [];
  for (const unit of unitsOf(all)) {
    const fault = enter(unit, coins, isUnchained);
    if (fault === null) for (const { pooled, tx } of unit) pool.add(pooled, tx);
    else lost.push({ unit: unit.map(({ pooled }) => pooled), fault });
  }
  return lost;
}

interface Decoded {
  readonly pooled: PooledTx;
  readonly tx: Transaction;
}

/** All members of a unit claim and offer, or none does. */
function enter(unit: readonly Decoded[], coins: Coins, isUnchained: boolean): Fault | null {
  for (const [i, { pooled, tx }] of unit.entries()) {
    const fault = coins.claim(tx, { ofBlocks: isUnchained });
    if (fault === null) {
      coins.offer(pooled.hash, tx);
      continue;
    }
    for (const member of unit.slice(0, i)) {
      coins.release(member.tx);
      coins.withdraw(member.pooled.hash, member.tx);
    }
    return fault;
  }
  return null;
}

/** Single transactions and whole sets, in the order of the first member. */
function unitsOf(all: readonly Decoded[]): Iterable<readonly Decoded[]> {
  const units = new Map<number, Decoded[]>();
  for (const one of all) {
    const place = one.pooled.unit === 0 ? one.pooled.arrival : one.pooled.unit;
    const unit = units.get(place);
    if (unit === undefined) units.set(place, [one]);
    else unit.push(one);
  }
  return units.values();
}
