/** The rule for the coinbase of a block (decision B9, docs/chain.md#coinbase), which the API calls the mining transaction. */

import { type Fault, fault, type Verdict } from '../lib/fault.js';
import { hasValidAddressLength } from './address.js';
import { COINBASE_MATURITY, REWARD_ISSUANCE_SHIFT, REWARD_SMOOTHING, TOTAL_TOKENS } from './constants.js';
import { type Era, OUR_ERA } from './eras.js';
import { isCoinbase } from './transaction.js';
import type { Transaction } from './types.js';

/** Fault of the coinbase of block `bNum`, which must pay `reward` raw units. The reference checks shape and amount only. */
export function coinbaseFault(tx: Transaction, bNum: bigint, reward: bigint, era = OUR_ERA): Verdict {
  const [input] = tx.inputs;
  const [output] = tx.outputs;
  if (!isCoinbase(tx) || input === undefined || output === undefined) {
    return refused('is not of the form of a coinbase: one input without outpoint, one output of tokens');
  }
  if (output.value.amount !== reward) return refused(`pays ${output.value.amount}, but the reward is ${reward}`);
  if (era.isOriginal) return null;
  if (tx.fees.length > 0 || tx.druidInfo !== null) return refused('has fees or DRUID info');
  const [number] = input.script;
  if (input.script.length !== 1 || number?.kind !== 'num' || number.value !== bNum) {
    return refused(`does not have the block number ${bNum}, and nothing else, as its script`);
  }
  const locktime = bNum + COINBASE_MATURITY;
  if (output.locktime !== locktime) return refused(`has the locktime ${output.locktime} instead of ${locktime}`);
  if (output.scriptPublicKey === null || !hasValidAddressLength(output.scriptPublicKey)) {
    return refused('pays an address of invalid length, or none');
  }
  return null;
}

function refused(what: string): Fault {
  return fault('block_refused', `the coinbase ${what}`);
}

/** The reward in raw units when `issued` raw units have been issued before. Several original mempool nodes share it. */
export function blockReward(issued: bigint, { mempoolNodes }: Pick<Era, 'mempoolNodes'> = OUR_ERA): bigint {
  const left = issued >= TOTAL_TOKENS ? 0n : TOTAL_TOKENS - issued;
  return ((left >> REWARD_ISSUANCE_SHIFT) + REWARD_SMOOTHING) / BigInt(mempoolNodes);
}
