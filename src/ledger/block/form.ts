/** What can be said about a transaction in a block without knowing what it spends; one function for mempool and storage. */

import { MAX_TRANSACTION_BYTES } from '../../chain/constants.js';
import { isCoinbase, isCreate } from '../../chain/transaction.js';
import type { Transaction } from '../../chain/types.js';
import { formFault, planCreateValidation } from '../../chain/validation.js';
import { fault, type Verdict } from '../../lib/fault.js';

const ISSUES = fault('transaction_rejected', 'Only a miner can make a coinbase transaction');

const TOO_LONG = fault('transaction_rejected', `Transaction has more than ${MAX_TRANSACTION_BYTES} bytes`);

/** What is wrong with a transaction of `bytes` bytes that somebody has submitted, apart from its scripts (decision B6). */
export function submittedFormFault(tx: Transaction, bytes: number): Verdict {
  if (bytes > MAX_TRANSACTION_BYTES) return TOO_LONG;
  if (isCoinbase(tx)) return ISSUES;
  return isCreate(tx) ? planCreateValidation(tx).fault : formFault(tx);
}
