/** What a transaction of the chain did to the coins of the wallet. */

import type { Transaction } from '../../chain/types.js';
import type { Coin } from './coin.js';

/** A coin of the wallet that a transaction spends. */
export interface SpentCoin {
  readonly coin: Coin;
  /** The own transaction that had taken it, else null. */
  readonly by: string | null;
}

export interface TakenTransaction {
  readonly hash: string;
  readonly transaction: Transaction;
  /** The mining transaction of its block. */
  readonly isReward: boolean;
  readonly spent: readonly SpentCoin[];
  /** Coins that the wallet did not have before, and did not expect. */
  readonly arrived: readonly Coin[];
}

/** An own transaction that can never be in the chain under its own hash, and the one that has taken its place. */
export interface Displaced {
  readonly hash: string;
  readonly byHash: string;
  readonly by: Transaction;
}
