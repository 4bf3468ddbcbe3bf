/** Items that a block creates, by genesis hash (decision V21). */

import { isCreate } from '../../chain/transaction.js';
import type { OutPoint } from '../../chain/types.js';
import type { VerifiedBlock } from '../../ledger/block/verified-block.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import type { ItemRecord } from './records.js';

/** Transactions of a block that one piece goes through. */
const PIECE_TRANSACTIONS = 1_024;

/**
 * The item records after a block: those that it adds or changes. An output without genesis hash founds an item named by
 * its transaction; one with a genesis hash (the shared default one) adds to that item.
 */
export async function itemsAfter(
  block: VerifiedBlock,
  before: (genesisHash: string) => Promise<ItemRecord | undefined>,
  isUnspent: (outPoint: OutPoint) => Promise<boolean>,
  slices: Pick<TimeSlices, 'turn'>,
): Promise<Map<string, ItemRecord>> {
  const after = new Map<string, ItemRecord>();
  const done = new Set<string>();
  for (const [i, { hash, transaction }] of block.transactions.entries()) {
    if (i % PIECE_TRANSACTIONS === 0) await slices.turn();
    const [output] = transaction.outputs;
    if (!isCreate(transaction) || output?.value.kind !== 'item') continue;
    const { amount, metadata } = output.value;
    const genesisHash = output.value.genesisHash ?? hash;
    const known = after.get(genesisHash) ?? (await before(genesisHash));
    // Original nodes let an item be created again by the same bytes: if its output is unspent, that adds nothing.
    if (done.has(hash) || (known !== undefined && (await isUnspent({ tHash: hash, n: 0 })))) continue;
    done.add(hash);
    const founded = { height: block.height, txHash: hash, metadata, creatorAddress: output.scriptPublicKey };
    after.set(genesisHash, { ...(known ?? founded), totalAmount: (known?.totalAmount ?? 0n) + amount });
  }
  return after;
}
