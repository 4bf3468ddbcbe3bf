/** Payments, donations and item creation of a node with a wallet (roles user and miner). */

import type { Asset, GenesisHashSpec } from '../chain/types.js';
import type { DonationRequest, PassphraseCaller, TradeState } from '../wallet/service.js';

export interface AddressPayment {
  readonly address: string;
  /** Raw units of tokens, or number of items. */
  readonly amount: bigint;
  readonly genesisHash?: string | undefined;
  readonly locktime: bigint;
  readonly passphrase: string;
  readonly caller?: PassphraseCaller | undefined;
  /** Key of the request: the payment is made once for a key; another payment with it throws `idempotency_key_reused`. */
  readonly idempotencyKey?: string | undefined;
}

export interface DonationOptions {
  /** Key of the request, as in `AddressPayment`; the peer pays at most once for it. */
  readonly idempotencyKey?: string | undefined;
}

export interface ItemRequest {
  readonly spec: GenesisHashSpec;
  readonly amount: bigint;
  readonly metadata: string | null;
  /** Key of the request, as in `AddressPayment`. */
  readonly idempotencyKey?: string | undefined;
}

export interface TradeOffer {
  /** Tokens or items; items name their class. */
  readonly give: Asset;
  readonly want: Asset;
  /** Seconds in which the offer can be accepted. */
  readonly validFor: number;
  /** `host:port` of a node to send the offer to; null for an offer that its owner passes on. */
  readonly peer: string | null;
  /** True when the offer says where this node takes acceptances. */
  readonly isReachable: boolean;
  readonly passphrase: string;
  readonly caller?: PassphraseCaller | undefined;
  /** Key of the request, as in `AddressPayment`. */
  readonly idempotencyKey?: string | undefined;
}

/** A document of a trade: an offer, an acceptance or a confirmation, as JSON. */
export type DocumentJson = Readonly<Record<string, string | number | object | null>>;

export interface TradeInfo {
  readonly id: string;
  readonly side: 'maker' | 'taker';
  readonly state: TradeState;
  /** Why the trade ended without success; else empty. */
  readonly reason: string;
  readonly give: Asset;
  readonly get: Asset;
  /** Metadata of the items that the maker gives, from their creation; their name proves it. */
  readonly metadata: string | null;
  /** Time of the trade's beginning, in milliseconds since the Unix epoch. */
  readonly createdAt: number;
  /** Time when the offer expires, in Unix seconds. */
  readonly expiresAt: number;
  /** `host:port` of the other node; null when it is not known. */
  readonly peer: string | null;
  /** Address where this wallet is paid, and that of the other side; null as long as there is none. */
  readonly address: string | null;
  readonly counterparty: string | null;
  readonly half: string | null;
  readonly offer: DocumentJson;
  readonly acceptance: DocumentJson | null;
  readonly confirmation: DocumentJson | null;
}

export interface UserService {
  /** Resolves when the payment is durable. Throws `wrong_passphrase` first, then `insufficient_funds` or `payment_refused`. */
  payAddress(payment: AddressPayment): Promise<{ readonly txHash: string }>;
  /** Asks the peer at `host:port` for an address and pays it. Throws as `payAddress`, and `peer_unreachable`. */
  payPeer(payment: AddressPayment): Promise<void>;
  /** Gives up a payment that no mempool node has admitted. Throws `payment_not_found`, `payment_sent` if it may come into a block. */
  abandonPayment(txHash: string): Promise<void>;
  /** Asks the peer at `host:port`; see `donationRequests`. Throws `peer_unreachable`, and `wallet_write_failed`. */
  requestDonation(peer: string, options?: DonationOptions): Promise<void>;
  /** The last donations that were asked for, newest first. */
  donationRequests(limit: number): readonly DonationRequest[];
  createItem(request: ItemRequest): Promise<{ readonly txHash: string }>;
  /**
   * Offers a trade and sets aside what it gives. Throws `wrong_passphrase` first, then `insufficient_funds`, `payment_refused`,
   * `trade_refused`; `peer_unreachable` when the offer could not be sent, and then there is none.
   */
  offerTrade(offer: TradeOffer): Promise<TradeInfo>;
  /** Accepts an offer and tells its maker over a link, if the offer says where. Throws as `offerTrade`, and `trade_closed`. */
  acceptTrade(offer: unknown, passphrase: string, caller?: PassphraseCaller): Promise<TradeInfo>;
  /** Goes on with an acceptance or a confirmation. Throws `trade_not_found`, `trade_refused`, `trade_closed`. */
  completeTrade(document: unknown): Promise<TradeInfo>;
  /** Ends a trade that is not agreed yet. Throws `trade_not_found`, `trade_closed`. */
  cancelTrade(id: string): Promise<TradeInfo>;
  /** The trades, newest first. */
  trades(): readonly TradeInfo[];
  /** The trade with this id. Throws `trade_not_found`. */
  trade(id: string): TradeInfo;
}
