/** The reward of a block (docs/chain.md#reward): a share of the supply that is not issued yet, and a fixed part. */

import { REWARD_ISSUANCE_SHIFT, REWARD_SMOOTHING, TOTAL_TOKENS } from './constants.js';

/** The reward in raw units when `issued` raw units have been issued before. */
export function blockReward(issued: bigint): bigint {
  return issued >= TOTAL_TOKENS
    ? REWARD_SMOOTHING
    : ((TOTAL_TOKENS - issued) >> REWARD_ISSUANCE_SHIFT) + REWARD_SMOOTHING;
}
