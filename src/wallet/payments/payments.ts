/**
 * Makes own transactions: takes coins, signs, and hands the result to the queue. One is built at a time, so that each sees
 * the change of the one before, and payments at once find the same money as payments in a row (docs/adr/0023-own-change.md);
 * their writes share a sync. A payment counts when keys, coins and transaction are durable together, and whatever fails
 * before gives the coins back. Many payments at once share the event loop with everything else; beyond a bound they are
 * turned away.
 */

import { transactionHash } from '../../chain/hash.js';
import type { GenesisHashSpec, Transaction } from '../../chain/types.js';
import { TesseraError } from '../../lib/errors.js';
import { Mutex } from '../../lib/mutex.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { type Coin, TOKENS } from '../coins/coin.js';
import { type CoinList, lowerBound } from '../coins/coin-selection.js';
import { type KeyRing, wipeKeys } from '../keys/key-ring.js';
import type { OwnAccount, OwnOutputs } from '../keys/own-outputs.js';
import type { MetaStore } from '../meta.js';
import { Funds, type FundsOptions } from './funds.js';
import type { KeepIntent } from './intents.js';
import type { OutgoingKind, OwnTransaction } from './outgoing.js';
import {
  assetOf,
  buildItemCreation,
  buildPaymentInTurns,
  checkAmount,
  checkPayment,
  type PaymentPlan,
  type SpentCoin,
} from './payment-builder.js';
import { type Made, type Staged, type StagingModules, stageOwn, unwritten, written } from './staging.js';

export interface PaymentOrder {
  readonly address: string;
  /** Raw units, or items. */
  readonly amount: bigint;
  /** Genesis hash of the items to pay; tokens without it. */
  readonly genesisHash?: string | undefined;
  readonly locktime: bigint;
  readonly kind?: OutgoingKind;
  /** Peer to tell, `host:port`. */
  readonly peer?: string;
  /** Keeps what asked for it, in the same batch. */
  readonly keep?: KeepIntent | undefined;
}

/** So many tokens or items that are kept for a trade. */
export interface AsideOrder<T> {
  /** `TOKENS`, or a genesis hash. */
  readonly assetId: string;
  readonly amount: bigint;
  /** Id of the trade. */
  readonly trade: string;
  /** Called with the coins that add up to the amount, before anything is staged; called again when they are lost meanwhile. */
  readonly prepare: (coins: readonly SpentCoin[]) => Promise<T>;
  /** Stages what belongs to it, in the same write, with what `prepare` gave. */
  readonly stage: (prepared: T) => void;
}

export interface ItemOrder {
  readonly spec: GenesisHashSpec;
  readonly amount: bigint;
  readonly metadata: string | null;
  /** As in `PaymentOrder`. */
  readonly keep?: KeepIntent | undefined;
}

export interface PaymentOptions extends FundsOptions {
  /** Merge when more spendable token outputs than this are held; null never does. */
  readonly aggregateAbove: number | null;
}

export interface PaymentModules extends StagingModules {
  readonly keys: KeyRing;
  readonly ownOutputs: OwnOutputs;
  readonly meta: MetaStore;
  /** Turns of the event loop. */
  readonly slices: TimeSlices;
}

/** Merges under way at once: a wallet with thousands of rewards shrinks by a few thousand in each block. */
const MAX_MERGES = 4;
/** Payments that are being made at once; a wallet makes several hundred in a second. */
const MAX_UNDER_WAY = 1_000;
/** Payments that no block has; they are kept in memory. */
const MAX_IN_FLIGHT = 100_000;
/** How often a payment is built again because the chain has taken its coins meanwhile. */
const MAX_ATTEMPTS = 5;

interface StagedAside {
  split: Staged | undefined;
  isUndone: boolean;
}

export class Payments {
  readonly #options: PaymentOptions;
  readonly #modules: PaymentModules;
  readonly #funds: Funds;
  /** Gives coins to one transaction at a time. */
  readonly #building = new Mutex();
  #underWay = 0;

  constructor(options: PaymentOptions, modules: PaymentModules) {
    this.#options = options;
    this.#modules = modules;
    this.#funds = new Funds(options, modules.coins);
  }

  /**
   * Throws `payment_refused` or `insufficient_funds` when so many tokens, or items of that class, cannot be paid, whatever else
   * is under way.
   */
  checkFunds(amount: bigint, genesisHash = TOKENS): void {
    this.#funds.check(genesisHash, amount);
  }

  /**
   * Resolves when durable. Throws `payment_refused`, `insufficient_funds` with the shortfall, `overloaded` when too many are
   * being made, `wallet_write_failed`.
   */
  pay(order: PaymentOrder): Promise<OwnTransaction> {
    return this.#bounded(() => this.#pay(order));
  }

  /** Resolves when durable. Throws `payment_refused`, `overloaded`, `wallet_write_failed`. */
  createItem(order: ItemOrder): Promise<OwnTransaction> {
    return this.#bounded(() => this.#createItem(order));
  }

  /**
   * Keeps coins of exactly this amount for a trade, and gives the payment to this wallet that had to be made for that, if
   * there is no such sum. Resolves when durable, with what was staged. Throws as `pay`.
   */
  async setAside<T>(order: AsideOrder<T>): Promise<OwnTransaction | undefined> {
    return this.#bounded(async () => {
      checkAmount(order.amount);
      this.#funds.check(order.assetId, order.amount);
      const staged = await this.#building.run(() => this.#buildAside(order));
      return staged.split === undefined ? this.#flushed(staged) : this.#written(staged.split);
    });
  }

  /** Joins the smallest token coins when there are more than the threshold; resolves with what was made. */
  async merge(): Promise<readonly OwnTransaction[]> {
    const { aggregateAbove } = this.#options;
    const made: OwnTransaction[] = [];
    if (aggregateAbove === null) return made;
    while (this.#mergeable().count > Math.max(aggregateAbove, 1) && this.#mergesUnderWay() < MAX_MERGES) {
      const merge = await this.#building.run(() => this.#mergeOnce(aggregateAbove));
      if (merge === undefined) break;
      made.push(await this.#written(merge));
    }
    return made;
  }

  /** Pays what lies at addresses that the words do not cover to one that they do; resolves with what was made. */
  async sweep(): Promise<readonly OwnTransaction[]> {
    const made: OwnTransaction[] = [];
    for (const assetId of [TOKENS, ...this.#modules.coins.items().keys()]) {
      const sweepOnce = () => this.#building.run(() => this.#sweepOnce(assetId));
      for (let next = await sweepOnce(); next !== undefined; next = await sweepOnce()) {
        made.push(await this.#written(next));
      }
    }
    return made;
  }

  async #bounded<T>(make: () => Promise<T>): Promise<T> {
    if (this.#modules.outgoing.size >= MAX_IN_FLIGHT) {
      throw new TesseraError(
        'overloaded',
        `${MAX_IN_FLIGHT} payments of this wallet wait for a block; try again after the next one`,
      );
    }
    if (this.#underWay >= MAX_UNDER_WAY) {
      throw new TesseraError(
        'overloaded',
        `this wallet makes ${MAX_UNDER_WAY} payments already; try again in a moment`,
      );
    }
    this.#underWay += 1;
    try {
      return await make();
    } finally {
      this.#underWay -= 1;
    }
  }

  async #pay(order: PaymentOrder): Promise<OwnTransaction> {
    const { address, amount, locktime } = order;
    checkPayment(address, amount, locktime);
    this.#funds.check(order.genesisHash ?? TOKENS, amount);
    return this.#written(await this.#building.run(() => this.#buildPayment(order)));
  }

  async #buildPayment({ address, amount, locktime, genesisHash, kind, peer, keep }: PaymentOrder): Promise<Staged> {
    const { coins: store, slices } = this.#modules;
    const assetId = genesisHash ?? TOKENS;
    for (let attempt = 1; ; attempt++) {
      await slices.turn();
      const { coins, change } = this.#funds.choose(assetId, amount);
      store.reserve(coins);
      const transaction = await this.#sign(coins, assetId, (ownAddress) => ({
        inputs: coins,
        to: address,
        asset: assetOf(assetId, amount),
        locktime,
        change: change === 0n ? null : { amount: change, address: ownAddress(change) },
      }));
      if (transaction !== undefined) {
        return this.#enqueue(transaction, { kind: kind ?? 'payment', peer: peer ?? null, keep });
      }
      if (attempt === MAX_ATTEMPTS) throw tooFast();
    }
  }

  async #buildAside<T>({ assetId, amount, trade, prepare, stage }: AsideOrder<T>): Promise<StagedAside> {
    const { coins: store, ownOutputs, slices, writes } = this.#modules;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      await slices.turn();
      const { coins, change } = this.#funds.choose(assetId, amount);
      store.reserve(coins);
      const split = change === 0n ? undefined : await this.#signSplit(coins, assetId, amount, change);
      if (split === undefined && change !== 0n) continue;
      const kept = split === undefined ? coins : [split.kept];
      const prepared = await this.#orCancel(coins, split?.transaction, () => prepare(kept));
      if (!store.areReserved(coins)) {
        store.cancel(coins);
        if (split !== undefined) ownOutputs.discard(split.transaction);
        continue;
      }
      const staged: StagedAside = { split: undefined, isUndone: false };
      if (split !== undefined) {
        staged.split = this.#enqueue(split.transaction, { kind: 'payment', peer: null });
      }
      const outPoints = kept.map(({ outPoint }) => outPoint);
      store.aside.keep(outPoints, trade);
      stage(prepared);
      writes.onFailure(() => {
        store.aside.giveBack(outPoints, trade);
        staged.isUndone = true;
      });
      return staged;
    }
    throw tooFast();
  }

  /** A payment of the amount to a new address of this wallet, and its output; without it when the coins were lost. */
  async #signSplit(coins: readonly Coin[], assetId: string, amount: bigint, change: bigint) {
    const transaction = await this.#sign(coins, assetId, (ownAddress) => ({
      inputs: coins,
      to: ownAddress(amount),
      asset: assetOf(assetId, amount),
      locktime: 0n,
      change: { amount: change, address: ownAddress(change) },
    }));
    if (transaction === undefined) return undefined;
    const outPoint = { tHash: transactionHash(transaction), n: 0 };
    return { transaction, kept: { outPoint, address: transaction.outputs[0]?.scriptPublicKey ?? '' } };
  }

  /** Gives reserved coins back, and the addresses of a split, when the work on them fails. */
  async #orCancel<T>(coins: readonly Coin[], split: Transaction | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#modules.coins.cancel(coins);
      if (split !== undefined) this.#modules.ownOutputs.discard(split);
      throw error;
    }
  }

  async #flushed(staged: StagedAside): Promise<undefined> {
    await this.#modules.writes.flush();
    if (staged.isUndone) throw unwritten();
  }

  async #createItem(order: ItemOrder): Promise<OwnTransaction> {
    const { ownOutputs } = this.#modules;
    await this.#modules.slices.turn();
    const address = ownOutputs.next('items', order.amount);
    let transaction: Transaction;
    try {
      transaction = await this.#buildItemAt(address, order);
    } catch (error) {
      ownOutputs.giveBack(address);
      throw error;
    }
    return this.#written(this.#enqueue(transaction, { kind: 'item', peer: null, keep: order.keep }));
  }

  async #buildItemAt(address: string, order: ItemOrder): Promise<Transaction> {
    const { keys, meta } = this.#modules;
    const signing = await keys.signingKeys([address]);
    try {
      const key = signing.get(address);
      if (key === undefined) throw new TesseraError('internal_error', 'an own key is gone');
      return buildItemCreation(order, BigInt(Math.max(meta.current.block, 0)), key);
    } finally {
      wipeKeys(signing);
    }
  }

  /**
   * Signs reserved coins away. They come back if that fails, and when one of them was lost meanwhile: undefined then. `plan`
   * is given what makes an address for an own output of some amount.
   */
  async #sign(
    coins: readonly Coin[],
    assetId: string,
    plan: (ownAddress: (amount: bigint) => string) => PaymentPlan,
  ): Promise<Transaction | undefined> {
    const { coins: store, keys, ownOutputs, slices, history } = this.#modules;
    const account: OwnAccount = assetId === TOKENS ? 'change' : 'items';
    const given: string[] = [];
    const ownAddress = (amount: bigint): string => {
      const address = ownOutputs.next(account, amount);
      given.push(address);
      return address;
    };
    let signed: Transaction | undefined;
    try {
      const signing = await keys.signingKeys(coins.map(({ address }) => address));
      let transaction: Transaction;
      try {
        transaction = await buildPaymentInTurns(plan(ownAddress), signing, () => slices.turn());
      } finally {
        wipeKeys(signing);
      }
      // Without an own output it may be the very one that was rejected before, which is queued again then.
      if (given.length === 0) await history.prepare([transactionHash(transaction)]);
      if (store.areReserved(coins)) signed = transaction;
    } finally {
      if (signed === undefined) {
        store.cancel(coins);
        for (const address of given) ownOutputs.giveBack(address);
      }
    }
    return signed;
  }

  #enqueue(transaction: Transaction, made: Made): Staged {
    return stageOwn(transaction, made, this.#modules);
  }

  #written(staged: Staged): Promise<OwnTransaction> {
    return written(staged, this.#modules);
  }

  #mergesUnderWay(): number {
    let count = 0;
    for (const { kind } of this.#modules.outgoing.inFlight()) if (kind === 'merge') count += 1;
    return count;
  }

  /** Token coins worth spending as an input, ascending: coins without value stay where they are. */
  #mergeable(): { readonly coins: CoinList<Coin>; readonly first: number; readonly count: number } {
    const coins = this.#modules.coins.spendable(TOKENS);
    const first = lowerBound(coins, 1n);
    return { coins, first, count: coins.length - first };
  }

  async #mergeOnce(threshold: number): Promise<Staged | undefined> {
    await this.#modules.slices.turn();
    const { coins: all, first, count: mergeable } = this.#mergeable();
    // The largest coins stay, so that the wallet can pay while the merge is on its way.
    const count = Math.min(this.#options.limits.maxInputs, mergeable - Math.floor(threshold / 2));
    const coins = all.slice(first, first + Math.max(count, 0));
    if (coins.length < 2) return undefined;
    return this.#join(TOKENS, coins);
  }

  async #sweepOnce(assetId: string): Promise<Staged | undefined> {
    const { coins: store, keys } = this.#modules;
    await this.#modules.slices.turn();
    const uncovered = store
      .spendable(assetId)
      .slice()
      .filter(({ amount, address }) => amount > 0n && !keys.isCovered(address));
    // The largest first: what is too little for an output of this network goes with them.
    const coins = uncovered.reverse().slice(0, this.#options.limits.maxInputs);
    const least = assetId === TOKENS ? this.#options.minOutputAmount : 1n;
    return sumOf(coins) < least ? undefined : this.#join(assetId, coins);
  }

  /** Pays the coins to an address of this wallet; undefined when the chain has taken one of them meanwhile. */
  async #join(assetId: string, coins: readonly Coin[]): Promise<Staged | undefined> {
    const total = sumOf(coins);
    this.#modules.coins.reserve(coins);
    const transaction = await this.#sign(coins, assetId, (ownAddress) => ({
      inputs: coins,
      to: ownAddress(total),
      asset: assetOf(assetId, total),
      locktime: 0n,
      change: null,
    }));
    return transaction && this.#enqueue(transaction, { kind: 'merge', peer: null });
  }
}

function sumOf(coins: readonly Coin[]): bigint {
  return coins.reduce((sum, { amount }) => sum + amount, 0n);
}

function tooFast(): TesseraError {
  return new TesseraError('overloaded', 'the outputs of this wallet change too fast; try again in a moment');
}
