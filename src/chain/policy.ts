/**
 * What the mempool does not take although the rules of the chain allow it (decision B16). Blocks that contain such
 * transactions are valid: a chain that has some from an earlier time can still be copied.
 */

import { type Fault, fault, type Verdict } from '../lib/fault.js';
import type { Transaction, TxOut } from './types.js';

const ZERO_AMOUNT: Fault = fault('transaction_rejected', 'An output or fee has an amount of zero');

/** An output of nothing costs every node its keeping and is worth nothing to anybody. */
export function policyFault({ outputs, fees }: Transaction): Verdict {
  return outputs.some(isZero) || fees.some(isZero) ? ZERO_AMOUNT : null;
}

function isZero({ value }: TxOut): boolean {
  return value.amount === 0n;
}
