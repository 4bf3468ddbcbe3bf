/** The verdict on a whole transaction: plan and checks in one, as the reference's `tx_is_valid` gives it. */

import type { Transaction } from '../../src/chain/types.js';
import {
  INVALID_SCRIPT,
  planCreateValidation,
  planValidation,
  runCheck,
  type UtxoLookup,
  type ValidationPlan,
} from '../../src/chain/validation.js';
import type { Verdict } from '../../src/lib/fault.js';

export function transactionFault(tx: Transaction, currentBlock: bigint, lookup: UtxoLookup): Verdict {
  return faultOf(planValidation(tx, currentBlock, lookup));
}

/** As `transactionFault`, for item creations. */
export function createFault(tx: Transaction): Verdict {
  return faultOf(planCreateValidation(tx));
}

function faultOf({ checks, fault }: ValidationPlan): Verdict {
  return checks.every(runCheck) ? fault : INVALID_SCRIPT;
}
