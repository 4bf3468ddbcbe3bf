/**
 * What the mempool does not admit although the rules of the chain allow it (decision B16). Blocks with such transactions are
 * valid, so that a chain that has some from an earlier time can still be copied.
 */

import { type Fault, fault, type Verdict } from '../lib/fault.js';
import type { Transaction, TxOut } from './types.js';

const ZERO_AMOUNT: Fault = fault('transaction_rejected', 'An output or fee has an amount of zero');

/** Every node must store each output, so one has at least `minOutputAmount` raw units of tokens (decision B18). */
export function policyFault({ outputs, fees }: Transaction, minOutputAmount: bigint): Verdict {
  if (outputs.some(isZero) || fees.some(isZero)) return ZERO_AMOUNT;
  const isSmall = ({ value }: TxOut): boolean => value.kind === 'token' && value.amount < minOutputAmount;
  const small = outputs.find(isSmall) ?? fees.find(isSmall);
  if (small === undefined) return null;
  const message = `An output or fee has ${small.value.amount} raw units; this network asks for at least ${minOutputAmount}`;
  return fault('transaction_rejected', message);
}

function isZero({ value }: TxOut): boolean {
  return value.amount === 0n;
}
