/** Payments of the wallet to itself that join coins: small ones if there are too many, and those that its words do not cover. */

import { errorMessage } from '../../lib/errors.js';
import { Mutex } from '../../lib/mutex.js';
import { type Coin, TOKENS } from '../coins/coin.js';
import { lowerBound } from '../coins/coin-selection.js';
import type { WalletParts } from '../modules.js';
import type { FundsOptions } from './funds.js';
import type { OwnTransaction } from './outgoing.js';
import type { Payments } from './payments.js';

/** The most merges under way at once: a wallet with thousands of rewards shrinks by a few thousand coins in each block. */
const MAX_MERGES = 4;

export interface MergesOptions extends FundsOptions {
  /** Number of spendable token outputs above which coins are merged; null for never. */
  readonly aggregateAbove: number | null;
}

export interface MergesModules extends Pick<WalletParts, 'coins' | 'keys' | 'logger' | 'outgoing' | 'writes'> {
  readonly payments: Payments;
}

export class Merges {
  readonly #options: MergesOptions;
  readonly #modules: MergesModules;
  readonly #merging = new Mutex();

  constructor(options: MergesOptions, modules: MergesModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Joins the smallest token coins in the background when there are more than the threshold. */
  later(): void {
    const { writes, logger } = this.#modules;
    void this.#merging.run(async () => {
      try {
        if (!writes.isClosed) await this.#merge();
      } catch (error) {
        logger.warn({ error: errorMessage(error) }, 'small outputs could not be merged; the next block tries again');
      }
    });
  }

  settled(): Promise<void> {
    return this.#merging.run(() => undefined);
  }

  /** Pays coins at addresses that the words do not cover to one that they cover. Throws `wallet_write_failed`. */
  async sweep(): Promise<readonly OwnTransaction[]> {
    const { coins, payments, writes } = this.#modules;
    writes.checkRoom();
    const made: OwnTransaction[] = [];
    for (const assetId of [TOKENS, ...coins.items().keys()]) {
      const sweepOnce = () => payments.join(assetId, () => this.#uncovered(assetId));
      for (let next = await sweepOnce(); next !== undefined; next = await sweepOnce()) made.push(next);
    }
    return made;
  }

  async #merge(): Promise<void> {
    const { aggregateAbove } = this.#options;
    if (aggregateAbove === null) return;
    while (this.#mergeable().count > Math.max(aggregateAbove, 1) && this.#underWay() < MAX_MERGES) {
      const merge = await this.#modules.payments.join(TOKENS, () => this.#smallest(aggregateAbove));
      if (merge === undefined) break;
    }
  }

  #underWay(): number {
    let count = 0;
    for (const { kind } of this.#modules.outgoing.inFlight()) if (kind === 'merge') count += 1;
    return count;
  }

  /** Token coins worth spending as an input, ascending: coins without value stay where they are. */
  #mergeable() {
    const coins = this.#modules.coins.spendable(TOKENS);
    const first = lowerBound(coins, 1n);
    return { coins, first, count: coins.length - first };
  }

  #smallest(threshold: number): readonly Coin[] {
    const { coins, first, count: mergeable } = this.#mergeable();
    // The largest coins stay, so that the wallet can pay while the merge is on its way.
    const count = Math.min(this.#options.limits.maxInputs, mergeable - Math.floor(threshold / 2));
    return count < 2 ? [] : coins.slice(first, first + count);
  }

  /** Coins that the words do not cover, as many as fit into one transaction; none if their sum is too small for an output. */
  #uncovered(assetId: string): readonly Coin[] {
    const { coins, keys } = this.#modules;
    const { limits, minOutputAmount } = this.#options;
    const uncovered = coins
      .spendable(assetId)
      .slice()
      .filter(({ amount, address }) => amount > 0n && !keys.isCovered(address));
    // The largest coins come first, and make up for those that are too small for an output of this network.
    const largest = uncovered.reverse().slice(0, limits.maxInputs);
    const total = largest.reduce((sum, { amount }) => sum + amount, 0n);
    return total < (assetId === TOKENS ? minOutputAmount : 1n) ? [] : largest;
  }
}
