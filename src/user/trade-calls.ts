/** Calls of a wallet's owner about its trades: offering, accepting, completing, and how they stand. */

import type { Asset } from '../chain/types.js';
import type { Clock } from '../lib/clock.js';
import { requireSocketAddress } from '../lib/ip-address.js';
import type { PeerNetwork } from '../peers/network.js';
import type { KeepKey } from '../wallet/idempotency-keys.js';
import { metadataOf } from '../wallet/items.js';
import { creationIn, readDocument, refused, type TradedAsset } from '../wallet/trades/documents.js';
import { assetOfTraded, exchangeOf, ownAddress, type Trade } from '../wallet/trades/trade.js';
import type { Wallet } from '../wallet/wallet.js';
import type { DocumentJson, TradeInfo, TradeOffer } from './service.js';
import type { TradeKeeper } from './trade-keeper.js';

const MS_PER_SECOND = 1_000;

export interface TradeModules {
  readonly wallet: Wallet;
  readonly network: PeerNetwork;
  readonly clock: Clock;
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

/** Sends an own offer to its peer, unless that has it. A failure ends the offer, and `free` is part of that write. */
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
