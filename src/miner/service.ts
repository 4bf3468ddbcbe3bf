/** Service of mining for the rest of the node. */

import type { BlockHeader } from '../chain/types.js';

export interface CurrentBlock {
  readonly header: BlockHeader;
  /** Raw units that the coinbase pays. */
  readonly reward: bigint;
}

export interface MinerService {
  /** The block being mined; null before the first template. */
  currentBlock(): CurrentBlock | null;
}

/** The addresses that rewards are paid to. */
export interface RewardAddresses {
  /** The address for the next coinbase; asked once for each template. */
  address(): Promise<string>;
}
