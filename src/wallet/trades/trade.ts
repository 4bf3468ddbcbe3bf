/** One trade of this wallet, and its record on disk. */

import { itemAsset, tokenAsset } from '../../chain/assets.js';
import type { Asset, OutPoint } from '../../chain/types.js';
import { decodeRecord } from '../../db/decode-record.js';
import { fromUtf8, utf8 } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { TOKENS } from '../coins/coin.js';
import { checkAmount } from '../payments/payment-builder.js';
import type { TradeState } from '../service.js';
import {
  type Acceptance,
  type Confirmation,
  creationIn,
  type Offer,
  readDocument,
  refused,
  type TradedAsset,
} from './documents.js';

/** A trade of the wallet. `coins` are set aside for it: what it gives, or what a cancelled half takes back until a block has that. */
export interface Trade {
  readonly id: string;
  readonly side: 'maker' | 'taker';
  readonly state: TradeState;
  /** Why the trade ended without success; else empty. */
  readonly reason: string;
  /** Time of the trade's beginning, in milliseconds since the Unix epoch. */
  readonly createdAt: number;
  /** `host:port` of the other party's node, when it is known. */
  readonly peer: string | null;
  /** Sender of a received offer: the remote end of its link, which a sender cannot choose. */
  readonly sender?: string;
  /** True when the peer that an own offer is for has it. */
  readonly isSent?: boolean;
  readonly offer: Offer;
  readonly acceptance: Acceptance | null;
  readonly confirmation: Confirmation | null;
  readonly coins: readonly OutPoint[];
  readonly half: string | null;
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

/** A trade from its record. Throws `wallet_unreadable`. */
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

const MS_PER_SECOND = 1_000;
/** Milliseconds after the end of an offer in which halves that are out may still meet. */
const GRACE = 120_000;
/** The longest life of an offer, in ms, and the most that the clocks of two nodes may differ. */
const MAX_LIFE = 30 * 86_400_000;
const CLOCK_TOLERANCE = 3_600_000;

export interface TradeRules {
  readonly network: string;
  /** The least raw units of a token output. */
  readonly minOutputAmount: bigint;
}

export function assetIdOf(asset: TradedAsset): string {
  return asset.kind === 'token' ? TOKENS : asset.genesis_hash;
}

/** Throws `trade_refused` or `payment_refused` for assets that cannot be exchanged. */
export function checkExchange(give: TradedAsset, get: TradedAsset, { minOutputAmount }: TradeRules): void {
  if (assetIdOf(give) === assetIdOf(get)) throw refused('a trade gives one thing for another: these are the same');
  for (const asset of [give, get]) {
    checkAmount(BigInt(asset.amount));
    if (asset.kind === 'token' && BigInt(asset.amount) < minOutputAmount) {
      throw refused(`an output of this network has at least ${minOutputAmount} raw units`);
    }
  }
}

/** Throws `trade_refused` for an offer that cannot be accepted here, and `trade_closed` for one that has expired. */
export function checkOffer(offer: Offer, rules: TradeRules, now: number): void {
  if (offer.network !== rules.network) {
    throw refused(`the offer is of the network ${offer.network}, and this is ${rules.network}`);
  }
  checkExchange(offer.want, offer.give, rules);
  creationIn(offer);
  checkTime(offer.expires_at, now);
  if (offer.expires_at * MS_PER_SECOND > now + MAX_LIFE + CLOCK_TOLERANCE) {
    throw refused('the offer stands for more than 30 days');
  }
}

/** Throws `trade_closed` after the end of an offer. `end` in Unix seconds, `now` in ms. */
export function checkTime(end: number, now: number): void {
  if (!isExpired(end, now)) return;
  const until = new Date(end * MS_PER_SECOND).toISOString();
  throw new TesseraError('trade_closed', `the offer has expired: it stood until ${until}`);
}

/** Throws `trade_closed` when no half can meet its other half any more: some time after the end of the offer, for clocks differ. */
export function checkCompletionTime(end: number, now: number): void {
  checkTime(end, now - GRACE);
}

export function isExpired(end: number, now: number): boolean {
  return end * MS_PER_SECOND <= now;
}

export function isOverdue(trade: Trade, now: number): boolean {
  if (hasEnded(trade) || trade.state === 'cancelling') return false;
  return isExpired(trade.offer.expires_at, trade.state === 'agreed' ? now - GRACE : now);
}

const WORDS: Readonly<Record<TradeState, string>> = {
  received: 'has not been accepted',
  open: 'is open',
  accepted: 'is accepted and waits for its maker',
  agreed: 'is agreed upon: what becomes of it is decided by the next blocks',
  cancelling: 'is being cancelled',
  done: 'is done',
  cancelled: 'was cancelled',
  expired: 'has expired',
  failed: 'has failed',
};

export function closed({ id, state, reason }: Trade): TesseraError {
  return new TesseraError('trade_closed', `the trade ${id} ${WORDS[state]}${reason === '' ? '' : `: ${reason}`}`);
}
