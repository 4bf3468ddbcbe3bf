/**
 * Every outpoint of the wallet, with its state. Changes are synchronous and stage records; the caller flushes. Spent coins are on disk only.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { createdOutPoints, outPointKey, spentOutPoints } from '../../chain/transaction.js';
import type { OpenBlock, OutPoint, Transaction, TxOut, Utxo } from '../../chain/types.js';
import { prefixRange } from '../../db/keys.js';
import type { Kv } from '../../db/kv.js';
import { atOnce, inPieces } from '../../lib/pieces.js';
import { keyText, outpointRecordKey, PREFIX, spentKey } from '../layout.js';
import type { Arrival, MetaStore } from '../meta.js';
import type { WriteBuffer } from '../write-buffer.js';
import { AsideCoins } from './aside-coins.js';
import {
  type Coin,
  type CoinState,
  compareCoins,
  decodeCoin,
  encodeCoin,
  freed,
  isCounted,
  isListed,
  newCoin,
} from './coin.js';
import { CoinIndex, type CoinIndexOptions, type CoinTotals } from './coin-index.js';
import type { CoinList } from './coin-selection.js';
import { type IsForeign, keepCreation, type Made, type SpentCoin, type TakenTransaction } from './taken.js';

const SPENT_SHOWN = 10_000;

/** `known`: nothing to do; `gap`: earlier blocks are missing, nothing was done; `applied` otherwise. */
export type BlockOutcome = 'known' | 'gap' | 'applied';

export interface CoinStoreModules {
  readonly kv: Kv;
  readonly writes: WriteBuffer;
  readonly meta: MetaStore;
  readonly owns: (address: string) => boolean;
}

export class CoinStore {
  readonly #modules: CoinStoreModules;
  readonly #options: CoinIndexOptions;
  readonly aside = new AsideCoins({
    at: (outPoints) => this.#at(outPoints),
    move: (coin, state, by) => this.#move(coin, state, by),
  });
  #index: CoinIndex;
  #arrived = 0;

  private constructor(options: CoinIndexOptions, modules: CoinStoreModules) {
    this.#options = options;
    this.#modules = modules;
    this.#index = new CoinIndex(modules.meta.current.block, options);
  }

  static async open(options: CoinIndexOptions, modules: CoinStoreModules): Promise<CoinStore> {
    const store = new CoinStore(options, modules);
    for await (const [key, record] of modules.kv.entries(prefixRange(PREFIX.outpoint))) {
      store.#index.put(decodeCoin(keyText(key), record));
    }
    await inPieces(store.#index.filled(), () => nextTurn());
    return store;
  }

  get height(): number {
    return this.#modules.meta.current.block;
  }

  totals(assetId?: string): CoinTotals {
    return this.#index.totals(assetId);
  }

  /** Amounts by genesis hash, locked ones included. */
  items(): ReadonlyMap<string, bigint> {
    return this.#index.items();
  }

  /** Unspent coins in page order: all, or one page (decision V12); a page past the end is empty. */
  unspent(page?: number): readonly Coin[] {
    return this.#index.unspent(page);
  }

  /** Spent coins in page order, including those that unconfirmed own transactions spend. */
  async spent(): Promise<readonly Coin[]> {
    const spent = new Map<string, Coin>();
    const range = { ...prefixRange(PREFIX.spent), reverse: true, limit: SPENT_SHOWN };
    for await (const [, record] of this.#modules.kv.entries(range)) {
      const coin = decodeCoin('', record);
      spent.set(outPointKey(coin.outPoint), coin);
    }
    for (const coin of this.#index.values()) {
      // A refresh may have brought back a coin that an earlier one took for spent.
      if (isListed(coin)) spent.delete(coin.key);
      else spent.set(coin.key, coin);
    }
    return [...spent.values()].sort(compareCoins);
  }

  /** Coins in the chain that can be spent now, ascending by amount; valid until the next change. */
  spendable(assetId: string): CoinList<Coin> {
    return this.#index.spendable(assetId);
  }

  /** Coins that can be spent now, by depth: those of the chain first, own change behind many others last; valid until the next change. */
  layers(assetId: string): readonly CoinList<Coin>[] {
    return this.#index.layers(assetId);
  }

  /** True when the address has an outpoint that is not spent, or will have one by an own transaction. */
  isUsed(address: string): boolean {
    return this.#index.isUsed(address);
  }

  /** Number that changes whenever a coin arrives that was not there. */
  get arrived(): number {
    return this.#arrived;
  }

  has(outPoint: OutPoint): boolean {
    return this.#index.get(outPoint) !== undefined;
  }

  /** Own addresses of these transactions' inputs and outputs, and of the payments that halves of trades expect. */
  addressesOf(made: readonly Made[]): readonly string[] {
    const addresses = new Set<string>();
    for (const { hash, transaction } of made) {
      const created = createdOutPoints(transaction, hash).map(({ outPoint }) => outPoint);
      for (const { address } of this.#at([...spentOutPoints(transaction), ...created])) addresses.add(address);
      // The block with our half of a trade also has what the trade brings.
      for (const { to } of transaction.druidInfo?.expectations ?? []) addresses.add(to);
    }
    return [...addresses];
  }

  inputsOf(transaction: Transaction): readonly Coin[] {
    return this.#at(spentOutPoints(transaction));
  }

  // Own transactions

  /** Takes spendable coins for a payment that is being built. In memory only. */
  reserve(coins: readonly Coin[]): void {
    for (const coin of coins) this.#index.move(coin, 'reserved', null);
  }

  cancel(coins: readonly Coin[]): void {
    for (const coin of coins) {
      if (!this.#isReserved(coin)) continue;
      const { state, by } = freed(coin);
      this.#index.move(coin, state, by);
    }
  }

  /** False when a reserved coin was lost: taken by the chain, or with the end of the transaction that makes it. */
  areReserved(coins: readonly Coin[]): boolean {
    return coins.every((coin) => this.#isReserved(coin));
  }

  /** All coins at an address that are not spent for good, as a list that does not change. */
  allAt(address: string): readonly Coin[] {
    return [...this.#index.at(address)];
  }

  /** Notes an own transaction on its way: its inputs are pending, its outputs to own addresses expected. Gives both. */
  spendBy(hash: string, transaction: Transaction): { readonly spent: readonly Coin[]; readonly made: readonly Coin[] } {
    const spent = this.inputsOf(transaction);
    for (const coin of spent) this.#move(coin, 'pending', hash);
    const made: Coin[] = [];
    const arrival = this.#modules.meta.beginArrival();
    for (const { outPoint, txOut } of createdOutPoints(transaction, hash)) {
      const address = txOut.scriptPublicKey;
      if (address === null || !this.#modules.owns(address) || this.#index.get(outPoint) !== undefined) continue;
      const coin = newCoin(outPoint, txOut, address, arrival(), 'expected', hash);
      this.#put(coin, spent);
      made.push(coin);
    }
    keepCreation({ hash, transaction }, made, this.#modules.writes);
    return { spent, made };
  }

  spendersOf({ hash, transaction }: Made): readonly string[] {
    return this.#expectedOf({ hash, transaction }).flatMap(({ by, state }) => (state === 'pending' && by ? [by] : []));
  }

  /** Ends own transactions, with all that spend from them, that will never be in a block: inputs come back (decision V13). Gives their addresses. */
  release(ended: readonly Made[]): readonly string[] {
    const addresses = new Set<string>();
    for (const { hash, transaction } of ended) {
      for (const coin of this.inputsOf(transaction)) {
        if (coin.state !== 'pending' || coin.by !== hash) continue;
        addresses.add(coin.address);
        const { state, by } = freed(coin);
        this.#move(coin, state, by);
      }
    }
    for (const made of ended) this.dropExpected(made);
    return [...addresses];
  }

  /** Drops the outputs expected from an own transaction, which is in the chain under another hash. Gives them. */
  dropExpected(made: Made): readonly Coin[] {
    const expected = this.#expectedOf(made);
    for (const coin of expected) this.#drop(coin);
    return expected;
  }

  /** Settles an own transaction whose block was not seen: inputs are spent, and so are outputs that no refresh has brought. Gives those. */
  settle(made: Made): readonly Coin[] {
    this.takeSpent(made.transaction);
    const gone: Coin[] = [];
    for (const coin of this.#expectedOf(made)) {
      if (isListed(coin)) gone.push(coin);
      else this.#noteInChain(coin);
    }
    for (const coin of gone) this.#spendForGood(coin);
    return gone;
  }

  takeSpent(transaction: Transaction): readonly SpentCoin[] {
    const spent = this.inputsOf(transaction).map((coin) => ({
      coin,
      by: coin.state === 'pending' ? coin.by : null,
    }));
    for (const { coin } of spent) this.#spendForGood(coin);
    return spent;
  }

  /** Hash of the copy of an own transaction that has brought one of its expected outputs. */
  copyOf(made: Made): string | undefined {
    for (const { address, amount, assetId, outPoint } of this.#expectedOf(made)) {
      for (const other of this.#index.at(address)) {
        const isSame = other.outPoint.n === outPoint.n && other.amount === amount && other.assetId === assetId;
        if (isSame && other.outPoint.tHash !== made.hash) return other.outPoint.tHash;
      }
    }
    return undefined;
  }

  // The chain

  /** Adds an outpoint by hand: a seed of a development network. */
  add(outPoint: OutPoint, txOut: TxOut): Coin | undefined {
    return this.#arrive(outPoint, txOut, this.#modules.meta.beginArrival());
  }

  /**
   * Takes in a block and tells of each transaction that may change something; idempotent. `isOver`: true for an output that the wallet has
   * had, which is spent if it is missing after a start over. `isForeign`: true for a transaction that changes nothing.
   */
  applyBlock(
    { block, transactions, miningTransaction }: OpenBlock,
    onTaken: (taken: TakenTransaction) => void = () => {},
    isOver: (outPoint: OutPoint) => boolean = () => false,
    isForeign: IsForeign = () => false,
  ): BlockOutcome {
    const height = Number(block.header.bNum);
    if (height <= this.height) return 'known';
    if (height > this.height + 1) return 'gap';
    const arrival = this.#modules.meta.beginArrival();
    // Coins of the block are judged by its own height.
    this.advanceTo(height);
    block.transactions.forEach((hash, i) => {
      const transaction = isForeign(i, hash) ? undefined : transactions.at(i);
      if (transaction) onTaken(this.#takeIn({ hash, transaction, isReward: false }, arrival, isOver));
    });
    const reward = { hash: block.header.miningTxHash, transaction: miningTransaction, isReward: true };
    onTaken(this.#takeIn(reward, arrival, isOver));
    return 'applied';
  }

  advanceTo(height: number): void {
    if (height <= this.height) return;
    this.#modules.meta.update({ block: height });
    this.#index.advanceTo(height);
  }

  /** Goes back as if only the blocks up to a height had been seen: coins that were locked then are locked again. All coins stay. */
  goBackTo(height: number): void {
    this.#modules.meta.update({ block: height });
    const coins = [...this.#index.values()];
    this.#index = new CoinIndex(height, this.#options);
    for (const coin of coins) this.#index.put(coin);
    atOnce(this.#index.filled());
  }

  /** Takes in unspent outputs of these addresses, in one batch with others of the same `arrival`. Gives the new coins. */
  takeUnspent(utxos: readonly Utxo[], addresses: ReadonlySet<string>, arrival: Arrival): readonly Coin[] {
    return utxos.flatMap(([outPoint, txOut]) => {
      const address = txOut.scriptPublicKey;
      return address !== null && addresses.has(address) ? (this.#arrive(outPoint, txOut, arrival) ?? []) : [];
    });
  }

  /** Coins at these addresses that the wallet counts as unspent, as a list that does not change. */
  countedAt(addresses: Iterable<string>): readonly Coin[] {
    const coins: Coin[] = [];
    for (const address of addresses) {
      for (const coin of this.#index.at(address)) if (isCounted(coin)) coins.push(coin);
    }
    return coins;
  }

  /** Takes coins for spent that the chain no longer has, except those that a payment has taken meanwhile (decision V13). Gives them. */
  takeMissing(coins: readonly Coin[]): readonly Coin[] {
    const gone = coins.filter((coin) => this.#index.holds(coin) && isCounted(coin));
    for (const coin of gone) this.#spendForGood(coin);
    return gone;
  }

  // Single coins

  #at(outPoints: readonly OutPoint[]): readonly Coin[] {
    return outPoints.flatMap((outPoint) => this.#index.get(outPoint) ?? []);
  }

  #expectedOf({ hash, transaction }: Made): readonly Coin[] {
    const made = createdOutPoints(transaction, hash).flatMap(({ outPoint }) => this.#index.get(outPoint) ?? []);
    return made.filter(({ inChain }) => !inChain);
  }

  #isReserved(coin: Coin): boolean {
    return this.#index.holds(coin) && coin.state === 'reserved';
  }

  #takeIn(
    found: Omit<TakenTransaction, 'spent' | 'arrived'>,
    arrival: Arrival,
    isOver: (outPoint: OutPoint) => boolean,
  ): TakenTransaction {
    const { hash, transaction } = found;
    const spent = this.takeSpent(transaction);
    const arrived = createdOutPoints(transaction, hash).flatMap(({ outPoint, txOut }) =>
      !this.has(outPoint) && isOver(outPoint) ? [] : (this.#arrive(outPoint, txOut, arrival) ?? []),
    );
    keepCreation(found, arrived, this.#modules.writes);
    return { ...found, spent, arrived };
  }

  /** Takes in an output that the chain has as unspent; gives the coin when it is new. */
  #arrive(outPoint: OutPoint, txOut: TxOut, arrival: Arrival): Coin | undefined {
    const address = txOut.scriptPublicKey;
    if (address === null || !this.#modules.owns(address)) return undefined;
    const known = this.#index.get(outPoint);
    if (known !== undefined) {
      if (!known.inChain) this.#noteInChain(known);
      return undefined;
    }
    const coin = newCoin(outPoint, txOut, address, arrival(), 'unspent', null);
    this.#put(coin);
    return coin;
  }

  /** Notes that an expected output is in the chain, also when it is taken already. */
  #noteInChain(coin: Coin): void {
    if (coin.state === 'expected') this.#index.move(coin, 'unspent', null, true);
    else this.#index.move(coin, coin.state, coin.by, true);
    this.#save(coin);
  }

  #put(coin: Coin, inputs?: readonly Coin[]): void {
    this.#arrived++;
    this.#index.put(coin, inputs);
    this.#save(coin);
  }

  #move(coin: Coin, state: CoinState, by: string | null): void {
    this.#index.move(coin, state, by);
    this.#save(coin);
  }

  #save(coin: Coin): void {
    this.#modules.writes.put(outpointRecordKey(coin.key), encodeCoin(coin));
  }

  #drop(coin: Coin): void {
    this.#index.drop(coin);
    this.#modules.writes.del(outpointRecordKey(coin.key));
  }

  #spendForGood(coin: Coin): void {
    this.#drop(coin);
    coin.state = 'spent';
    const { spent } = this.#modules.meta.current;
    this.#modules.writes.put(spentKey(spent), encodeCoin(coin));
    this.#modules.meta.update({ spent: spent + 1 });
  }
}
