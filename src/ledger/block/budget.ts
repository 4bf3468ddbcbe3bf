/**
 * What the transactions of one block may be together: single transactions, bytes, signature operations
 * (docs/chain.md#blocks). The numbers are the network's, and the mempool cuts by them. Each transaction is counted before anything costly is done
 * with it.
 */

import type { BlockLimits } from '../../chain/block-rules.js';
import { transactionSignatureOperations } from '../../chain/signature-operations.js';
import { isCoinbase } from '../../chain/transaction.js';
import { type BlockFault, blockFault } from './rules.js';
import type { VerifiedTransaction } from './verified-block.js';

export class BlockBudget {
  readonly #limits: BlockLimits;
  #singles = 0;
  #bytes = 0;
  #operations = 0;

  constructor(limits: BlockLimits) {
    this.#limits = limits;
  }

  /** Counts a transaction in; what is wrong with the block then. Issuances are the genesis file's, and cost nothing. */
  take({ transaction, bytes }: Pick<VerifiedTransaction, 'transaction' | 'bytes'>): BlockFault | null {
    if (isCoinbase(transaction)) return null;
    if (transaction.druidInfo === null) this.#singles += 1;
    this.#bytes += bytes.length;
    this.#operations += transactionSignatureOperations(transaction);
    const { transactions, bytes: most, signatureOperations } = this.#limits;
    if (this.#singles > transactions) return tooMuch('single transactions', transactions);
    if (this.#bytes > most) return tooMuch('bytes of transactions', most);
    return this.#operations > signatureOperations ? tooMuch('signature operations', signatureOperations) : null;
  }
}

function tooMuch(of: string, most: number): BlockFault {
  return blockFault('size', `the block has more than ${most} ${of}`);
}
