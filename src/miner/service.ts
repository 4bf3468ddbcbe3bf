/** What mining offers to the rest of the node. */

import type { BlockHeader } from '../chain/types.js';

export interface CurrentBlock {
  readonly header: BlockHeader;
  /** Raw units. */
  readonly reward: bigint;
}

export interface MinerService {
  /** The block being mined; null when none was received yet. */
  currentBlock(): CurrentBlock | null;
}
