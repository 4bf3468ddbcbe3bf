/** One trade of this wallet, and its record on disk. */

import { itemAsset, tokenAsset } from '../../chain/assets.js';
import type { Asset, OutPoint } from '../../chain/types.js';
import { decodeRecord } from '../../db/record.js';
import { fromUtf8, utf8 } from '../../lib/bytes.js';
import type { TradeState } from '../service.js';
import { type Acceptance, type Confirmation, type Offer, readDocument, type TradedAsset } from './documents.js';

/** A trade of the wallet. `coins` are kept aside for it: what it gives, or what a cancelled half takes back until a block has that. */
export interface Trade {
  readonly id: string;
  readonly side: 'maker' | 'taker';
  readonly state: TradeState;
  /** Why it ended without success; else empty. */
  readonly reason: string;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  /** `host:port` of the other party's node, when it is known. */
  readonly peer: string | null;
  /** Sender of a received offer: where the link came from that brought it, which its sender cannot choose. */
  readonly sender?: string;
  /** The peer to which an own offer was to be sent has it. */
  readonly isSent?: boolean;
  readonly offer: Offer;
  readonly acceptance: Acceptance | null;
  readonly confirmation: Confirmation | null;
  readonly coins: readonly OutPoint[];
  /** Hash of the own half, once there is one. */
  readonly half: string | null;
  /** Hash of what takes the inputs of the half back. */
  readonly takeBack: string | null;
}

export function newTrade(first: Pick<Trade, 'id' | 'side' | 'state' | 'offer' | 'createdAt'>): Trade {
  const nothing = { reason: '', peer: null, acceptance: null, confirmation: null, half: null, takeBack: null };
  return { ...first, ...nothing, coins: [] };
}

const ENDED: ReadonlySet<TradeState> = new Set(['done', 'cancelled', 'expired', 'failed']);

export function hasEnded({ state }: Pick<Trade, 'state'>): boolean {
  return ENDED.has(state);
}

export function exchangeOf({ side, offer }: Pick<Trade, 'side' | 'offer'>): { give: TradedAsset; get: TradedAsset } {
  return side === 'maker' ? { give: offer.give, get: offer.want } : { give: offer.want, get: offer.give };
}

/** Address where this wallet is paid; null for an offer that it has not accepted. */
export function ownAddress({ side, offer, acceptance }: Trade): string | null {
  return side === 'maker' ? offer.to : (acceptance?.to ?? null);
}

export function assetOfTraded(asset: TradedAsset): Asset {
  const amount = BigInt(asset.amount);
  return asset.kind === 'token' ? tokenAsset(amount) : itemAsset(amount, asset.genesis_hash);
}

export function encodeTrade(trade: Trade): Uint8Array {
  return utf8(JSON.stringify(trade));
}

/** Throws `wallet_unreadable`. */
export function decodeTrade(record: Uint8Array): Trade {
  return decodeRecord('trade', record, (from) => readTrade(JSON.parse(fromUtf8(from.rest()))), 'wallet_unreadable');
}

function readTrade(value: unknown): Trade {
  const trade = value as Trade;
  if (typeof trade.id !== 'string' || !Array.isArray(trade.coins)) throw new RangeError('not a trade');
  for (const document of [trade.offer, trade.acceptance, trade.confirmation]) {
    if (document !== null) readDocument(document);
  }
  return trade;
}
