/**
 * Makes own transactions: takes coins, signs, and hands the result to the queue. Coins are chosen and taken in one
 * synchronous step, so parallel payments never touch an outpoint twice; a payment counts when keys, coins and transaction
 * are durable together, and whatever fails before gives the coins back. Many payments at once share the event loop with
 * everything else; beyond a bound they are turned away.
 */

import { transactionHash } from '../../chain/hash.js';
import type { GenesisHashSpec, Transaction } from '../../chain/types.js';
import type { Clock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { type Coin, TOKENS } from '../coins/coin.js';
import { lowerBound, type SelectionLimits, selectCoins } from '../coins/coin-selection.js';
import type { CoinStore } from '../coins/coin-store.js';
import { type KeyRing, wipeKeys } from '../keys/key-ring.js';
import type { MetaStore } from '../meta.js';
import type { WriteBuffer } from '../write-buffer.js';
import type { KeepIntent } from './intents.js';
import type { Outgoing, OutgoingKind, OwnTransaction } from './outgoing.js';
import { assetOf, buildItemCreation, buildPaymentInTurns, checkPayment, type PaymentPlan } from './payment-builder.js';

export interface PaymentOrder {
  readonly address: string;
  /** Raw units, or items. */
  readonly amount: bigint;
  /** Genesis hash of the items to pay; tokens without it. */
  readonly genesisHash?: string;
  readonly locktime: bigint;
  readonly kind?: OutgoingKind;
  /** Peer to tell, `host:port`. */
  readonly peer?: string;
  /** Keeps what asked for it, in the same batch. */
  readonly keep?: KeepIntent | undefined;
}

export interface ItemOrder {
  readonly spec: GenesisHashSpec;
  readonly amount: bigint;
  readonly metadata: string | null;
  /** As in `PaymentOrder`. */
  readonly keep?: KeepIntent | undefined;
}

export interface PaymentOptions {
  readonly limits: SelectionLimits;
  /** Merge when more spendable token outputs than this are held; null never does. */
  readonly aggregateAbove: number | null;
  /** The least raw units of a token output: the payment, and its change. */
  readonly minOutputAmount: bigint;
}

export interface PaymentModules {
  readonly coins: CoinStore;
  readonly keys: KeyRing;
  readonly outgoing: Outgoing;
  readonly writes: WriteBuffer;
  readonly meta: MetaStore;
  readonly clock: Clock;
  /** Turns of the event loop. */
  readonly slices: TimeSlices;
}

/** Merges under way at once: a wallet with thousands of rewards shrinks by a few thousand in each block. */
const MAX_MERGES = 4;
/** Items are counted one by one: no change is too small. */
const ITEM_DUST = 1n;
/** Payments that are being made at once; a wallet makes several hundred in a second. */
const MAX_UNDER_WAY = 1_000;

/** What an own transaction is made for. */
interface Made {
  readonly kind: OutgoingKind;
  readonly peer: string | null;
  readonly keep?: KeepIntent | undefined;
}

interface Chosen {
  readonly coins: readonly Coin[];
  readonly change: bigint;
}

export class Payments {
  readonly #options: PaymentOptions;
  readonly #modules: PaymentModules;
  #underWay = 0;

  constructor(options: PaymentOptions, modules: PaymentModules) {
    this.#options = options;
    this.#modules = modules;
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

  /** Joins the smallest token coins when there are more than the threshold; resolves with what was made. */
  async merge(): Promise<readonly OwnTransaction[]> {
    const { aggregateAbove } = this.#options;
    const made: OwnTransaction[] = [];
    if (aggregateAbove === null) return made;
    while (this.#mergeable().length > Math.max(aggregateAbove, 1) && this.#mergesUnderWay() < MAX_MERGES) {
      const merge = await this.#mergeOnce(aggregateAbove);
      if (merge === undefined) break;
      made.push(merge);
    }
    return made;
  }

  /** Pays what lies at addresses that the words do not cover to one that they do; resolves with what was made. */
  async sweep(): Promise<readonly OwnTransaction[]> {
    const made: OwnTransaction[] = [];
    for (const assetId of [TOKENS, ...this.#modules.coins.items().keys()]) {
      for (let next = await this.#sweepOnce(assetId); next !== undefined; next = await this.#sweepOnce(assetId)) {
        made.push(next);
      }
    }
    return made;
  }

  async #bounded<T>(make: () => Promise<T>): Promise<T> {
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
    const { coins: store, keys } = this.#modules;
    const assetId = order.genesisHash ?? TOKENS;
    await this.#modules.slices.turn();
    const { coins, change } = this.#choose(assetId, amount);
    store.reserve(coins);
    const made = { kind: order.kind ?? 'payment', peer: order.peer ?? null, keep: order.keep };
    return this.#spend(coins, made, () => ({
      inputs: coins,
      to: address,
      asset: assetOf(assetId, amount),
      locktime,
      change: change === 0n ? null : { amount: change, address: keys.create(assetId === TOKENS ? 'change' : 'items') },
    }));
  }

  async #createItem(order: ItemOrder): Promise<OwnTransaction> {
    const { keys, meta } = this.#modules;
    await this.#modules.slices.turn();
    const address = keys.create('items');
    const signing = await keys.signingKeys([address]);
    const key = signing.get(address);
    if (key === undefined) throw new TesseraError('internal_error', 'a fresh key is gone');
    const height = BigInt(Math.max(meta.current.block, 0));
    let transaction: Transaction;
    try {
      transaction = buildItemCreation(order, height, key);
    } finally {
      wipeKeys(signing);
    }
    return this.#enqueue(transaction, { kind: 'item', peer: null, keep: order.keep });
  }

  #choose(assetId: string, amount: bigint): Chosen {
    const { limits, minOutputAmount } = this.#options;
    const least = assetId === TOKENS ? minOutputAmount : 1n;
    if (amount < least) {
      throw new TesseraError('payment_refused', `an output of this network has at least ${least} raw units`);
    }
    const dust = assetId === TOKENS ? maxOf(limits.dust, least) : ITEM_DUST;
    const selection = selectCoins(this.#modules.coins.spendable(assetId), amount, { ...limits, dust });
    if (selection.kind === 'found') {
      if (selection.change === 0n || selection.change >= least) return selection;
      throw new TesseraError(
        'insufficient_funds',
        `the change would be ${selection.change} raw units, and an output of this network has at least ${least}: pay ${selection.change} more, or less`,
      );
    }
    if (selection.kind === 'short') throw this.#shortfall(assetId, amount);
    throw new TesseraError(
      'insufficient_funds',
      `one transaction has at most ${limits.maxInputs} inputs and could pay ${selection.reachable} of ${amount}: pay less, ` +
        'or pay yourself first to join small outputs',
      { details: { reachable: String(selection.reachable), needed: String(amount) } },
    );
  }

  #shortfall(assetId: string, needed: bigint): TesseraError {
    const { available, locked, unconfirmed } = this.#modules.coins.totals(assetId);
    const what = assetId === TOKENS ? 'raw units' : `items ${assetId}`;
    const wait = unconfirmed > 0n ? `, ${unconfirmed} of it until a block has own payments` : '';
    return new TesseraError(
      'insufficient_funds',
      `the payment needs ${needed} ${what}: available ${available}, locked ${locked}${wait}, short of ${needed - available}`,
      { details: { needed: String(needed), available: String(available), locked: String(locked) } },
    );
  }

  /** Signs reserved coins away and records the transaction as the wallet's own; the coins come back if anything fails. */
  async #spend(coins: readonly Coin[], made: Made, plan: () => PaymentPlan): Promise<OwnTransaction> {
    const { coins: store, keys } = this.#modules;
    let transaction: Transaction;
    try {
      const signing = await keys.signingKeys(coins.map(({ address }) => address));
      try {
        transaction = await buildPaymentInTurns(plan(), signing, () => this.#modules.slices.turn());
      } finally {
        wipeKeys(signing);
      }
    } catch (error) {
      store.cancel(coins);
      throw error;
    }
    return this.#enqueue(transaction, made);
  }

  async #enqueue(transaction: Transaction, { kind, peer, keep }: Made): Promise<OwnTransaction> {
    const { coins, outgoing, writes, clock } = this.#modules;
    const hash = transactionHash(transaction);
    outgoing.add({ hash, transaction, kind, peer, createdAt: clock.now() });
    coins.spendBy(hash, transaction);
    keep?.(hash);
    writes.onFailure(() => {
      coins.release(hash, transaction);
      outgoing.discard(hash);
    });
    await writes.flush();
    outgoing.release(hash);
    const made = outgoing.get(hash);
    if (made === undefined) throw new TesseraError('internal_error', `the own transaction ${hash} is gone`);
    return made;
  }

  #mergesUnderWay(): number {
    let count = 0;
    for (const { kind } of this.#modules.outgoing.inFlight()) if (kind === 'merge') count += 1;
    return count;
  }

  /** Token coins worth spending as an input, ascending: coins without value stay where they are. */
  #mergeable(): readonly Coin[] {
    const coins = this.#modules.coins.spendable(TOKENS);
    const first = lowerBound(coins, 1n);
    return first === 0 ? coins : coins.slice(first);
  }

  async #mergeOnce(threshold: number): Promise<OwnTransaction | undefined> {
    await this.#modules.slices.turn();
    const mergeable = this.#mergeable();
    // The largest coins stay, so that the wallet can pay while the merge is on its way.
    const count = Math.min(this.#options.limits.maxInputs, mergeable.length - Math.floor(threshold / 2));
    const coins = mergeable.slice(0, Math.max(count, 0));
    // Payments may have taken them in the meantime.
    if (coins.length < 2) return undefined;
    return this.#join(TOKENS, coins);
  }

  async #sweepOnce(assetId: string): Promise<OwnTransaction | undefined> {
    const { coins: store, keys } = this.#modules;
    await this.#modules.slices.turn();
    const uncovered = store.spendable(assetId).filter(({ amount, address }) => amount > 0n && !keys.isCovered(address));
    // The largest first: what is too little for an output of this network goes with them.
    const coins = uncovered.reverse().slice(0, this.#options.limits.maxInputs);
    const least = assetId === TOKENS ? this.#options.minOutputAmount : 1n;
    return sumOf(coins) < least ? undefined : this.#join(assetId, coins);
  }

  /** Pays the coins to a new address of this wallet. */
  #join(assetId: string, coins: readonly Coin[]): Promise<OwnTransaction> {
    const { coins: store, keys } = this.#modules;
    store.reserve(coins);
    return this.#spend(coins, { kind: 'merge', peer: null }, () => ({
      inputs: coins,
      to: keys.create(assetId === TOKENS ? 'change' : 'items'),
      asset: assetOf(assetId, sumOf(coins)),
      locktime: 0n,
      change: null,
    }));
  }
}

function maxOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function sumOf(coins: readonly Coin[]): bigint {
  return coins.reduce((sum, { amount }) => sum + amount, 0n);
}
