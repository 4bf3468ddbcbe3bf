/** Checks of a transaction in a block that need no knowledge of what it spends; one function for mempool and storage. */

import { MAX_TRANSACTION_BYTES } from '../../chain/constants.js';
import { type Era, OUR_ERA } from '../../chain/eras.js';
import { isCoinbase, isCreate } from '../../chain/transaction.js';
import type { Transaction } from '../../chain/types.js';
import { formFault, planCreateValidation } from '../../chain/validation.js';
import { fault, type Verdict } from '../../lib/fault.js';

const ISSUES = fault('transaction_rejected', 'Only a miner can make a coinbase transaction');

const TOO_LONG = fault('transaction_rejected', `Transaction has more than ${MAX_TRANSACTION_BYTES} bytes`);

/** Fault of a submitted transaction of `bytes` bytes, or of one in a block of the era, apart from its scripts (decision B6). */
export function submittedFormFault(tx: Transaction, bytes: number, era: Era = OUR_ERA): Verdict {
  if (bytes > MAX_TRANSACTION_BYTES && !era.isOriginal) return TOO_LONG;
  if (isCoinbase(tx)) return ISSUES;
  return isCreate(tx) ? planCreateValidation(tx, era).fault : formFault(tx, era);
}
