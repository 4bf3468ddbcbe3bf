/** Service of the wallet. Throws `wallet_unreadable` or `wallet_write_failed` when its store fails. */

import type { AddressVersion, Asset, OutPoint, Transaction } from '../chain/types.js';

export interface WalletOutpoint {
  readonly outPoint: OutPoint;
  readonly value: Asset;
}

/**
 * `received`: an offer that came over a link. `open`: an own offer. `accepted`: accepted here, and its maker has not confirmed.
 * `agreed`: the own half is on its way. `cancelling`: the inputs of the own half are being taken back. All others are final.
 */
export const TRADE_STATES = [
  'received',
  'open',
  'accepted',
  'agreed',
  'cancelling',
  'done',
  'cancelled',
  'expired',
  'failed',
] as const;
export type TradeState = (typeof TRADE_STATES)[number];

export interface WalletItem {
  readonly genesisHash: string;
  readonly amount: bigint;
  readonly available: bigint;
  /** Metadata from the items' creation; null when it has none, or the wallet has not seen it. */
  readonly metadata: string | null;
}

/** Funds of the wallet, all amounts in raw units. `running = available + locked`. */
export interface WalletInfo {
  /** The chosen outpoints by owning address. */
  readonly addresses: ReadonlyMap<string, readonly WalletOutpoint[]>;
  readonly running: bigint;
  readonly available: bigint;
  readonly locked: bigint;
  readonly items: ReadonlyMap<string, bigint>;
}

/** `queued` (durable, the mempool has not answered), `sent` (admitted), then `confirmed` in a block or `rejected`. */
export const PAYMENT_STATES = ['queued', 'sent', 'confirmed', 'rejected'] as const;
export type PaymentState = (typeof PAYMENT_STATES)[number];

/** `merge` joins outputs of the wallet into one; `trade` is the wallet's half of a trade. */
export const PAYMENT_KINDS = ['payment', 'donation', 'item', 'merge', 'trade'] as const;
export type PaymentKind = (typeof PAYMENT_KINDS)[number];

/** Kinds of movements: of own transactions, miners' rewards, trades, funds that came with keys or a new chain, and unexplained changes. */
export const MOVEMENT_KINDS = [
  // Records hold the index, so new kinds go to the end.
  'payment',
  'donation',
  'item',
  'merge',
  'reward',
  'trade',
  'import',
  'genesis',
  'unexplained',
] as const;
export type MovementKind = (typeof MOVEMENT_KINDS)[number];

/** `self`: everything but the fee stays in the wallet. */
export const MOVEMENT_DIRECTIONS = ['in', 'out', 'self'] as const;
export type MovementDirection = (typeof MOVEMENT_DIRECTIONS)[number];

/** A movement of the wallet's funds: one transaction, as far as it concerns the wallet. */
export interface WalletMovement {
  /** Number in the history, which never changes. */
  readonly number: number;
  readonly hash: string | null;
  /** Hash in the chain, when a copy with another unsigned version was mined. */
  readonly copyHash: string | null;
  readonly kind: MovementKind;
  readonly direction: MovementDirection;
  readonly state: PaymentState;
  /** Why the movement was rejected; else empty. */
  readonly reason: string;
  readonly peer: string | null;
  /** Time when the wallet learned of it, in milliseconds since the Unix epoch; null when that was not recorded. */
  readonly seenAt: number | null;
  /** Height of the block; null while there is none, or when the wallet has not seen it. */
  readonly height: number | null;
  /** Time of the block, in Unix seconds. */
  readonly time: number | null;
  /** Raw units that were received, paid to others or paid to itself, without change and fee. */
  readonly amount: bigint;
  /** Items that were moved, by genesis hash, counted as `amount` is. */
  readonly items: ReadonlyMap<string, bigint>;
  /** Change of the balance, in raw units; 0 for a rejected movement. */
  readonly net: bigint;
  /** Raw units of the fee, when this wallet has paid it. */
  readonly fee: bigint | null;
  readonly from: readonly string[];
  /** The first outputs to each side; `outputCount` is the number of all. */
  readonly outputs: readonly {
    readonly address: string | null;
    readonly amount: bigint;
    /** Genesis hash of an item; empty for tokens. */
    readonly assetId: string;
    readonly own: boolean;
  }[];
  readonly outputCount: number;
  readonly label: string | null;
}

export interface MovementQuery {
  /** Number where the previous page has ended. */
  readonly cursor?: number;
  readonly limit: number;
  readonly newestFirst: boolean;
  readonly kind?: MovementKind;
  readonly state?: PaymentState;
  readonly direction?: MovementDirection;
  /** Address that is paid or has signed. */
  readonly address?: string;
  /** Unix seconds of the block, or else of when the movement was seen; both ends are included. */
  readonly from?: number;
  readonly to?: number;
  readonly fromHeight?: number;
  readonly toHeight?: number;
  /** Idempotency key of the request that made the transaction. */
  readonly idempotencyKey?: string;
}

export interface MovementPage {
  readonly movements: readonly WalletMovement[];
  /** The cursor of the next page; null at the end. A page may be short, or empty, before the end. */
  readonly next: number | null;
}

export interface OwnPayment extends Pick<WalletMovement, 'fee' | 'height' | 'label' | 'reason' | 'state' | 'time'> {
  readonly hash: string;
  readonly kind: PaymentKind;
  /** The node that the payment was made for (payments by ip, donations), else null. */
  readonly peer: string | null;
  /** Time of making, in milliseconds since the Unix epoch. */
  readonly createdAt: number;
  /** Raw units that were paid, without change and fee. */
  readonly amount: bigint;
  /** True when everything but the fee stays in this wallet. */
  readonly toSelf: boolean;
  /** Outputs. `own`: it was the wallet's when the payment was made, as change is. */
  readonly outputs: readonly { readonly address: string | null; readonly value: Asset; readonly own: boolean }[];
}

/** Answers of a peer that was asked for a donation: yes, no, or none in time; then it may pay all the same. */
export const DONATION_OUTCOMES = ['accepted', 'declined', 'unanswered'] as const;
export type DonationOutcome = (typeof DONATION_OUTCOMES)[number];

export interface DonationRequest {
  /** Number of the request, in the order in which they ended. */
  readonly number: number;
  readonly peer: string;
  /** Time when the outcome was known, in milliseconds since the Unix epoch. */
  readonly askedAt: number;
  readonly outcome: DonationOutcome;
  /** Reason as the peer put it, or why there is no answer; empty for `accepted`. */
  readonly reason: string;
}

export const LABEL_KINDS = ['address', 'transaction'] as const;
export type LabelKind = (typeof LABEL_KINDS)[number];

export interface Label {
  readonly kind: LabelKind;
  readonly name: string;
  /** Text of the label; empty for none. */
  readonly label: string;
}

export interface KeyPairRecord {
  readonly publicKey: Uint8Array;
  /** Secret key: 85-byte PKCS#8 v2 on export; on import also a 32-byte seed or a 64-byte secret (decision V11). */
  readonly secretKey: Uint8Array;
  readonly addressVersion: AddressVersion;
}

export interface PassphraseCaller {
  /** Name of the API key; empty for a request without one. */
  readonly key: string;
  /** Address of the client; an IPv6 /64 counts as one. */
  readonly address: string;
}

export interface WalletService {
  /** Funds and outpoints: `spent` wins over `page`; without both, all unspent ones. Pages hold 25 outpoints (decision V12). */
  info(options: { readonly page?: number; readonly spent?: boolean }): Promise<WalletInfo>;
  newAddress(): Promise<string>;
  exportKeyPairs(): Promise<ReadonlyMap<string, KeyPairRecord>>;
  /** Imports all keys or none; throws `malformed_key_pair`. The refresh afterwards may fail with `refresh_failed`: the keys stay. */
  importKeyPairs(pairs: ReadonlyMap<string, KeyPairRecord>): Promise<readonly string[]>;
  /** Asks the chain for outpoints; resolves when the request is sent. Throws `no_addresses` or `refresh_failed`. */
  refresh(target: { readonly all: true } | { readonly addresses: readonly string[] }): Promise<void>;
  readonly keys: {
    /** Own addresses of version 99999, each of which many keys have (docs/chain.md#addresses). */
    readonly temporary: ReadonlySet<string>;
  };
  readonly keystore: {
    /** Changes the passphrase. Throws `blank_passphrase` or `wrong_passphrase`. */
    changePassphrase(oldPassphrase: string, newPassphrase: string, caller?: PassphraseCaller): Promise<void>;
  };
  readonly items: {
    list(): Promise<readonly WalletItem[]>;
  };
  readonly history: {
    outgoing(limit?: number): Promise<readonly (readonly [hash: string, transaction: Transaction])[]>;
    /** Own payments with their states, oldest first; the most recent 10,000, or `limit`. */
    payments(limit?: number): Promise<readonly OwnPayment[]>;
    movements(query: MovementQuery): Promise<MovementPage>;
  };
  /** Names that the owner gives to addresses and transactions. */
  readonly labels: {
    all(): readonly Label[];
    /** Sets labels; durable when it resolves; all or none. An empty label removes the old one. Throws `invalid_request`. */
    set(labels: readonly Label[]): Promise<void>;
  };
  readonly coverage: {
    /** The text of a backup file, sealed under the passphrase of the wallet. Throws `wrong_passphrase`. */
    backup(passphrase: string, caller?: PassphraseCaller): Promise<string>;
    /** Moves coins that the words do not cover to addresses that they do; gives the transactions, which are queued. */
    sweep(): Promise<readonly { readonly hash: string }[]>;
    /** Tokens at addresses that the words do not cover, in raw units. */
    uncovered(): bigint;
  };
}
