/**
 * Makes own transactions, one at a time so that each sees the change of the one before (docs/adr/0023-own-change.md); writes share a sync.
 * A payment counts when keys, coins, history and transaction are durable together, and is sent after that; a failure before gives the coins
 * back. Too many at once are refused.
 */

import { transactionHash } from '../../chain/hash.js';
import type { GenesisHashSpec, Transaction } from '../../chain/types.js';
import { TesseraError } from '../../lib/errors.js';
import { Mutex } from '../../lib/mutex.js';
import { type Coin, TOKENS } from '../coins/coin.js';
import type { DonationLimits, DonationQuota } from '../donation-requests.js';
import type { KeepKey } from '../idempotency-keys.js';
import type { WalletParts } from '../modules.js';
import type { PaymentKind } from '../service.js';
import { Funds, type FundsOptions } from './funds.js';
import type { OwnTransaction } from './outgoing.js';
import {
  assetOf,
  buildItemCreation,
  buildPaymentInTurns,
  checkAmount,
  checkPayment,
  type PaymentPlan,
  type SpentCoin,
} from './payment-builder.js';
import type { Settlement } from './settlement.js';

export interface PaymentOrder {
  readonly address: string;
  /** Raw units of tokens, or number of items. */
  readonly amount: bigint;
  /** Genesis hash of the items to pay; tokens without it. */
  readonly genesisHash?: string | undefined;
  readonly locktime: bigint;
  readonly kind?: PaymentKind;
  readonly peer?: string;
  /** Keeps the idempotency key of the request, in the same batch. */
  readonly keep?: KeepKey | undefined;
}

export interface AsideOrder<T> {
  readonly assetId: string;
  readonly amount: bigint;
  readonly trade: string;
  /** Called with the coins that add up to the amount, before anything is staged; again with others when they are lost meanwhile. */
  readonly prepare: (coins: readonly SpentCoin[]) => Promise<T>;
  /** Stages records of the trade in the same write, with the result of `prepare`. */
  readonly stage: (prepared: T) => void;
}

export interface ItemOrder {
  readonly spec: GenesisHashSpec;
  readonly amount: bigint;
  readonly metadata: string | null;
  /** Key, as in `PaymentOrder`. */
  readonly keep?: KeepKey | undefined;
}

export interface Made {
  readonly kind: PaymentKind;
  readonly peer: string | null;
  readonly keep?: KeepKey | undefined;
}

export interface Staged {
  readonly made: OwnTransaction;
  /** True if this transaction, or one staged before it, could not be written. */
  isUndone: boolean;
}

export interface PaymentModules
  extends Pick<
    WalletParts,
    'clock' | 'coins' | 'history' | 'keys' | 'meta' | 'outgoing' | 'ownOutputs' | 'slices' | 'writes'
  > {
  readonly donations: DonationQuota;
  readonly settlement: Settlement;
}

/** The most payments that are being made at once; a wallet makes several hundred in a second. */
const MAX_UNDER_WAY = 1_000;
/** The most payments that no block has; they are kept in memory. */
const MAX_IN_FLIGHT = 100_000;
/** The most times that a payment is built again because the chain has taken its coins meanwhile. */
const MAX_ATTEMPTS = 5;

interface StagedAside {
  split: Staged | undefined;
  isUndone: boolean;
}

export class Payments {
  readonly #modules: PaymentModules;
  readonly #funds: Funds;
  readonly #building = new Mutex();
  #underWay = 0;

  constructor(options: FundsOptions, modules: PaymentModules) {
    this.#modules = modules;
    this.#funds = new Funds(options, modules.coins);
  }

  /** Throws `payment_refused` or `insufficient_funds` when an amount cannot be paid, whatever else is under way. */
  checkFunds(amount: bigint, genesisHash = TOKENS): void {
    this.#funds.check(genesisHash, amount);
  }

  /** Makes a payment; resolves when it is durable. Throws `payment_refused`, `insufficient_funds`, `overloaded`, `wallet_write_failed`. */
  pay(order: PaymentOrder): Promise<OwnTransaction> {
    return this.#bounded(() => this.#pay(order));
  }

  /** Makes a payment as `pay` does, counted as a donation to the peer; undefined when a limit is reached. */
  async donate(order: PaymentOrder, nodeKey: string, limits: DonationLimits): Promise<OwnTransaction | undefined> {
    const { donations, writes } = this.#modules;
    writes.checkRoom();
    if (!donations.take(nodeKey, limits)) return undefined;
    try {
      return await this.pay({ ...order, kind: 'donation' });
    } catch (error) {
      donations.giveBack(nodeKey);
      throw error;
    }
  }

  /** Creates items; resolves when that is durable. Throws `payment_refused`, `overloaded`, `wallet_write_failed`. */
  createItem(order: ItemOrder): Promise<OwnTransaction> {
    return this.#bounded(() => this.#createItem(order));
  }

  /** Sets coins of exactly this amount aside for a trade, by a payment to itself if no coins have that sum. Throws as `pay`. */
  setAside<T>(order: AsideOrder<T>): Promise<void> {
    return this.#bounded(async () => {
      checkAmount(order.amount);
      this.#funds.check(order.assetId, order.amount);
      const staged = await this.#building.run(() => this.#buildAside(order));
      if (staged.split !== undefined) {
        await this.release(staged.split);
        return;
      }
      await this.#modules.writes.flush();
      if (staged.isUndone) throw unwritten();
      await this.#modules.settlement.commit();
    });
  }

  /** Pays the coins that `choose` gives to this wallet, in one output. Undefined if there are none, or the chain has taken one. */
  async join(assetId: string, choose: () => readonly Coin[]): Promise<OwnTransaction | undefined> {
    const staged = await this.#building.run(() => this.#buildJoin(assetId, choose));
    return staged && this.release(staged);
  }

  /** Stages a transaction: queue, coins and history in one write, undone if it fails. `history.prepare` comes first for a repeated one. */
  stage(transaction: Transaction, { kind, peer, keep }: Made): Staged {
    const { coins, outgoing, ownOutputs, history, writes, clock } = this.#modules;
    const hash = transactionHash(transaction);
    const own = { hash, transaction, kind, peer, createdAt: clock.now() };
    const rejected = outgoing.rejected(hash);
    const movement = rejected && history.find(hash);
    // The rejected payment was read from disk, which may not have its latest state yet.
    const before = rejected && movement && { ...rejected, state: movement.state, reason: movement.reason };
    const staged: Staged = { made: outgoing.add(own), isUndone: false };
    const { spent, made: expected } = coins.spendBy(hash, transaction);
    history.takeOwn(own, spent, expected);
    keep?.(hash);
    writes.onFailure(() => {
      coins.release([{ hash, transaction }]);
      outgoing.discard(hash, before);
      history.discard(hash, movement);
      ownOutputs.discard(transaction);
      staged.isUndone = true;
    });
    return staged;
  }

  /** Resolves when a staged transaction is durable: then it may be sent. Throws `wallet_write_failed`. */
  async release(staged: Staged): Promise<OwnTransaction> {
    const { outgoing, settlement, writes } = this.#modules;
    const failure = await writes.flush().then(
      () => undefined,
      (cause: unknown) => ({ cause }),
    );
    if (staged.isUndone || failure !== undefined) throw unwritten(failure);
    outgoing.release(staged.made.hash);
    settlement.announce(staged.made);
    return staged.made;
  }

  async #bounded<T>(make: () => Promise<T>): Promise<T> {
    this.#modules.writes.checkRoom();
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
    return this.release(await this.#building.run(() => this.#buildPayment(order)));
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
        return this.stage(transaction, { kind: kind ?? 'payment', peer: peer ?? null, keep });
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
        staged.split = this.stage(split.transaction, { kind: 'payment', peer: null });
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

  /** Frees reserved coins again, and the addresses of a split, when the work on them fails. */
  async #orCancel<T>(coins: readonly Coin[], split: Transaction | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#modules.coins.cancel(coins);
      if (split !== undefined) this.#modules.ownOutputs.discard(split);
      throw error;
    }
  }

  async #createItem(order: ItemOrder): Promise<OwnTransaction> {
    const { keys, meta, ownOutputs, slices } = this.#modules;
    await slices.turn();
    const height = BigInt(Math.max(meta.current.block, 0));
    const transaction = await ownOutputs.lend('items', order.amount, (address) =>
      keys.withKey(address, (key) => buildItemCreation(order, height, key)),
    );
    return this.release(this.stage(transaction, { kind: 'item', peer: null, keep: order.keep }));
  }

  async #buildJoin(assetId: string, choose: () => readonly Coin[]): Promise<Staged | undefined> {
    await this.#modules.slices.turn();
    const coins = choose();
    if (coins.length === 0) return undefined;
    const total = coins.reduce((sum, { amount }) => sum + amount, 0n);
    this.#modules.coins.reserve(coins);
    const transaction = await this.#sign(coins, assetId, (ownAddress) => ({
      inputs: coins,
      to: ownAddress(total),
      asset: assetOf(assetId, total),
      locktime: 0n,
      change: null,
    }));
    return transaction && this.stage(transaction, { kind: 'merge', peer: null });
  }

  /** Signs a payment of reserved coins; they are free again if that fails. Undefined if one was lost. `plan` makes own addresses. */
  async #sign(
    coins: readonly Coin[],
    assetId: string,
    plan: (ownAddress: (amount: bigint) => string) => PaymentPlan,
  ): Promise<Transaction | undefined> {
    const { coins: store, keys, ownOutputs, slices, history } = this.#modules;
    const given: string[] = [];
    const ownAddress = (amount: bigint): string => {
      const address = ownOutputs.next(assetId === TOKENS ? 'change' : 'items', amount);
      given.push(address);
      return address;
    };
    let signed: Transaction | undefined;
    try {
      const transaction = await keys.withKeys(
        coins.map(({ address }) => address),
        (signing) => buildPaymentInTurns(plan(ownAddress), signing, () => slices.turn()),
      );
      // A transaction without change may be equal to one that was rejected before; then that one is queued again.
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
}

function tooFast(): TesseraError {
  return new TesseraError('overloaded', 'the outputs of this wallet change too fast; try again in a moment');
}

function unwritten(failure: { readonly cause?: unknown } = {}): TesseraError {
  return new TesseraError('wallet_write_failed', 'the wallet cannot be written to disk; nothing was paid', failure);
}
