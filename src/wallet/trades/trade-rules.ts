/** Rules about what can be traded, and refusals of a trade that is not open for it. */

import { TesseraError } from '../../lib/errors.js';
import { TOKENS } from '../coins/coin.js';
import { checkAmount } from '../payments/payment-builder.js';
import type { TradeState } from '../service.js';
import { creationIn, type Offer, refused, type TradedAsset } from './documents.js';
import { hasEnded, type Trade } from './trade.js';

const MS_PER_SECOND = 1_000;
/** Milliseconds after the end of an offer in which halves that are out may still meet. */
const GRACE = 120_000;
/** Longest life of an offer, in ms, and what the clocks of two nodes may differ. */
const MAX_LIFE = 30 * 86_400_000;
const CLOCK_TOLERANCE = 3_600_000;

export interface TradeRules {
  readonly network: string;
  /** Raw units that a token output has at least. */
  readonly minOutputAmount: bigint;
}

export function assetIdOf(asset: TradedAsset): string {
  return asset.kind === 'token' ? TOKENS : asset.genesis_hash;
}

/** Throws `trade_refused` or `payment_refused` for what cannot be exchanged. */
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

/** Throws `trade_closed` after the end of an offer, in Unix seconds. `now` in ms. */
export function checkTime(end: number, now: number): void {
  if (!isExpired(end, now)) return;
  const until = new Date(end * MS_PER_SECOND).toISOString();
  throw new TesseraError('trade_closed', `the offer has expired: it stood until ${until}`);
}

/** Throws `trade_closed` when no half can meet its other any more: some time after the end of the offer, for clocks differ. */
export function checkCompletionTime(end: number, now: number): void {
  checkTime(end, now - GRACE);
}

export function isExpired(end: number, now: number): boolean {
  return end * MS_PER_SECOND <= now;
}

/** True for a trade that has not ended and should have. */
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
