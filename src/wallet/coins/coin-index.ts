/** The coins of the wallet in memory: by outpoint and address, sums, pages, and which can be spent. Knows no disk, of blocks only the height. */

import { shownTotal } from '../../chain/assets.js';
import { outPointKey } from '../../chain/transaction.js';
import type { OutPoint } from '../../chain/types.js';
import { compareUtf8 } from '../../lib/bytes.js';
import type { Pieces } from '../../lib/pieces.js';
import { type Coin, type CoinState, compareCoins, isListed, TOKENS } from './coin.js';
import type { CoinList } from './coin-selection.js';
import { SortedCoins } from './sorted-coins.js';

/** Number of outpoints in one page (decision V12). */
const PAGE_SIZE = 25;

/** Sums in raw units. `running = available + locked`; no payment can spend the locked part yet. */
export interface CoinTotals {
  readonly running: bigint;
  readonly available: bigint;
  readonly locked: bigint;
  /** Part of `running` in outputs of own transactions, mostly change, that no block has yet. */
  readonly unconfirmed: bigint;
}

export interface CoinIndexOptions {
  /** True when outputs of own transactions that no block has yet can be spent. */
  readonly spendOwnChange: boolean;
}

export class CoinIndex {
  readonly #coins = new Map<string, Coin>();
  readonly #byAddress = new Map<string, Set<Coin>>();
  readonly #options: CoinIndexOptions;
  readonly #spendable = new Map<string, Map<number, SortedCoins>>();
  /** Depths of coins that no block has yet: the length of the longest chain of own transactions without a block that leads to each. */
  readonly #depths = new Map<Coin, number>();
  /** False when some coins may be less deep than `#depths` says. */
  #areMeasured = true;
  readonly #lockedUntil = new Map<bigint, Set<Coin>>();
  readonly #running = new Map<string, bigint>();
  readonly #available = new Map<string, bigint>();
  readonly #expected = new Map<string, bigint>();
  readonly #listed = SortedCoins.filling(compareCoins);
  #isFilling = true;
  #height: number;

  /** `height`: last block, -1 before the first. Until `filled` has run, coins can only be put into the index. */
  constructor(height: number, options: CoinIndexOptions) {
    this.#height = height;
    this.#options = options;
  }

  /** Ends the filling: all coins that the wallet has had so far are in the index. */
  *filled(): Pieces<void> {
    this.#isFilling = false;
    const layers = [...this.#spendable.values()].flatMap((byDepth) => [...byDepth.values()]);
    for (const coins of [this.#listed, ...layers]) yield* coins.filled();
    this.#areMeasured = false;
  }

  get(outPoint: OutPoint): Coin | undefined {
    return this.#coins.get(outPointKey(outPoint));
  }

  holds(coin: Coin): boolean {
    return this.#coins.get(coin.key) === coin;
  }

  values(): Iterable<Coin> {
    return this.#coins.values();
  }

  at(address: string): Iterable<Coin> {
    return this.#byAddress.get(address) ?? [];
  }

  isUsed(address: string): boolean {
    return this.#byAddress.has(address);
  }

  totals(assetId = TOKENS): CoinTotals {
    const running = this.#running.get(assetId) ?? 0n;
    const available = this.#available.get(assetId) ?? 0n;
    return { running, available, locked: running - available, unconfirmed: this.#expected.get(assetId) ?? 0n };
  }

  items(): ReadonlyMap<string, bigint> {
    const items = [...this.#running].filter(([assetId]) => assetId !== TOKENS).sort(([a], [b]) => compareUtf8(a, b));
    return new Map(items.map(([assetId, amount]) => [assetId, shownTotal(amount)]));
  }

  /** Unspent coins in page order: all, or one page (decision V12); a page past the end is empty. */
  unspent(page?: number): readonly Coin[] {
    return page === undefined ? this.#listed.slice() : this.#listed.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE);
  }

  /** Spendable coins that are in the chain, ascending by amount; valid until the next change. */
  spendable(assetId: string): CoinList<Coin> {
    return this.#spendable.get(assetId)?.get(0) ?? [];
  }

  /** Spendable coins: of the chain, then own change by depth, each ascending by amount. Valid until the next change. */
  layers(assetId: string): readonly CoinList<Coin>[] {
    if (!this.#areMeasured) this.#measure();
    const layers = [...(this.#spendable.get(assetId) ?? [])].sort(([a], [b]) => a - b);
    return layers.map(([, coins]) => coins);
  }

  /** Adds a coin. `inputs`: coins that its transaction spends, as long as no block has that. */
  put(coin: Coin, inputs: readonly Coin[] = []): void {
    this.#coins.set(coin.key, coin);
    const siblings = this.#byAddress.get(coin.address);
    if (siblings) siblings.add(coin);
    else this.#byAddress.set(coin.address, new Set([coin]));
    if (!coin.inChain) this.#depths.set(coin, 1 + Math.max(0, ...inputs.map((input) => this.#depthOf(input))));
    this.#countIn(coin);
  }

  drop(coin: Coin): void {
    this.#countOut(coin);
    this.#forgetDepth(coin);
    this.#coins.delete(coin.key);
    const siblings = this.#byAddress.get(coin.address);
    siblings?.delete(coin);
    if (siblings?.size === 0) this.#byAddress.delete(coin.address);
  }

  move(coin: Coin, state: CoinState, by: string | null, inChain = coin.inChain): void {
    this.#countOut(coin);
    coin.state = state;
    coin.by = by;
    coin.inChain = inChain;
    if (inChain) this.#forgetDepth(coin);
    this.#countIn(coin);
  }

  advanceTo(height: number): void {
    this.#height = height;
    for (const [locktime, waiting] of this.#lockedUntil) {
      if (this.#isLocked(locktime)) continue;
      for (const coin of waiting) {
        this.#layerOf(coin).add(coin);
        add(this.#available, coin.assetId, coin.amount);
      }
      this.#lockedUntil.delete(locktime);
    }
  }

  /** Locktimes count from block 0 on, even before the first block is known. */
  #isLocked(locktime: bigint): boolean {
    return locktime > BigInt(Math.max(this.#height, 0));
  }

  #countIn(coin: Coin): void {
    if (!isListed(coin)) return;
    this.#listed.add(coin);
    this.#sum(coin, coin.amount);
    if (this.#isSpendable(coin)) this.#layerOf(coin).add(coin);
    else if (this.#isFree(coin)) {
      const waiting = this.#lockedUntil.get(coin.locktime);
      if (waiting) waiting.add(coin);
      else this.#lockedUntil.set(coin.locktime, new Set([coin]));
    }
  }

  #countOut(coin: Coin): void {
    if (!isListed(coin)) return;
    this.#listed.remove(coin);
    this.#sum(coin, -coin.amount);
    if (this.#isSpendable(coin)) this.#takeFromLayer(coin);
    else this.#lockedUntil.get(coin.locktime)?.delete(coin);
  }

  #sum(coin: Coin, change: bigint): void {
    const { assetId, inChain, state } = coin;
    add(this.#running, assetId, change);
    if (!inChain) add(this.#expected, assetId, change);
    // A reserved coin counts as available: its change will be there when it is spent.
    if (state === 'reserved' || this.#isSpendable(coin)) add(this.#available, assetId, change);
  }

  #isFree({ state }: Coin): boolean {
    return state === 'unspent' || (state === 'expected' && this.#options.spendOwnChange);
  }

  #isSpendable(coin: Coin): boolean {
    return this.#isFree(coin) && !this.#isLocked(coin.locktime);
  }

  #depthOf(coin: Coin): number {
    return this.#depths.get(coin) ?? 0;
  }

  /** Forgets the depth of a coin that is in the chain, or gone: coins behind it are less deep now. */
  #forgetDepth(coin: Coin): void {
    if (this.#depths.delete(coin)) this.#areMeasured = false;
  }

  #measure(): void {
    this.#areMeasured = true;
    /** Depth of the deepest input, by own transaction. */
    const inputs = new Map<string, number>();
    // Coins that a transaction spends have arrived before those that it makes.
    for (const coin of [...this.#depths.keys()].sort((a, b) => a.arrival - b.arrival)) {
      const depth = 1 + (inputs.get(coin.outPoint.tHash) ?? 0);
      if (coin.state === 'pending' && coin.by !== null) inputs.set(coin.by, Math.max(depth, inputs.get(coin.by) ?? 0));
      if (depth === this.#depthOf(coin)) continue;
      const isSpendable = this.#isSpendable(coin);
      if (isSpendable) this.#takeFromLayer(coin);
      this.#depths.set(coin, depth);
      if (isSpendable) this.#layerOf(coin).add(coin);
    }
  }

  #layerOf(coin: Coin): SortedCoins {
    const byDepth = this.#spendable.get(coin.assetId) ?? new Map<number, SortedCoins>();
    this.#spendable.set(coin.assetId, byDepth);
    const depth = this.#depthOf(coin);
    const known = byDepth.get(depth);
    const coins = known ?? (this.#isFilling ? SortedCoins.filling(compareAmounts) : new SortedCoins(compareAmounts));
    byDepth.set(depth, coins);
    return coins;
  }

  #takeFromLayer(coin: Coin): void {
    const layer = this.#layerOf(coin);
    layer.remove(coin);
    if (layer.length === 0) this.#spendable.get(coin.assetId)?.delete(this.#depthOf(coin));
  }
}

function compareAmounts(a: Coin, b: Coin): number {
  if (a.amount !== b.amount) return a.amount < b.amount ? -1 : 1;
  return a.key < b.key ? -1 : Number(a.key > b.key);
}

function add(sums: Map<string, bigint>, assetId: string, change: bigint): void {
  const sum = (sums.get(assetId) ?? 0n) + change;
  if (sum === 0n) sums.delete(assetId);
  else sums.set(assetId, sum);
}
