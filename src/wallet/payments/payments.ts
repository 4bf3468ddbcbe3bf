/**
 * Makes own transactions: takes coins, signs, and hands the result to the queue. Coins are chosen and taken in one
 * synchronous step, so parallel payments never touch an outpoint twice; a payment counts when keys, coins and transaction
 * are durable together, and whatever fails before gives the coins back.
 */

import { transactionHash } from '../../chain/hash.js';
import type { GenesisHashSpec, Transaction } from '../../chain/types.js';
import type { Clock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { type Coin, TOKENS } from '../coins/coin.js';
import { type SelectionLimits, selectCoins } from '../coins/coin-selection.js';
import type { FundBook } from '../coins/fund-book.js';
import { type KeyRing, wipeKeys } from '../keys/key-ring.js';
import type { MetaStore } from '../meta.js';
import type { StagedWrites } from '../staged-writes.js';
import type { Outgoing, OutgoingKind, OwnTransaction } from './outgoing.js';
import { type AddressKeys, assetOf, buildItemCreation, buildPayment, checkPayment } from './payment-builder.js';

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
}

export interface ItemOrder {
  readonly spec: GenesisHashSpec;
  readonly amount: bigint;
  readonly metadata: string | null;
}

export interface Payments {
  /** Resolves when durable. Throws `payment_refused`, `insufficient_funds` with the shortfall, `wallet_write_failed`. */
  pay(order: PaymentOrder): Promise<OwnTransaction>;
  /** Resolves when durable. Throws `payment_refused`, `wallet_write_failed`. */
  createItem(order: ItemOrder): Promise<OwnTransaction>;
  /** Joins the smallest token coins when there are more than the threshold; resolves with what was made. */
  merge(): Promise<readonly OwnTransaction[]>;
}

export interface PaymentOptions {
  readonly limits: SelectionLimits;
  /** Merge when more spendable token outputs than this are held; null never does. */
  readonly aggregateAbove: number | null;
}

export interface PaymentModules {
  readonly book: FundBook;
  readonly keys: KeyRing;
  readonly outgoing: Outgoing;
  readonly writes: StagedWrites;
  readonly meta: MetaStore;
  readonly clock: Clock;
}

/** Merges under way at once: a wallet with thousands of rewards shrinks by a few thousand in each block. */
const MAX_MERGES = 4;
/** Items are counted one by one: no change is too small. */
const ITEM_DUST = 1n;

export function createPayments(options: PaymentOptions, modules: PaymentModules): Payments {
  const { book, keys, outgoing, writes, meta, clock } = modules;
  const { limits, aggregateAbove } = options;

  function choose(assetId: string, amount: bigint): { readonly coins: readonly Coin[]; readonly change: bigint } {
    const dust = assetId === TOKENS ? limits.dust : ITEM_DUST;
    const selection = selectCoins(book.spendable(assetId), amount, { ...limits, dust });
    if (selection.kind === 'found') return selection;
    if (selection.kind === 'short') throw shortfall(assetId, amount);
    throw new TesseraError(
      'insufficient_funds',
      `one transaction has at most ${limits.maxInputs} inputs and could pay ${selection.reachable} of ${amount}: pay less, ` +
        'or pay yourself first to join small outputs',
      { details: { reachable: String(selection.reachable), needed: String(amount) } },
    );
  }

  function shortfall(assetId: string, needed: bigint): TesseraError {
    const { available, locked, unconfirmed } = book.totals(assetId);
    const what = assetId === TOKENS ? 'raw units' : `items ${assetId}`;
    const wait = unconfirmed > 0n ? `, ${unconfirmed} of it until a block has own payments` : '';
    return new TesseraError(
      'insufficient_funds',
      `the payment needs ${needed} ${what}: available ${available}, locked ${locked}${wait}, short of ${needed - available}`,
      { details: { needed: String(needed), available: String(available), locked: String(locked) } },
    );
  }

  /** Signs with the keys of the inputs and makes the transaction own; the coins come back if anything fails. */
  async function spend(
    coins: readonly Coin[],
    build: (signing: AddressKeys) => Transaction,
    kind: OutgoingKind,
    peer: string | null,
  ): Promise<OwnTransaction> {
    book.reserve(coins);
    let transaction: Transaction;
    try {
      const signing = await keys.signingKeys(coins.map(({ address }) => address));
      try {
        transaction = build(signing);
      } finally {
        wipeKeys(signing);
      }
    } catch (error) {
      book.cancel(coins);
      throw error;
    }
    return enqueue(transaction, kind, peer);
  }

  async function enqueue(transaction: Transaction, kind: OutgoingKind, peer: string | null): Promise<OwnTransaction> {
    const hash = transactionHash(transaction);
    outgoing.add({ hash, transaction, kind, peer, createdAt: clock.now() });
    book.spendBy(hash, transaction);
    try {
      await writes.flush();
    } catch (error) {
      book.release(hash, transaction);
      outgoing.discard(hash);
      throw error;
    }
    outgoing.release(hash);
    const made = outgoing.get(hash);
    if (made === undefined) throw new TesseraError('internal_error', `the own transaction ${hash} is gone`);
    return made;
  }

  function mergesUnderWay(): number {
    let count = 0;
    for (const { kind } of outgoing.inFlight()) if (kind === 'merge') count += 1;
    return count;
  }

  async function mergeOnce(threshold: number): Promise<OwnTransaction> {
    // The largest coins stay, so that the wallet can pay while the merge is on its way.
    const count = Math.min(limits.maxInputs, book.spendableCount(TOKENS) - Math.floor(threshold / 2));
    const coins = book.spendable(TOKENS).slice(0, count);
    const amount = coins.reduce((sum, coin) => sum + coin.amount, 0n);
    const plan = { inputs: coins, to: keys.create(), asset: assetOf(TOKENS, amount), locktime: 0n, change: null };
    return spend(coins, (signing) => buildPayment(plan, signing), 'merge', null);
  }

  return {
    pay({ address, amount, genesisHash, locktime, kind = 'payment', peer = null }) {
      checkPayment(address, amount, locktime);
      const assetId = genesisHash ?? TOKENS;
      const { coins, change } = choose(assetId, amount);
      const plan = {
        inputs: coins,
        to: address,
        asset: assetOf(assetId, amount),
        locktime,
        change: change === 0n ? null : { amount: change, address: keys.create() },
      };
      return spend(coins, (signing) => buildPayment(plan, signing), kind, peer);
    },
    async createItem(order) {
      const address = keys.create();
      const signing = await keys.signingKeys([address]);
      const key = signing.get(address);
      if (key === undefined) throw new TesseraError('internal_error', 'a fresh key is gone');
      const blockNum = BigInt(Math.max(meta.current.block, 0));
      let transaction: Transaction;
      try {
        transaction = buildItemCreation(order, blockNum, key);
      } finally {
        wipeKeys(signing);
      }
      return enqueue(transaction, 'item', null);
    },
    async merge() {
      const made: OwnTransaction[] = [];
      if (aggregateAbove === null) return made;
      while (book.spendableCount(TOKENS) > Math.max(aggregateAbove, 1) && mergesUnderWay() < MAX_MERGES) {
        made.push(await mergeOnce(aggregateAbove));
      }
      return made;
    },
  };
}
