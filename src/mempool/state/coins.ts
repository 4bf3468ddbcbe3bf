/** Changes of the unspent outputs: in memory and in the batch that keeps them, always together. */

import { encodeTxOut } from '../../chain/codec.js';
import type { OutPoint, TxOut } from '../../chain/types.js';
import type { KvBatch } from '../../db/kv.js';
import type { UtxoTable } from '../../ledger/utxo/utxo-table.js';
import { keys } from './layout.js';

export function insertCoin(utxos: UtxoTable, outPoint: OutPoint, txOut: TxOut, batch: KvBatch): void {
  utxos.insert(outPoint, txOut);
  batch.put(keys.utxo(outPoint), encodeTxOut(txOut));
}

/** Removes an output that must be there, and returns it. */
export function spendCoin(utxos: UtxoTable, outPoint: OutPoint, batch: KvBatch): TxOut {
  const slot = utxos.find(outPoint);
  if (slot === 0) throw new Error(`broken invariant: ${outPoint.tHash}:${outPoint.n} is spent but not unspent`);
  const txOut = utxos.output(slot);
  utxos.remove(slot);
  batch.del(keys.utxo(outPoint));
  return txOut;
}
