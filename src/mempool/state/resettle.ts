/**
 * Puts the pool together again after something was taken out of it, or came back into it, from the middle: in the order of
 * arrival, each with what it claims and offers. What can no longer be confirmed stays out, and with it whatever spends it.
 */

import { decodeTransaction } from '../../chain/codec.js';
import type { Transaction } from '../../chain/types.js';
import type { Fault } from '../../lib/fault.js';
import type { Pieces } from '../../lib/pieces.js';
import type { Coins } from './coins.js';
import { Pool, type PooledTx } from './pool.js';

export interface ResettleModules {
  readonly pool: Pool;
  readonly coins: Coins;
}

/** A single transaction or a whole set that cannot be confirmed any more. */
export interface LostUnit {
  readonly unit: readonly PooledTx[];
  readonly fault: Fault;
}

/**
 * The pool then holds what can stay of itself and of `returned`; `lost` is called for what cannot. In pieces: until the last of them
 * the pool holds what it held, so that whatever waits is known to wait. `isUnchained`: nothing spends what waits.
 */
export function* resettle(
  { pool, coins }: ResettleModules,
  returned: readonly PooledTx[],
  lost: (unit: LostUnit) => void,
  { isUnchained = false } = {},
): Pieces<void> {
  const all = [...returned, ...[...pool.units()].flat()].sort((a, b) => a.arrival - b.arrival);
  for (const { hash, bytes } of all) {
    yield;
    const tx = decodeTransaction(bytes);
    coins.release(tx);
    coins.withdraw(hash, tx);
  }
  const settled = new Pool();
  for (const pooled of unitsOf(all)) {
    yield;
    // Decoded once more: all of them at once would take several times the memory of the pool.
    const unit = pooled.map((one): Decoded => ({ pooled: one, tx: decodeTransaction(one.bytes) }));
    const fault = enter(unit, coins, isUnchained);
    if (fault === null) for (const one of unit) settled.add(one.pooled, one.tx);
    else lost({ unit: pooled, fault });
  }
  pool.become(settled);
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
function unitsOf(all: readonly PooledTx[]): Iterable<readonly PooledTx[]> {
  const units = new Map<number, PooledTx[]>();
  for (const one of all) {
    const place = one.unit === 0 ? one.arrival : one.unit;
    const unit = units.get(place);
    if (unit === undefined) units.set(place, [one]);
    else unit.push(one);
  }
  return units.values();
}
