/**
 * What the mempool demands of a transaction whatever the state is: cheap rules, checked before any signature is verified.
 */

import { MAX_TRANSACTION_BYTES } from '../../chain/constants.js';
import { policyFault } from '../../chain/policy.js';
import { signatureBudgetFault } from '../../chain/signature-operations.js';
import { hasDuplicateInputs, isCoinbase } from '../../chain/transaction.js';
import type { DruidInfo } from '../../chain/types.js';
import { DUPLICATE_INPUTS } from '../../chain/validation.js';
import { fault, type Verdict } from '../../lib/fault.js';
import type { CandidateTx } from '../state/acceptance.js';

/** Members of one DRUID set, so that a set always fits into one block. */
const MAX_DRUID_PARTICIPANTS = 64n;

/** Bytes of all members of a DRUID set together; each member may have its share. */
const MAX_DRUID_SET_BYTES = 2 * MAX_TRANSACTION_BYTES;
/** Expectations of one transaction: one on every participant. */
const MAX_DRUID_EXPECTATIONS = 64;

const COINBASE = fault('transaction_rejected', 'Only a miner can make a coinbase transaction');
const PARTICIPANTS = fault('transaction_rejected', `A DRUID set has 1 to ${MAX_DRUID_PARTICIPANTS} participants`);
const EXPECTATIONS = fault(
  'transaction_rejected',
  `A DRUID transaction has at most ${MAX_DRUID_EXPECTATIONS} expectations`,
);

/** The rules of form, in their order. */
export function candidateFault({ bytes, tx }: CandidateTx, minOutputAmount: bigint): Verdict {
  const maxBytes = tx.druidInfo === null ? MAX_TRANSACTION_BYTES : druidShare(tx.druidInfo);
  if (bytes.length > maxBytes) {
    return fault('transaction_rejected', `It has ${bytes.length} bytes; at most ${maxBytes} are allowed`);
  }
  if (isCoinbase(tx)) return COINBASE;
  const unwanted = policyFault(tx, minOutputAmount);
  if (unwanted !== null) return unwanted;
  const { participants, expectations } = tx.druidInfo ?? { participants: 1n, expectations: [] };
  if (participants < 1n || participants > MAX_DRUID_PARTICIPANTS) return PARTICIPANTS;
  if (expectations.length > MAX_DRUID_EXPECTATIONS) return EXPECTATIONS;
  if (hasDuplicateInputs(tx)) return DUPLICATE_INPUTS;
  return signatureBudgetFault(tx);
}

/** A set is examined as a whole when it is complete, so its members share what one examination may cost. */
function druidShare({ participants }: DruidInfo): number {
  if (participants < 1n || participants > MAX_DRUID_PARTICIPANTS) return MAX_TRANSACTION_BYTES;
  return Math.min(MAX_TRANSACTION_BYTES, Math.floor(MAX_DRUID_SET_BYTES / Number(participants)));
}
