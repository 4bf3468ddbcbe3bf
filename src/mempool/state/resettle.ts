/** Takes transactions out of the pool that became impossible, or that an earlier version admitted and no block may hold. */

import { decodeTransaction } from '../../chain/codec.js';
import type { Transaction } from '../../chain/types.js';
import type { KvBatch } from '../../db/kv.js';
import type { Fault } from '../../lib/fault.js';
import type { Pieces } from '../../lib/pieces.js';
import type { TxStatus } from '../service.js';
import { faultFor } from './acceptance.js';
import type { Coins } from './coins.js';
import type { FinalStatuses } from './final-statuses.js';
import { keys } from './layout.js';
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

/** Builds the pool again from itself and `returned`; units that cannot stay go to `lost`. It changes with the last piece only. */
export function* resettle(
  { pool, coins }: ResettleModules,
  returned: readonly PooledTx[],
  lost: (unit: LostUnit) => void,
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
    // Units are decoded one at a time: all at once would take several times the memory of the pool.
    const unit = pooled.map((one): Decoded => ({ pooled: one, tx: decodeTransaction(one.bytes) }));
    const fault = enter(unit, coins);
    if (fault === null) for (const one of unit) settled.add(one.pooled, one.tx);
    else lost({ unit: pooled, fault });
  }
  pool.become(settled);
}

interface Decoded {
  readonly pooled: PooledTx;
  readonly tx: Transaction;
}

/** Claims and offers for all members of a unit, or for none of them. */
function enter(unit: readonly Decoded[], coins: Coins): Fault | null {
  for (const [i, { pooled, tx }] of unit.entries()) {
    const fault = coins.claim(tx);
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

export interface UnlawfulModules {
  readonly pool: Pool;
  readonly coins: Coins;
  readonly statuses: FinalStatuses;
}

/** Rejects unlawful transactions with the rule, DRUID sets as a whole, and all that spends from them. `time` in unix seconds. */
export function* dropUnlawful({ pool, coins, statuses }: UnlawfulModules, time: number, batch: KvBatch): Pieces<void> {
  const rejected = new Map<string, TxStatus>();
  const reject = (tx: PooledTx, { message }: Fault): void => {
    batch.del(keys.pooled(tx.arrival));
    const status: TxStatus = { status: 'Rejected', timestamp: tx.time, additionalInfo: message };
    rejected.set(tx.hash, status);
    statuses.show(tx.hash, status);
    statuses.noteRejected(tx.hash, message);
  };
  for (const { unit, culprit, fault } of pool.unlawful()) {
    yield;
    for (const tx of unit) {
      const decoded = decodeTransaction(tx.bytes);
      pool.remove(tx.hash);
      coins.release(decoded);
      coins.withdraw(tx.hash, decoded);
      reject(tx, faultFor(tx.hash, { fault, culprit }));
    }
  }
  if (rejected.size === 0) return;
  yield* resettle({ pool, coins }, [], ({ unit, fault }) => {
    for (const tx of unit) reject(tx, fault);
  });
  yield* statuses.decideInPieces(rejected, time, batch);
}
