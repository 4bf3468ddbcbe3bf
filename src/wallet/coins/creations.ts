/** Creations of items: no other transaction has their metadata, for what passes items on must have none. */

import { encodeTransaction } from '../../chain/codec.js';
import { isCreate } from '../../chain/transaction.js';
import type { Transaction } from '../../chain/types.js';
import { creationKey } from '../layout.js';
import type { WriteBuffer } from '../write-buffer.js';
import type { Coin } from './coin.js';

/** An own transaction by its hash. */
export interface Made {
  readonly hash: string;
  readonly transaction: Transaction;
}

/** Stages the transaction when it has created some of the coins, and given them its own name. */
export function keepCreation({ hash, transaction }: Made, coins: readonly Coin[], writes: WriteBuffer): void {
  if (!isCreate(transaction) || !coins.some(({ assetId }) => assetId === hash)) return;
  writes.put(creationKey(hash), encodeTransaction(transaction));
}
