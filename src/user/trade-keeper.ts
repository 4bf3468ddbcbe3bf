/**
 * Trades with other nodes (docs/wallet.md#trades): sends and takes documents over links, sends forgotten halves again, ends expired
 * trades. Nothing that a stranger sends makes the wallet set coins aside.
 */

import { setMaxListeners } from 'node:events';
import type { Asset } from '../chain/types.js';
import type { Timer } from '../lib/clock.js';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';
import { FewLines } from '../lib/few-lines.js';
import { requireSocketAddress } from '../lib/ip-address.js';
import { Mutex } from '../lib/mutex.js';
import { hasWallet } from '../lib/roles.js';
import type { HasClock } from '../observability/modules.js';
import type { MessageBody } from '../peers/messages.js';
import type { Link, PeerNetwork, Reply } from '../peers/network.js';
import type { KeepKey } from '../wallet/idempotency-keys.js';
import { metadataOf } from '../wallet/items.js';
import {
  creationIn,
  type Offer,
  readDocument,
  refused,
  type TradeDocument,
  type TradedAsset,
} from '../wallet/trades/documents.js';
import { assetOfTraded, exchangeOf, ownAddress, type Trade } from '../wallet/trades/trade.js';
import type { Wallet } from '../wallet/wallet.js';
import type { UserModules } from './modules.js';
import type { DocumentJson, TradeInfo, TradeOffer } from './service.js';

/** Milliseconds to open a link, and to wait for an answer. */
const DIAL_TIMEOUT = 5_000;
const ANSWER_TIMEOUT = 10_000;
const LOOK_EVERY = 5_000;
/** Milliseconds after which a waiting half is looked up at the mempool node again. */
const LOOK_UP_EVERY = 30_000;
/** Milliseconds before the first attempt to bring an acceptance to its maker again, and before later ones at most. */
const FIRST_RETRY = 5_000;
const MAX_RETRY = 300_000;

/** Answers after which the maker will never take this acceptance. */
const FINAL: ReadonlySet<string> = new Set(['trade_refused', 'trade_closed']);

export interface TradeKeeperModules extends UserModules {
  /** Looks up a transaction of the wallet at the mempool node, and sends it again when the node has forgotten it. */
  readonly lookUp: (hash: string) => void;
}

export class TradeKeeper {
  readonly #modules: TradeKeeperModules;
  readonly #lines: FewLines;
  readonly #stopping = new AbortController();
  /** Acceptances that could not be brought to their maker, by id. */
  readonly #attempts = new Map<string, { failures: number; next: number }>();
  readonly #looking = new Mutex();
  #lookedUp = 0;
  #timer: Timer | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(modules: TradeKeeperModules) {
    this.#modules = modules;
    this.#lines = new FewLines(modules.logger, modules.clock);
    // Every request under way listens to this signal.
    setMaxListeners(0, this.#stopping.signal);
    modules.network.handle('trade.offer', (link, { body }) => this.#onOffer(link, body));
    modules.network.handle('trade.accept', (_, { body }) => this.#onAcceptance(body));
  }

  start(): void {
    this.#unsubscribe = this.#modules.wallet.trades.changed.on(({ state }) => {
      if (state === 'accepted') void this.#look();
    });
    this.#schedule(0);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#unsubscribe?.();
    this.#timer?.cancel();
    await this.#looking.run(() => undefined);
  }

  /** Opens a link to the node at `peer`, if there is none. Throws `peer_unreachable`. */
  async reach(peer: string): Promise<void> {
    await this.#dial(peer);
  }

  /** Sends an offer to the node at `peer`. Throws `peer_unreachable`, and what that node answers. */
  async sendOffer(peer: string, offer: Offer): Promise<void> {
    const link = await this.#dial(peer);
    const answer = await link.request('trade.offer', { document: JSON.stringify(offer) }, this.#waiting());
    if (answer.type !== 'trade.listed') throw new TesseraError('peer_unreachable', `${peer} did not take the offer`);
  }

  #schedule(ms: number): void {
    this.#timer = this.#modules.clock.after(ms, () => {
      void this.#look().finally(() => {
        if (!this.#stopping.signal.aborted) this.#schedule(LOOK_EVERY);
      });
    });
  }

  async #look(): Promise<void> {
    try {
      await this.#looking.run(() => this.#lookOnce());
    } catch (error) {
      this.#modules.logger.warn({ error: errorMessage(error) }, 'trades could not be gone on with; trying again');
    }
  }

  async #lookOnce(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const { trades } = this.#modules.wallet;
    this.#lookUpHalves();
    await Promise.all(trades.list().map((trade) => this.#bring(trade)));
    await trades.expire();
  }

  /** Looks up waiting halves: a mempool node forgets them after a while, and refuses them with a false half of somebody else. */
  #lookUpHalves(): void {
    const { wallet, clock, lookUp } = this.#modules;
    if (clock.monotonic() - this.#lookedUp < LOOK_UP_EVERY) return;
    this.#lookedUp = clock.monotonic();
    for (const { half, state } of wallet.trades.list()) {
      const isWaiting = state === 'agreed' && half !== null && wallet.outgoing.get(half)?.state === 'sent';
      if (isWaiting) lookUp(half);
    }
  }

  /** Brings an acceptance to its maker, whose answer is the confirmation. */
  async #bring({ id, state, side, peer, acceptance }: Trade): Promise<void> {
    const { clock, logger, wallet } = this.#modules;
    if (side !== 'taker' || state !== 'accepted' || peer === null || acceptance === null) {
      this.#attempts.delete(id);
      return;
    }
    const attempts = this.#attempts.get(id) ?? { failures: 0, next: 0 };
    if (clock.monotonic() < attempts.next) return;
    try {
      const link = await this.#dial(peer);
      const answer = await link.request('trade.accept', { document: JSON.stringify(acceptance) }, this.#waiting());
      if (answer.type !== 'trade.confirm') throw refused(`${peer} answered ${answer.type} to an acceptance`);
      const confirmation = documentIn(answer.body as MessageBody<'trade.confirm'>);
      if (confirmation.kind !== 'tessera-trade-confirmation')
        throw refused(`${peer} did not answer with a confirmation`);
      await wallet.trades.complete(confirmation);
      this.#attempts.delete(id);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      const why = errorMessage(error);
      if (isTesseraError(error) && FINAL.has(error.code)) return this.#giveUp(id, `${peer} does not go on: ${why}`);
      const delay = Math.min(FIRST_RETRY * 2 ** attempts.failures, MAX_RETRY);
      this.#attempts.set(id, { failures: attempts.failures + 1, next: clock.monotonic() + delay });
      logger.info(
        { trade: id, peer, error: why, delay },
        'an acceptance could not be brought to its maker; trying again',
      );
    }
  }

  async #giveUp(id: string, reason: string): Promise<void> {
    try {
      await this.#modules.wallet.trades.giveUp(id, reason);
    } catch (error) {
      this.#modules.logger.warn({ trade: id, error: errorMessage(error) }, 'a trade could not be ended; trying again');
    }
  }

  async #onOffer(link: Link, body: MessageBody<'trade.offer'>): Promise<Reply<'trade.listed'>> {
    const offer = documentIn(body);
    if (offer.kind !== 'tessera-trade-offer') throw refused('this is no offer');
    await this.#modules.wallet.trades.receive(offer, link.address, link.sender);
    this.#lines.about(link).info({ peer: link.address }, 'a node has sent an offer');
    return { type: 'trade.listed', body: {} };
  }

  async #onAcceptance(body: MessageBody<'trade.accept'>): Promise<Reply<'trade.confirm'>> {
    const acceptance = documentIn(body);
    if (acceptance.kind !== 'tessera-trade-acceptance') throw refused('this is no acceptance');
    const { confirmation } = await this.#modules.wallet.trades.complete(acceptance);
    if (confirmation === null) throw new TesseraError('internal_error', 'a trade was agreed upon without confirmation');
    return { type: 'trade.confirm', body: { document: JSON.stringify(confirmation) } };
  }

  async #dial(peer: string): Promise<Link> {
    const { network } = this.#modules;
    const link = await network.dial(peer, { timeoutMs: DIAL_TIMEOUT, signal: this.#stopping.signal });
    if (hasWallet(link.role)) return link;
    throw new TesseraError('peer_unreachable', `${peer} is a ${link.role} node; it has no wallet`);
  }

  #waiting() {
    return { timeoutMs: ANSWER_TIMEOUT, signal: this.#stopping.signal };
  }
}

function documentIn({ document }: { readonly document: string }): TradeDocument {
  let value: unknown;
  try {
    value = JSON.parse(document);
  } catch {
    throw refused('this is not JSON');
  }
  return readDocument(value);
}

const MS_PER_SECOND = 1_000;

export interface TradeModules extends HasClock {
  readonly wallet: Wallet;
  readonly network: PeerNetwork;
  readonly keeper: TradeKeeper;
}

/** The id of a new offer; `sendOffer` brings it to the peer. */
export async function makeOffer(
  { give, want, validFor, peer, isReachable }: Omit<TradeOffer, 'passphrase' | 'idempotencyKey'>,
  keep: KeepKey | undefined,
  { wallet, network, clock, keeper }: TradeModules,
): Promise<string> {
  if (peer !== null) {
    requireSocketAddress(peer);
    await keeper.reach(peer);
  }
  const { id } = await wallet.trades.offer({
    give: tradedAsset(give),
    want: tradedAsset(want),
    expiresAt: Math.floor(clock.now() / MS_PER_SECOND) + validFor,
    peer: peer !== null || isReachable ? network.address : null,
    keep,
  });
  return id;
}

/** Sends an own offer to its peer, unless the peer has it. A failure ends the offer, and `free` is part of that write. */
export async function sendOffer(
  id: string,
  peer: string,
  free: () => void,
  { wallet, keeper }: TradeModules,
): Promise<void> {
  const { state, isSent, offer } = wallet.trades.get(id);
  if (state !== 'open' || isSent === true) return;
  try {
    await keeper.sendOffer(peer, offer);
  } catch (error) {
    if (await wallet.trades.withdraw(id, free)) throw error;
  }
  wallet.trades.noteSent(id);
}

export async function acceptOffer(value: unknown, { wallet }: TradeModules): Promise<TradeInfo> {
  const offer = readDocument(value);
  if (offer.kind !== 'tessera-trade-offer')
    throw refused('this is no offer, but a later document of a trade: complete it');
  return tradeInfo(await wallet.trades.accept(offer));
}

export async function completeTrade(value: unknown, { wallet }: TradeModules): Promise<TradeInfo> {
  const document = readDocument(value);
  if (document.kind === 'tessera-trade-offer') throw refused('this is an offer: accept it');
  return tradeInfo(await wallet.trades.complete(document));
}

export function tradeInfo(trade: Trade): TradeInfo {
  const { id, side, state, reason, createdAt, peer, half, offer, acceptance, confirmation } = trade;
  const { give, get } = exchangeOf(trade);
  return {
    ...{ id, side, state, reason, createdAt, peer, half },
    give: assetOfTraded(give),
    get: assetOfTraded(get),
    metadata: metadataOf(creationIn(offer)),
    expiresAt: offer.expires_at,
    address: ownAddress(trade),
    counterparty: side === 'maker' ? (acceptance?.to ?? null) : offer.to,
    offer: offer as DocumentJson,
    acceptance: acceptance as DocumentJson | null,
    confirmation: confirmation as DocumentJson | null,
  };
}

function tradedAsset(asset: Asset): TradedAsset {
  const amount = String(asset.amount);
  if (asset.kind === 'token') return { kind: 'token', amount };
  if (asset.genesisHash === null) throw refused('items are named by their genesis hash');
  return { kind: 'item', amount, genesis_hash: asset.genesisHash };
}
