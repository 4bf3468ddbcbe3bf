/** Service of mining for the rest of the node. */

import type { BlockHeader, Transaction } from '../chain/types.js';

export interface CurrentBlock {
  readonly header: BlockHeader;
  /** Raw units. */
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

/** A proof that the mempool accepted for the draw. `block.mined` tells whether it has won. */
export interface AcceptedProof {
  readonly height: number;
  readonly coinbase: Transaction;
  readonly coinbaseHash: string;
  readonly address: string;
  /** Raw units. */
  readonly reward: bigint;
}
