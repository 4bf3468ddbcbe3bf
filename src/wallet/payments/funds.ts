/** Chooses the coins for a payment: the chain's first, then own change, the least deep first (docs/adr/0023-own-change.md). Takes none. */

import { TesseraError } from '../../lib/errors.js';
import { type Coin, TOKENS } from '../coins/coin.js';
import { type CoinList, type Selection, type SelectionLimits, selectCoins } from '../coins/coin-selection.js';
import type { CoinStore } from '../coins/coin-store.js';
import { MergedCoins } from '../coins/sorted-coins.js';

/** The least change of items, which are counted one by one: none is too small. */
const ITEM_DUST = 1n;

export interface FundsOptions {
  readonly limits: SelectionLimits;
  /** The least raw units of a token output: the payment, and its change. */
  readonly minOutputAmount: bigint;
  /** True when outputs of own transactions that no block has yet can be spent. */
  readonly spendOwnChange: boolean;
}

export interface Chosen {
  readonly coins: readonly Coin[];
  readonly change: bigint;
}

export class Funds {
  readonly #options: FundsOptions;
  readonly #coins: CoinStore;

  constructor(options: FundsOptions, coins: CoinStore) {
    this.#options = options;
    this.#coins = coins;
  }

  /** Throws `payment_refused` for less than an output may have, `insufficient_funds` for more than the wallet has. */
  check(assetId: string, amount: bigint): void {
    const least = this.#least(assetId);
    if (amount < least) {
      throw new TesseraError('payment_refused', `an output of this network has at least ${least} raw units`);
    }
    if (amount > this.#coins.totals(assetId).available) throw this.#shortfall(assetId, amount);
  }

  /** Coins for an amount. Throws `insufficient_funds`. */
  choose(assetId: string, amount: bigint): Chosen {
    const least = this.#least(assetId);
    const dust = assetId === TOKENS ? maxOf(this.#options.limits.dust, least) : ITEM_DUST;
    const limits = { ...this.#options.limits, dust };
    const isPayable = (selection: Selection<Coin>): selection is Extract<Selection<Coin>, Chosen> =>
      selection.kind === 'found' && (selection.change === 0n || selection.change >= least);
    let coins: CoinList<Coin> = [];
    let best: Selection<Coin> = { kind: 'short', total: 0n };
    for (const layer of this.#coins.layers(assetId)) {
      coins = coins.length === 0 ? layer : new MergedCoins(coins, layer);
      best = selectCoins(coins, amount, limits);
      if (isPayable(best)) return best;
    }
    throw this.#refusal(assetId, amount, best);
  }

  #least(assetId: string): bigint {
    return assetId === TOKENS ? this.#options.minOutputAmount : 1n;
  }

  #refusal(assetId: string, amount: bigint, selection: Selection<Coin>): TesseraError {
    if (selection.kind === 'short') return this.#shortfall(assetId, amount);
    if (selection.kind === 'found') {
      const { change } = selection;
      return new TesseraError(
        'insufficient_funds',
        `the change would be ${change} raw units, and an output of this network has at least ${this.#least(assetId)}: pay ${change} more, or less`,
      );
    }
    return new TesseraError(
      'insufficient_funds',
      `one transaction has at most ${this.#options.limits.maxInputs} inputs and could pay ${selection.reachable} of ${amount}: ` +
        'pay less, or pay yourself first to join small outputs',
      { details: { reachable: String(selection.reachable), needed: String(amount) } },
    );
  }

  #shortfall(assetId: string, needed: bigint): TesseraError {
    const { available, locked, unconfirmed } = this.#coins.totals(assetId);
    const what = assetId === TOKENS ? 'raw units' : `items ${assetId}`;
    const isWaited = unconfirmed > 0n && !this.#options.spendOwnChange;
    const wait = isWaited ? `, ${unconfirmed} of it until a block has own payments` : '';
    return new TesseraError(
      'insufficient_funds',
      `the payment needs ${needed} ${what}: available ${available}, locked ${locked}${wait}, short of ${needed - available}`,
      { details: { needed: String(needed), available: String(available), locked: String(locked) } },
    );
  }
}

function maxOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
