/**
 * Removing transactions from the pool that no block may hold. The mempool admits none, but a pool may hold some that an
 * earlier version admitted under laxer rules; storage would refuse a block with one of them forever.
 */

import { decodeTransaction } from '../../chain/codec.js';
import { spentOutPoints } from '../../chain/transaction.js';
import type { KvBatch } from '../../db/kv.js';
import type { UtxoTable } from '../../ledger/utxo/utxo-table.js';
import type { TxStatus } from '../service.js';
import { faultFor } from './acceptance.js';
import type { FinalStatuses } from './final-statuses.js';
import { keys } from './layout.js';
import type { Pool } from './pool.js';

export interface UnlawfulModules {
  readonly pool: Pool;
  readonly utxos: UtxoTable;
  readonly statuses: FinalStatuses;
  /** Notes a transaction that was accepted and is rejected, for the events of the node. */
  readonly noteRejected: (hash: string, rule: string) => void;
}

/** They are Rejected with the rule, a DRUID set as a whole; what they claimed is free again. `time` is in unix seconds. */
export function dropUnlawful(
  { pool, utxos, statuses, noteRejected }: UnlawfulModules,
  time: number,
  batch: KvBatch,
): void {
  const rejected = new Map<string, TxStatus>();
  for (const { unit, culprit, fault } of pool.unlawful()) {
    for (const tx of unit) {
      pool.remove(tx.hash);
      batch.del(keys.pooled(tx.arrival));
      for (const outPoint of spentOutPoints(decodeTransaction(tx.bytes))) {
        const slot = utxos.find(outPoint);
        if (slot !== 0) utxos.setClaimed(slot, false);
      }
      const { message } = faultFor(tx.hash, { fault, culprit });
      rejected.set(tx.hash, { status: 'Rejected', timestamp: tx.time, additionalInfo: message });
      noteRejected(tx.hash, message);
    }
  }
  if (rejected.size > 0) statuses.decide(rejected, time, batch);
}
