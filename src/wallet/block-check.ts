/** Whether a block that a mempool node reports is what it says, as far as a wallet is concerned by it. */

import { blockHash, transactionHash, txsHash } from '../chain/hash.js';
import type { FullBlock, Transaction } from '../chain/types.js';
import { TesseraError } from '../lib/errors.js';

/**
 * Throws `protocol_violation` unless the header has the hash, the list is the one that the header binds, and every
 * transaction that `concerns` the wallet has the hash under which it stands. Names of genesis transactions are free texts.
 */
export function checkBlock(full: FullBlock, hash: string, concerns: (transaction: Transaction) => boolean): void {
  const { block, transactions, miningTransaction } = full;
  const isGenesis = block.header.bNum === 0n;
  if (blockHash(block.header) !== hash) throw wrong(hash, 'its header has another hash');
  if (transactions.length !== block.transactions.length)
    throw wrong(hash, 'its transactions are not the ones it lists');
  if (isGenesis) return;
  if (txsHash(block.transactions) !== block.header.txsHash) throw wrong(hash, 'its list is not the one of its header');
  const named: [string, Transaction][] = transactions.map((transaction, i) => [
    block.transactions[i] ?? '',
    transaction,
  ]);
  for (const [name, transaction] of [...named, [block.header.miningTxHash, miningTransaction] as const]) {
    if (concerns(transaction) && transactionHash(transaction) !== name)
      throw wrong(hash, `${name} is another transaction`);
  }
}

function wrong(hash: string, why: string): TesseraError {
  return new TesseraError('protocol_violation', `block ${hash.slice(0, 80)} is not what it says: ${why}`);
}
