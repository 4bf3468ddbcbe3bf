/** Figures of the wallet's coins for the API. In pieces: a wallet may have a hundred thousand. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { inPieces, type Pieces } from '../../lib/pieces.js';
import type { WalletInfo, WalletOutpoint } from '../service.js';
import type { Coin } from './coin.js';
import type { CoinStore } from './coin-store.js';

/** Coins of one piece: about a millisecond. */
const PIECE_COINS = 1_024;

/** `spent` wins over `page`; without both, everything unspent (decision V12). */
export interface WalletInfoOptions {
  readonly page?: number;
  readonly spent?: boolean;
}

export async function walletInfo(coins: CoinStore, { page, spent }: WalletInfoOptions): Promise<WalletInfo> {
  const list = spent === true ? await coins.spent() : coins.unspent(page);
  const { running, available, locked } = coins.totals();
  const items = coins.items();
  const addresses = await inPieces(groupByAddress(list), () => nextTurn());
  return { addresses, running, available, locked, items };
}

/** The coins of a list by owning address. */
export function* groupByAddress(
  list: readonly Pick<Coin, 'address' | 'outPoint' | 'value'>[],
): Pieces<Map<string, WalletOutpoint[]>> {
  const groups = new Map<string, WalletOutpoint[]>();
  for (const [i, { address, outPoint, value }] of list.entries()) {
    if (i > 0 && i % PIECE_COINS === 0) yield;
    const group = groups.get(address);
    if (group) group.push({ outPoint, value });
    else groups.set(address, [{ outPoint, value }]);
  }
  return groups;
}
