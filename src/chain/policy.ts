/**
 * Policy of the mempool: transactions that it does not admit although the rules of the chain allow them (decision B16).
 * Blocks with such transactions are valid, so that a chain that has some from an earlier time can still be copied.
 */

import { type Fault, fault, type Verdict } from '../lib/fault.js';
import type { Transaction, TxOut } from './types.js';

const ZERO_AMOUNT: Fault = fault('transaction_rejected', 'An output or fee has an amount of zero');
const LOCKED_TRADE: Fault = fault('transaction_rejected', 'A DRUID transaction has an output with a locktime');

/**
 * Every node must store each output, so one has at least `minOutputAmount` raw units of tokens (decision B18). Expectations
 * of a DRUID set do not cover locktimes: who agreed to be paid could be paid with what stays locked for ever.
 */
export function policyFault({ outputs, fees, druidInfo }: Transaction, minOutputAmount: bigint): Verdict {
  if (outputs.some(isZero) || fees.some(isZero)) return ZERO_AMOUNT;
  if (druidInfo !== null && outputs.some(({ locktime }) => locktime !== 0n)) return LOCKED_TRADE;
  const isSmall = ({ value }: TxOut): boolean => value.kind === 'token' && value.amount < minOutputAmount;
  const small = outputs.find(isSmall) ?? fees.find(isSmall);
  if (small === undefined) return null;
  const message = `An output or fee has ${small.value.amount} raw units; this network asks for at least ${minOutputAmount}`;
  return fault('transaction_rejected', message);
}

function isZero({ value }: TxOut): boolean {
  return value.amount === 0n;
}
