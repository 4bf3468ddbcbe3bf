/** What a transaction of the chain did to the coins of the wallet. */

import type { FullBlock, Transaction } from '../../chain/types.js';
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

/** Whether the transaction with this number and hash changes nothing of the wallet. */
export type IsForeign = (place: number, hash: string) => boolean;

/** Own transactions whose inputs the block spends by another one. `inputsOf`: the coins of the wallet that one spends. */
export function displacedIn(
  { block, transactions }: FullBlock,
  inputsOf: (transaction: Transaction) => readonly Coin[],
  isForeign: IsForeign = () => false,
): readonly Displaced[] {
  const found = new Map<string, Displaced>();
  block.transactions.forEach((byHash, i) => {
    const by = isForeign(i, byHash) ? undefined : transactions[i];
    for (const coin of by ? inputsOf(by) : []) {
      if (by === undefined || coin.state !== 'pending' || coin.by === null || coin.by === byHash) continue;
      found.set(coin.by, { hash: coin.by, byHash, by });
    }
  });
  return [...found.values()];
}
