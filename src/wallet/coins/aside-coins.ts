/** Coins that are kept for a trade: the wallet owns them, and spends them for nothing else. */

import { spentOutPoints } from '../../chain/transaction.js';
import type { OutPoint, Transaction } from '../../chain/types.js';
import { type Coin, type CoinState, freed } from './coin.js';

export interface AsideCoinsModules {
  readonly at: (outPoints: readonly OutPoint[]) => readonly Coin[];
  /** Changes the state of a coin and stages its record. */
  readonly move: (coin: Coin, state: CoinState, by: string | null) => void;
}

export class AsideCoins {
  readonly #modules: AsideCoinsModules;

  constructor(modules: AsideCoinsModules) {
    this.#modules = modules;
  }

  /** Sets coins aside that are free, reserved, or taken by a payment that is being undone. */
  keep(outPoints: readonly OutPoint[], trade: string): void {
    for (const coin of this.#modules.at(outPoints)) this.#modules.move(coin, 'aside', trade);
  }

  /** Coins at these outpoints that are kept for the trade. */
  of(outPoints: readonly OutPoint[], trade: string): readonly Coin[] {
    return this.#modules.at(outPoints).filter(({ state, by }) => state === 'aside' && by === trade);
  }

  giveBack(outPoints: readonly OutPoint[], trade: string): void {
    for (const coin of this.of(outPoints, trade)) {
      const { state, by } = freed(coin);
      this.#modules.move(coin, state, by);
    }
  }

  takenBy({ hash, transaction }: { readonly hash: string; readonly transaction: Transaction }): readonly Coin[] {
    return this.#modules.at(spentOutPoints(transaction)).filter(({ state, by }) => state === 'pending' && by === hash);
  }
}
