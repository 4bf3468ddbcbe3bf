/** Effects of a transaction on the coins of the wallet, and the creations of items that it keeps. */

import { encodeTransaction } from '../../chain/codec.js';
import { isCreate } from '../../chain/transaction.js';
import type { OpenBlock, Transaction } from '../../chain/types.js';
import { creationKey } from '../layout.js';
import type { WriteBuffer } from '../write-buffer.js';
import type { Coin } from './coin.js';

export interface SpentCoin {
  readonly coin: Coin;
  readonly by: string | null;
}

export interface TakenTransaction {
  readonly hash: string;
  readonly transaction: Transaction;
  /** True for the mining transaction of its block. */
  readonly isReward: boolean;
  readonly spent: readonly SpentCoin[];
  readonly arrived: readonly Coin[];
}

/** An own transaction that can never be in the chain under its own hash, and the transaction in its place. */
export interface Displaced {
  readonly hash: string;
  readonly byHash: string;
  readonly by: Transaction;
}

/** True if the transaction with this number and hash changes nothing of the wallet. */
export type IsForeign = (place: number, hash: string) => boolean;

/** Own transactions whose inputs the block spends in another transaction. `inputsOf`: the wallet's coins that an own one spends. */
export function displacedIn(
  { block, transactions }: OpenBlock,
  inputsOf: (transaction: Transaction) => readonly Coin[],
  isForeign: IsForeign,
): readonly Displaced[] {
  const found = new Map<string, Displaced>();
  block.transactions.forEach((byHash, i) => {
    const by = isForeign(i, byHash) ? undefined : transactions.at(i);
    for (const coin of by ? inputsOf(by) : []) {
      if (by === undefined || coin.state !== 'pending' || coin.by === null || coin.by === byHash) continue;
      found.set(coin.by, { hash: coin.by, byHash, by });
    }
  });
  return [...found.values()];
}

export interface Made {
  readonly hash: string;
  readonly transaction: Transaction;
}

/** Stages a transaction that has created some of the coins: no other transaction has the metadata of their items. */
export function keepCreation({ hash, transaction }: Made, coins: readonly Coin[], writes: WriteBuffer): void {
  if (!isCreate(transaction) || !coins.some(({ assetId }) => assetId === hash)) return;
  writes.put(creationKey(hash), encodeTransaction(transaction));
}
