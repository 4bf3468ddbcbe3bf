/** The records of a block and its transactions, as one batch adds them to the archive. */

import type { KvBatch } from '../../db/kv.js';
import type { VerifiedBlock } from '../../ledger/block/verified-block.js';
import { utf8 } from '../../lib/bytes.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { blockKey, heightKey, indexKey, LAST_KEY, transactionKey } from './layout.js';
import { encodeBlockRecord, encodeLast, encodeTransactionRecord } from './records.js';

/** `blockBytes`: the encoded block, without its transactions. It becomes the last one. */
export async function putBlock(
  { hash, height, issued, transactions }: VerifiedBlock,
  blockBytes: Uint8Array,
  batch: KvBatch,
  slices: TimeSlices,
): Promise<void> {
  for (const [txNum, { hash: txHash, bytes }] of transactions.entries()) {
    if (slices.isUsedUp) await slices.turn();
    batch.put(transactionKey(txHash), encodeTransactionRecord(height, txNum, bytes));
    batch.put(indexKey(height, txNum), utf8(txHash));
  }
  batch.put(blockKey(hash), encodeBlockRecord(issued, blockBytes));
  batch.put(heightKey(height), utf8(hash));
  batch.put(LAST_KEY, encodeLast(height, hash));
}
