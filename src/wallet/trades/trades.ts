/**
 * Trades of two wallets (docs/wallet.md#trades, docs/adr/0026-trades.md). The maker offers, the taker accepts, the maker confirms; then
 * each sends its half, and a DRUID makes a block have both or neither. What a wallet gives is set aside. Halves are known to their wallet
 * and its mempool node only. Every step is one write.
 */

import { txInsAddress } from '../../chain/signable.js';
import type { Transaction } from '../../chain/types.js';
import { toHex } from '../../lib/bytes.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { Mutex } from '../../lib/mutex.js';
import { type Signal, SignalSource } from '../../lib/signal.js';
import type { KeepKey } from '../idempotency-keys.js';
import type { Items } from '../items.js';
import type { WalletParts } from '../modules.js';
import type { SpentCoin } from '../payments/payment-builder.js';
import {
  type Acceptance,
  type Confirmation,
  checkSignature,
  creationIn,
  creationText,
  digestOf,
  druidOf,
  type Offer,
  offerId,
  refused,
  type TradedAsset,
} from './documents.js';
import {
  signAcceptance,
  signConfirmation,
  signOffer,
  signPayment,
  type TakeBackModules,
  takeBack,
} from './take-back.js';
import {
  assetIdOf,
  assetOfTraded,
  checkExchange,
  checkOffer,
  checkTime,
  closed,
  exchangeOf,
  hasEnded,
  isOverdue,
  newTrade,
  ownAddress,
  type Trade,
  type TradeRules,
} from './trade.js';
import { TradeBook } from './trade-book.js';
import { Arrivals, hasCoins, outcomeOf, settleAddress } from './trade-outcomes.js';

export interface TradesModules
  extends TakeBackModules,
    Pick<WalletParts, 'clock' | 'history' | 'kv' | 'logger' | 'random'> {
  readonly items: Items;
}

export interface OfferOrder {
  readonly give: TradedAsset;
  readonly want: TradedAsset;
  /** Unix seconds when the offer expires. */
  readonly expiresAt: number;
  /** `host:port` at which this node takes acceptances; null for documents only. */
  readonly peer: string | null;
  readonly keep?: KeepKey | undefined;
}

export class Trades {
  readonly #rules: TradeRules;
  readonly #modules: TradesModules;
  readonly #book: TradeBook;
  readonly #steps = new Mutex();
  readonly #arrivals = new Arrivals();
  readonly #changed: SignalSource<Trade>;

  private constructor(rules: TradeRules, modules: TradesModules, book: TradeBook) {
    this.#rules = rules;
    this.#modules = modules;
    this.#book = book;
    this.#changed = new SignalSource(modules.logger);
  }

  static async open(rules: TradeRules, modules: TradesModules): Promise<Trades> {
    const trades = new Trades(rules, modules, await TradeBook.open(modules.kv, modules.writes));
    for (const trade of trades.list()) if (!hasEnded(trade)) modules.ownOutputs.withhold(ownAddress(trade));
    for (const { id } of trades.list()) if (trades.#book.find(id) !== undefined) await trades.#reconcile(id);
    modules.settlement.settled.on(({ hash }) => trades.#onSettled(hash));
    modules.settlement.changed.on(() => {
      for (const id of trades.#arrivals.due(modules.coins.height)) trades.#judge(id);
    });
    return trades;
  }

  get changed(): Signal<Trade> {
    return this.#changed;
  }

  list(): readonly Trade[] {
    return this.#book.list();
  }

  get(id: string): Trade {
    return this.#book.get(id);
  }

  /** Makes an offer of one asset for another. Throws as `Payments.pay`, and `trade_refused` for assets that cannot be traded. */
  offer(order: OfferOrder): Promise<Trade> {
    return this.#steps.run(() => this.#offer(order));
  }

  /** Lists an offer of the node at `peer`, from `sender`; no coins are set aside. Throws `trade_refused`, `trade_closed`. */
  receive(offer: Offer, peer: string, sender: string): Promise<void> {
    return this.#steps.run(() => this.#receive(offer, peer, sender));
  }

  /** Accepts an offer; the same offer again gives the same trade. Throws as `offer`, and `trade_closed`. */
  accept(offer: Offer): Promise<Trade> {
    return this.#steps.run(() => this.#accept(offer));
  }

  /**
   * Goes on with the other party's acceptance or confirmation: the own half is durable, then sent; idempotent. Throws `trade_not_found`,
   * `trade_refused`, `trade_closed`, `wallet_write_failed`.
   */
  complete(document: Acceptance | Confirmation): Promise<Trade> {
    return this.#steps.run(() =>
      document.kind === 'tessera-trade-acceptance' ? this.#confirm(document) : this.#finish(document),
    );
  }

  /**
   * Ends a trade. When the own half is out, its inputs are paid back to this wallet, and the trade has ended when a block has
   * that payment: until then it may still take place. Throws `trade_not_found`, `trade_closed`, `wallet_write_failed`.
   */
  cancel(id: string): Promise<Trade> {
    return this.#steps.run(() => this.#end(this.get(id), 'cancelled', 'cancelled'));
  }

  /** Ends an own offer that could not be sent; `stage` adds to the write. False when it was accepted, and so did arrive. */
  withdraw(id: string, stage: () => void): Promise<boolean> {
    return this.#steps.run(async () => {
      const trade = this.get(id);
      if (trade.acceptance !== null) return false;
      stage();
      if (trade.state === 'open') await this.#end(trade, 'cancelled', 'cancelled');
      else await this.#modules.writes.flush();
      return true;
    });
  }

  /** Notes that the peer has an own offer. Written with the next change: at worst it is sent twice. */
  noteSent(id: string): void {
    const trade = this.#book.find(id);
    if (trade?.state === 'open') this.#book.put({ ...trade, isSent: true });
  }

  /** Ends an acceptance that the maker refuses for good; does nothing when the trade has gone on. */
  giveUp(id: string, reason: string): Promise<void> {
    return this.#steps.run(async () => {
      if (this.#book.find(id)?.state === 'accepted') await this.#end(this.get(id), 'failed', reason);
    });
  }

  async expire(): Promise<void> {
    const now = this.#modules.clock.now();
    for (const { id } of this.list().filter((trade) => isOverdue(trade, now))) {
      await this.#steps.run(async () => {
        const trade = this.#book.find(id);
        if (trade === undefined || !isOverdue(trade, now)) return;
        try {
          await this.#end(trade, 'expired', 'it was not completed in time');
        } catch (error) {
          // A block is just deciding about the trade.
          if (!isTesseraError(error, 'trade_closed')) throw error;
        }
      });
    }
  }

  settled(): Promise<void> {
    return this.#steps.run(() => undefined);
  }

  // Steps

  async #offer({ give, want, expiresAt, peer, keep }: OfferOrder): Promise<Trade> {
    const { keys, items, random, clock, writes, payments } = this.#modules;
    writes.checkRoom();
    this.#book.checkRoom();
    checkTime(expiresAt, clock.now());
    checkExchange(give, want, this.#rules);
    payments.checkFunds(BigInt(give.amount), assetIdOf(give));
    const creation = give.kind === 'item' ? await items.creationOf(give.genesis_hash) : undefined;
    return this.#withAddress(want, async (to) => {
      const content = {
        ...{ network: this.#rules.network, give, want, to, peer },
        expires_at: expiresAt,
        creation: creationText(creation),
        nonce: toHex(random.bytes(16)),
      };
      const offer = await signOffer(content, keys);
      const trade = newTrade({ id: offerId(offer), side: 'maker', state: 'open', offer, createdAt: clock.now() });
      return this.#keepAside(give, trade.id, async (coins) => ({ ...trade, coins: outPointsOf(coins) }), keep);
    });
  }

  async #receive(offer: Offer, peer: string, sender: string): Promise<void> {
    const { clock, writes } = this.#modules;
    writes.checkRoom();
    this.#checkForeign(offer);
    const id = offerId(offer);
    if (this.#book.find(id) !== undefined) return;
    this.#book.makeRoomFor(sender);
    const trade = newTrade({ id, side: 'taker', state: 'received', offer, createdAt: clock.now() });
    await this.#change({ ...trade, peer, sender });
  }

  async #accept(offer: Offer): Promise<Trade> {
    const { keys, clock, writes, payments } = this.#modules;
    const id = offerId(offer);
    const known = this.#book.find(id);
    if (known !== undefined && known.side === 'taker' && known.state !== 'received') {
      if (hasEnded(known) || known.state === 'cancelling') throw closed(known);
      return known;
    }
    writes.checkRoom();
    this.#book.checkRoom();
    this.#checkForeign(offer);
    const { want } = offer;
    payments.checkFunds(BigInt(want.amount), assetIdOf(want));
    const fresh = newTrade({ id, side: 'taker', state: 'accepted', offer, createdAt: clock.now() });
    const trade = { ...fresh, peer: offer.peer ?? known?.peer ?? null };
    return this.#withAddress(offer.give, (to) =>
      this.#keepAside(want, id, async (coins) => {
        const half = await signPayment({ inputs: coins, to: offer.to, asset: assetOfTraded(want) }, keys);
        const acceptance = await signAcceptance({ offer: id, to, from: txInsAddress(half.inputs) }, keys);
        return { ...trade, acceptance, coins: outPointsOf(coins) };
      }),
    );
  }

  async #confirm(acceptance: Acceptance): Promise<Trade> {
    const { keys, clock } = this.#modules;
    const trade = this.get(acceptance.offer);
    const { offer } = trade;
    if (trade.side !== 'maker') throw refused('this is an acceptance of an offer that this wallet has not made');
    if (trade.acceptance !== null && digestOf(trade.acceptance) === digestOf(acceptance)) return trade;
    if (trade.state !== 'open') throw closed(trade);
    checkTime(offer.expires_at, clock.now());
    if (keys.owns(acceptance.to)) throw refused('the acceptance wants to be paid at an address of this wallet');
    const half = await this.#half(trade, acceptance.to);
    const confirmed = { offer: trade.id, acceptance: digestOf(acceptance), from: txInsAddress(half.inputs) };
    const confirmation = await signConfirmation(offer.to, confirmed, keys);
    return this.#sendHalf({ ...trade, acceptance, confirmation }, half, acceptance.from);
  }

  async #finish(confirmation: Confirmation): Promise<Trade> {
    const trade = this.get(confirmation.offer);
    const { acceptance, offer } = trade;
    if (trade.side !== 'taker' || acceptance === null)
      throw refused('this confirms nothing that this wallet has accepted');
    checkSignature(confirmation, offer.to);
    if (confirmation.acceptance !== digestOf(acceptance))
      throw refused('this confirms the acceptance of somebody else');
    if (trade.confirmation !== null && digestOf(trade.confirmation) === digestOf(confirmation)) return trade;
    if (trade.state !== 'accepted') throw closed(trade);
    const half = await this.#half(trade, offer.to);
    if (txInsAddress(half.inputs) !== acceptance.from) {
      throw new TesseraError('internal_error', `the half of trade ${trade.id} is not the one that was announced`);
    }
    const creation = creationIn(offer);
    if (creation !== undefined) this.#modules.items.tell(creation);
    return this.#sendHalf({ ...trade, confirmation }, half, confirmation.from);
  }

  /** Sends the own half. `from`: the name of the other half. */
  async #sendHalf(trade: Trade, unnamed: Transaction, from: string): Promise<Trade> {
    const { coins, payments, writes } = this.#modules;
    const to = ownAddress(trade);
    if (trade.acceptance === null || to === null) throw new TesseraError('internal_error', 'a half without a trade');
    writes.checkRoom();
    const expectations = [{ from, to, asset: assetOfTraded(exchangeOf(trade).get) }];
    const druidInfo = { druid: druidOf(trade.acceptance), participants: 2n, expectations, genesisHash: null };
    writes.onFailure(() => coins.aside.keep(trade.coins, trade.id));
    const staged = payments.stage({ ...unnamed, druidInfo }, { kind: 'trade', peer: trade.peer });
    const agreed = this.#book.put({ ...trade, state: 'agreed', coins: [], half: staged.made.hash });
    await payments.release(staged);
    return this.#tell(agreed);
  }

  async #end(trade: Trade, state: 'cancelled' | 'expired' | 'failed', reason: string): Promise<Trade> {
    if (trade.state === 'agreed') return this.#takeBack(trade, reason);
    if (trade.state !== 'received') {
      if (hasEnded(trade) || trade.state === 'cancelling') throw closed(trade);
      return this.#change({ ...trade, state, reason, coins: [] }, trade);
    }
    this.#book.drop(trade);
    await this.#modules.writes.flush();
    return { ...trade, state, reason };
  }

  async #takeBack(trade: Trade, reason: string): Promise<Trade> {
    const put = (going: Pick<Trade, 'coins' | 'takeBack'>): void => {
      this.#book.put({ ...trade, state: 'cancelling', reason, ...going });
    };
    await takeBack({ trade, reason, put }, this.#modules);
    return this.#tell(this.get(trade.id));
  }

  #onSettled(hash: string): void {
    for (const { id, half, takeBack } of this.list()) {
      if (half === hash || takeBack === hash) this.#judge(id);
    }
  }

  #judge(id: string): void {
    const { logger, writes } = this.#modules;
    void this.#steps.run(async () => {
      if (writes.isClosed || this.#book.find(id) === undefined) return;
      try {
        await this.#reconcile(id);
      } catch (error) {
        logger.error({ trade: id, error: errorMessage(error) }, 'the end of a trade could not be written');
      }
    });
  }

  async #reconcile(id: string): Promise<Trade> {
    const trade = this.get(id);
    const modules = { ...this.#modules, arrivals: this.#arrivals };
    const outcome = await outcomeOf(trade, modules.clock.now(), modules);
    if (outcome === undefined) return trade;
    const changed = await this.#change({ ...trade, ...outcome, coins: [] }, trade);
    this.#arrivals.forget(id);
    return changed;
  }

  // Parts of steps

  async #keepAside(
    asset: TradedAsset,
    id: string,
    prepare: (coins: readonly SpentCoin[]) => Promise<Trade>,
    keep?: KeepKey,
  ): Promise<Trade> {
    await this.#modules.payments.setAside({
      assetId: assetIdOf(asset),
      amount: BigInt(asset.amount),
      trade: id,
      prepare,
      stage: (trade) => {
        this.#book.put(trade);
        keep?.(id);
      },
    });
    return this.#tell(this.get(id));
  }

  /** The own half: pays the coins that are set aside to the other party. */
  async #half(trade: Trade, to: string): Promise<Transaction> {
    const { coins, keys } = this.#modules;
    if (!hasCoins(trade, coins)) throw closed(await this.#reconcile(trade.id));
    const inputs = coins.aside.of(trade.coins, trade.id);
    return signPayment({ inputs, to, asset: assetOfTraded(exchangeOf(trade).give) }, keys);
  }

  /** Does work with an address to be paid at. Addresses of failed trades are given again, for the search by words. */
  #withAddress<T>(asset: TradedAsset, work: (to: string) => Promise<T>): Promise<T> {
    return this.#modules.ownOutputs.lend(asset.kind === 'item' ? 'items' : 'change', BigInt(asset.amount), work);
  }

  #checkForeign(offer: Offer): void {
    const { clock, keys } = this.#modules;
    if (keys.owns(offer.to)) throw refused('this is an offer of this wallet: somebody else has to accept it');
    checkOffer(offer, this.#rules, clock.now());
  }

  /** Writes a changed trade; resolves when it is durable. Coins that were set aside for it `before` are free, unless it still needs them. */
  async #change(trade: Trade, before?: Trade): Promise<Trade> {
    const { coins, settlement, writes } = this.#modules;
    if (before !== undefined) {
      const kept = coins.aside.of(before.coins, before.id).map(({ outPoint }) => outPoint);
      coins.aside.giveBack(kept, before.id);
      writes.onFailure(() => coins.aside.keep(kept, before.id));
    }
    this.#book.put(trade);
    settleAddress(trade, this.#modules);
    await settlement.commit();
    return this.#tell(trade);
  }

  #tell(trade: Trade): Trade {
    this.#changed.emit(trade);
    return trade;
  }
}

function outPointsOf(coins: readonly SpentCoin[]) {
  return coins.map(({ outPoint }) => outPoint);
}
