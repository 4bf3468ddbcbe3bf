/**
 * Removing transactions from the pool that no block may hold. The mempool admits none, but a pool may hold some that an
 * earlier version admitted under laxer rules; storage would refuse a block with one of them forever.
 */

import { decodeTransaction } from '../../chain/codec.js';
import type { KvBatch } from '../../db/kv.js';
import type { Fault } from '../../lib/fault.js';
import type { Pieces } from '../../lib/pieces.js';
import type { TxStatus } from '../service.js';
import { faultFor } from './acceptance.js';
import type { Coins } from './coins.js';
import type { FinalStatuses } from './final-statuses.js';
import { keys } from './layout.js';
import type { Pool, PooledTx } from './pool.js';
import { resettle } from './resettle.js';

export interface UnlawfulModules {
  readonly pool: Pool;
  readonly coins: Coins;
  readonly statuses: FinalStatuses;
}

/**
 * Rejects them with the rule, a DRUID set as a whole, and so what spends from them; what they claimed is free again. `time`
 * is in unix seconds.
 */
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
