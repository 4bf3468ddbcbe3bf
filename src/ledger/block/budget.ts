/**
 * What the transactions of one block may be together: single transactions, bytes, signature operations
 * (docs/chain.md#blocks). The mempool cuts by the same numbers. Each transaction is counted before anything costly is done
 * with it.
 */

import { BLOCK_SIZE_IN_TX, MAX_BLOCK_SIGNATURE_OPERATIONS, MAX_BLOCK_TX_BYTES } from '../../chain/constants.js';
import { transactionSignatureOperations } from '../../chain/signature-operations.js';
import { isCoinbase } from '../../chain/transaction.js';
import { type BlockFault, blockFault } from './rules.js';
import type { VerifiedTransaction } from './verified-block.js';

export class BlockBudget {
  #singles = 0;
  #bytes = 0;
  #operations = 0;

  /** Counts a transaction in; what is wrong with the block then. Issuances are the genesis file's, and cost nothing. */
  take({ transaction, bytes }: Pick<VerifiedTransaction, 'transaction' | 'bytes'>): BlockFault | null {
    if (isCoinbase(transaction)) return null;
    if (transaction.druidInfo === null) this.#singles += 1;
    this.#bytes += bytes.length;
    this.#operations += transactionSignatureOperations(transaction);
    if (this.#singles > BLOCK_SIZE_IN_TX) return tooMuch('single transactions', BLOCK_SIZE_IN_TX);
    if (this.#bytes > MAX_BLOCK_TX_BYTES) return tooMuch('bytes of transactions', MAX_BLOCK_TX_BYTES);
    if (this.#operations <= MAX_BLOCK_SIGNATURE_OPERATIONS) return null;
    return tooMuch('signature operations', MAX_BLOCK_SIGNATURE_OPERATIONS);
  }
}

function tooMuch(of: string, most: number): BlockFault {
  return blockFault('size', `the block has more than ${most} ${of}`);
}
