/**
 * What a block pays its miner (docs/chain.md#reward): a share of what is not issued yet, and a fixed part that never ends.
 */

import { REWARD_ISSUANCE_SHIFT, REWARD_SMOOTHING, TOTAL_TOKENS } from './constants.js';

/** The reward in raw units when `issued` raw units have been issued before. */
export function blockReward(issued: bigint): bigint {
  return issued >= TOTAL_TOKENS
    ? REWARD_SMOOTHING
    : ((TOTAL_TOKENS - issued) >> REWARD_ISSUANCE_SHIFT) + REWARD_SMOOTHING;
}
