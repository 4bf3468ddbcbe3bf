/** The rule for the mining transaction of a block (decision B9, chain.md §7.1): the one that creates its reward. */

import { hasValidAddressLength } from './address.js';
import { COINBASE_MATURITY } from './constants.js';
import { isCoinbase } from './transaction.js';
import type { Transaction } from './types.js';

/**
 * What is wrong with the mining transaction of block `bNum` that must pay `reward` raw units; null when nothing is. The
 * reference looks at shape and amount only; `Num(b_num)` and the locktime are checked too.
 */
export function coinbaseFault(tx: Transaction, bNum: bigint, reward: bigint): string | null {
  const [input] = tx.inputs;
  const [output] = tx.outputs;
  if (!isCoinbase(tx) || input === undefined || output === undefined) {
    return 'it is not of the form of a coinbase: one input without outpoint, one output of tokens';
  }
  const [number] = input.script;
  if (input.script.length !== 1 || number?.kind !== 'num' || number.value !== bNum) {
    return `its script is not the block number ${bNum}`;
  }
  if (output.value.amount !== reward) return `it pays ${output.value.amount} and the reward is ${reward}`;
  if (output.locktime !== bNum + COINBASE_MATURITY) return `its locktime is not ${bNum + COINBASE_MATURITY}`;
  if (output.scriptPublicKey === null || !hasValidAddressLength(output.scriptPublicKey)) {
    return 'its address has an invalid length';
  }
  if (tx.fees.length > 0 || tx.druidInfo !== null) return 'it has fees or DRUID info';
  return null;
}
