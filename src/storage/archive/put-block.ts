/** The records of a block of data format 2, as new blocks are kept while older ones are brought over to the segments. */

import { encodeU64 } from '../../db/keys.js';
import type { KvBatch } from '../../db/kv.js';
import type { VerifiedBlock } from '../../ledger/block/verified-block.js';
import { utf8 } from '../../lib/bytes.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { blockAtKey, blockKey, heightKey, NAMES_EACH, namesKey, transactionKey } from './layout.js';
import { encodeBlockRecord, encodeNames, encodeTransactionRecord } from './records.js';

/** `blockBytes`: the encoded block, without its transactions. */
export async function putBlock(
  { hash, height, issued, transactions }: VerifiedBlock,
  blockBytes: Uint8Array,
  batch: KvBatch,
  slices: TimeSlices,
): Promise<void> {
  for (const [txNum, { hash: txHash, bytes, transaction }] of transactions.entries()) {
    if (slices.isUsedUp) await slices.turn();
    batch.put(transactionKey(txHash), encodeTransactionRecord(height, txNum, bytes, transaction));
  }
  for (let first = 0; first < transactions.length; first += NAMES_EACH) {
    if (slices.isUsedUp) await slices.turn();
    const names = transactions.slice(first, first + NAMES_EACH).map((one) => one.hash);
    batch.put(namesKey(height, first), encodeNames(names));
  }
  batch.put(blockAtKey(height), encodeBlockRecord(issued, blockBytes));
  batch.put(blockKey(hash), encodeU64(height));
  batch.put(heightKey(height), utf8(hash));
}
