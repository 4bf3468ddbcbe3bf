/**
 * Two-way trades (docs/wallet.md#trades): offer, acceptance and confirmation pass between the parties as JSON, the same as those of nodes'
 * wallets; then each sends its half to a node. Show a half to nobody else: without its DRUID it is a payment (docs/adr/0026-trades.md).
 */

import { addressOf } from '../chain/address.js';
import { transactionHash } from '../chain/hash.js';
import { txInsAddress } from '../chain/signable.js';
import type { Transaction } from '../chain/types.js';
import type { KeyPair } from '../crypto/ed25519.js';
import { toHex } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import {
  type Acceptance,
  type Confirmation,
  checkSignature,
  digestOf,
  druidOf,
  type Offer,
  offerId,
  readDocument,
  refused,
  signDocument,
  type TradeDocument,
  type TradedAsset,
} from '../wallet/trades/documents.js';
import { checkCompletionTime, checkExchange, checkOffer, checkTime } from '../wallet/trades/trade.js';
import { type Amount, assetOf, buildSpending, type Funds, type SignedTransaction } from './payments.js';

const NONCE_LENGTH = 16;
/** Minimum amount of an output in a network with the default rules. */
const MIN_OUTPUT = 1n;

/** Facts about the network that both parties must know. */
export interface TradeNetwork {
  /** Name of the network: `network` of `getDebug`, or as its operators say; both parties must mean the same. */
  readonly network: string;
  /** Milliseconds since the Unix epoch; the clock of this machine by default. */
  readonly now?: number | undefined;
}

export interface OfferOptions extends TradeNetwork {
  readonly give: Amount;
  readonly want: Amount;
  /** Key of the maker, who is paid at its address. Keep it: the confirmation is signed with it. */
  readonly key: KeyPair;
  /** End of the offer, in seconds since the Unix epoch: until then it can be accepted and confirmed. At most 30 days ahead. */
  readonly expiresAt: number;
}

/** An offer for whoever may accept it. Throws `trade_refused` or `payment_refused` for what cannot be exchanged. */
export function createOffer({ give, want, key, network, expiresAt, now = Date.now() }: OfferOptions): Offer {
  const traded = { give: tradedOf(give), want: tradedOf(want) };
  checkExchange(traded.give, traded.want, { network, minOutputAmount: MIN_OUTPUT });
  checkTime(expiresAt, now);
  const nonce = toHex(crypto.getRandomValues(new Uint8Array(NONCE_LENGTH)));
  const content = { ...traded, network, to: addressOf(key.publicKey), expires_at: expiresAt, nonce };
  return signDocument<Offer>({ kind: 'tessera-trade-offer', format: 1, ...content, peer: null, creation: null }, key);
}

/** The offer, acceptance or confirmation in a JSON value. Throws `trade_refused` for another value, and for a changed document. */
export function readTradeDocument(value: unknown): TradeDocument {
  return readDocument(value);
}

/** Assets that each party of an offer gives. */
export function termsOf({ give, want }: Offer): { readonly makerGives: Amount; readonly takerGives: Amount } {
  return { makerGives: amountOf(give), takerGives: amountOf(want) };
}

export interface AcceptOptions extends TradeNetwork, Funds {
  /** Key of the taker, who is paid at its address. */
  readonly key: KeyPair;
}

/** Acceptance that the taker sends back, and the half of the trade that it keeps to itself until the confirmation comes. */
export interface AcceptedOffer {
  readonly acceptance: Acceptance;
  /** Half for `completeTrade`, and for no one else. Do not spend its outputs until the trade is done, or given up. */
  readonly half: SignedTransaction;
}

/** Accepts an offer. Throws `trade_refused`, `trade_closed` when it has expired, `insufficient_funds`. */
export function acceptOffer(offer: Offer, { key, network, now = Date.now(), ...funds }: AcceptOptions): AcceptedOffer {
  readDocument(offer);
  checkOffer(offer, { network, minOutputAmount: MIN_OUTPUT }, now);
  const to = addressOf(key.publicKey);
  if (to === offer.to) throw refused('this is an own offer: somebody else has to accept it');
  const half = buildSpending({ ...funds, ...amountOf(offer.want), to: offer.to }, null);
  const from = txInsAddress(half.transaction.inputs);
  const content = { offer: offerId(offer), to, from };
  const acceptance = signDocument<Acceptance>({ kind: 'tessera-trade-acceptance', format: 1, ...content }, key);
  return { acceptance, half };
}

export interface ConfirmOptions extends Funds {
  /** The maker's own offer; `key` is the key that signed it. */
  readonly offer: Offer;
  readonly key: KeyPair;
  /** Milliseconds since the Unix epoch; the clock of this machine by default. */
  readonly now?: number | undefined;
}

/** Confirmation that the maker sends back, and its half of the trade, to be sent to a node. */
export interface ConfirmedTrade {
  readonly confirmation: Confirmation;
  readonly half: SignedTransaction;
}

/** Confirms an acceptance of an own offer: confirm only one. Throws `trade_refused`, `trade_closed` after expiry, `insufficient_funds`. */
export function confirmTrade(acceptance: Acceptance, options: ConfirmOptions): ConfirmedTrade {
  const { offer, key, now = Date.now(), ...funds } = options;
  readDocument(acceptance);
  if (acceptance.offer !== offerId(offer)) throw refused('this is an acceptance of another offer');
  if (acceptance.to === offer.to) throw refused('the acceptance wants to be paid at an address of the maker');
  checkTime(offer.expires_at, now);
  const half = buildSpending({ ...funds, ...amountOf(offer.give), to: acceptance.to }, null);
  const from = txInsAddress(half.transaction.inputs);
  const content = { offer: acceptance.offer, acceptance: digestOf(acceptance), from };
  const confirmation = signDocument<Confirmation>({ kind: 'tessera-trade-confirmation', format: 1, ...content }, key);
  return { confirmation, half: withDruid(half, acceptance, { from: acceptance.from, to: offer.to, gets: offer.want }) };
}

export interface CompleteOptions extends AcceptedOffer {
  readonly offer: Offer;
  /** Milliseconds since the Unix epoch; the clock of this machine by default. */
  readonly now?: number | undefined;
}

/**
 * The taker's half, to be sent to a node, once the maker has confirmed. Throws `trade_refused` for a confirmation of another trade or
 * by another key, and `trade_closed` two minutes after the end of the offer: else a maker could wait for a better price.
 */
export function completeTrade(
  confirmation: Confirmation,
  { offer, acceptance, half, now = Date.now() }: CompleteOptions,
): SignedTransaction {
  readDocument(confirmation);
  checkSignature(confirmation, offer.to);
  if (confirmation.acceptance !== digestOf(acceptance)) throw refused('this confirms the acceptance of somebody else');
  if (txInsAddress(half.transaction.inputs) !== acceptance.from) {
    throw new TesseraError('trade_refused', 'the half is not the one of the acceptance');
  }
  checkCompletionTime(offer.expires_at, now);
  return withDruid(half, acceptance, { from: confirmation.from, to: acceptance.to, gets: offer.give });
}

/** The half with the DRUID of the trade added: signatures do not cover the DRUID, the hash does. */
function withDruid(
  half: SignedTransaction,
  acceptance: Acceptance,
  { from, to, gets }: { readonly from: string; readonly to: string; readonly gets: TradedAsset },
): SignedTransaction {
  const expectations = [{ from, to, asset: assetOf(amountOf(gets)) }];
  const druidInfo = { druid: druidOf(acceptance), participants: 2n, expectations, genesisHash: null };
  const transaction: Transaction = { ...half.transaction, druidInfo };
  const hash = transactionHash(transaction);
  const { change } = half;
  return { ...half, transaction, hash, change: change && { ...change, outPoint: { ...change.outPoint, tHash: hash } } };
}

function tradedOf({ amount, item }: Amount): TradedAsset {
  const digits = amount.toString();
  return item === undefined ? { kind: 'token', amount: digits } : { kind: 'item', amount: digits, genesis_hash: item };
}

function amountOf(asset: TradedAsset): Amount {
  const amount = BigInt(asset.amount);
  return asset.kind === 'token' ? { amount } : { amount, item: asset.genesis_hash };
}
