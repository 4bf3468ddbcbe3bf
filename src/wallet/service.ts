/** Service of the wallet. Throws `wallet_unreadable` or `wallet_write_failed` when its store fails. */

import type { AddressVersion, Asset, OutPoint, Transaction } from '../chain/types.js';

export interface WalletOutpoint {
  readonly outPoint: OutPoint;
  readonly value: Asset;
}

/**
 * `received`: an offer that came over a link. `open`: an own offer. `accepted`: accepted here, and its maker has not confirmed.
 * `agreed`: the own half is on its way. `cancelling`: the inputs of the own half are being taken back. The others are ends.
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
  /** Metadata from their creation; null when it says nothing, or the wallet has not seen it. */
  readonly metadata: string | null;
}

/** All amounts in raw units. `running = available + locked`. */
export interface WalletInfo {
  /** The chosen set of outpoints by owning address. */
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
  // Records hold the index.
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

/** `self`: everything stays in the wallet, but the fee. */
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
  /** Why it was rejected; else empty. */
  readonly reason: string;
  readonly peer: string | null;
  /** Milliseconds since the Unix epoch; null when that was not written down. */
  readonly seenAt: number | null;
  /** Height of its block; null while there is none, or when the wallet has not seen it. */
  readonly height: number | null;
  /** Time of its block, in Unix seconds. */
  readonly time: number | null;
  /** Raw units that came, went or were paid to itself, without change and fee. */
  readonly amount: bigint;
  /** The same of items, by genesis hash. */
  readonly items: ReadonlyMap<string, bigint>;
  /** Change of the balance, in raw units; 0 for what was rejected. */
  readonly net: bigint;
  /** Raw units, when this wallet has paid it. */
  readonly fee: bigint | null;
  readonly from: readonly string[];
  /** The first of each side; `outputCount` in all. */
  readonly outputs: readonly {
    readonly address: string | null;
    readonly amount: bigint;
    /** Empty for tokens, else the genesis hash. */
    readonly assetId: string;
    readonly own: boolean;
  }[];
  readonly outputCount: number;
  readonly label: string | null;
}

export interface MovementQuery {
  /** The number where the page before this one has ended. */
  readonly cursor?: number;
  readonly limit: number;
  readonly newestFirst: boolean;
  readonly kind?: MovementKind;
  readonly state?: PaymentState;
  readonly direction?: MovementDirection;
  /** One that is paid or has signed. */
  readonly address?: string;
  /** Unix seconds of its block, or else of when it was seen; both ends belong to it. */
  readonly from?: number;
  readonly to?: number;
  readonly fromHeight?: number;
  readonly toHeight?: number;
  /** Idempotency key of the request that has made it. */
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
  /** The node that it was made for (payments by ip, donations), else null. */
  readonly peer: string | null;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  /** Raw units that were paid, without change and fee. */
  readonly amount: bigint;
  /** True when everything but the fee stays in this wallet. */
  readonly toSelf: boolean;
  /** `own`: it was the wallet's when the payment was made, as change is. */
  readonly outputs: readonly { readonly address: string | null; readonly value: Asset; readonly own: boolean }[];
}

/** A peer asked for a donation says yes, says no, or says nothing in time, and may pay all the same. */
export const DONATION_OUTCOMES = ['accepted', 'declined', 'unanswered'] as const;
export type DonationOutcome = (typeof DONATION_OUTCOMES)[number];

export interface DonationRequest {
  /** Number in the order in which they ended. */
  readonly number: number;
  readonly peer: string;
  /** Time when that was known, in milliseconds since the Unix epoch. */
  readonly askedAt: number;
  readonly outcome: DonationOutcome;
  /** Reason in the words of the peer, or why there is no answer; empty for `accepted`. */
  readonly reason: string;
}

export const LABEL_KINDS = ['address', 'transaction'] as const;
export type LabelKind = (typeof LABEL_KINDS)[number];

export interface Label {
  readonly kind: LabelKind;
  readonly name: string;
  /** Empty for none. */
  readonly label: string;
}

export interface KeyPairRecord {
  readonly publicKey: Uint8Array;
  /** 85-byte PKCS#8 v2 on export; on import also a 32-byte seed or a 64-byte secret (decision V11). */
  readonly secretKey: Uint8Array;
  readonly addressVersion: AddressVersion;
}

export interface PassphraseCaller {
  /** Name of the API key; empty where none was asked for. */
  readonly key: string;
  /** Address of the client; an IPv6 /64 is one. */
  readonly address: string;
}

export interface WalletService {
  /** `spent` wins over `page`; without both, everything unspent. Pages hold 25 outpoints (decision V12). */
  info(options: { readonly page?: number; readonly spent?: boolean }): Promise<WalletInfo>;
  newAddress(): Promise<string>;
  exportKeyPairs(): Promise<ReadonlyMap<string, KeyPairRecord>>;
  /** All or nothing; throws `malformed_key_pair`. The refresh afterwards may fail with `refresh_failed`: the keys stay. */
  importKeyPairs(pairs: ReadonlyMap<string, KeyPairRecord>): Promise<readonly string[]>;
  /** Resolves when the refresh has been requested. Throws `no_addresses` or `refresh_failed`. */
  refresh(target: { readonly all: true } | { readonly addresses: readonly string[] }): Promise<void>;
  readonly keys: {
    /** Own addresses of version 99999, of which many keys have the same (docs/chain.md#addresses). */
    readonly temporary: ReadonlySet<string>;
  };
  readonly keystore: {
    /** Throws `blank_passphrase` or `wrong_passphrase`. */
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
    /** Durable when it resolves; all or none, an empty one takes the label away. Throws `invalid_request`. */
    set(labels: readonly Label[]): Promise<void>;
  };
  readonly coverage: {
    /** The text of a backup file, sealed under the passphrase of the wallet. Throws `wrong_passphrase`. */
    backup(passphrase: string, caller?: PassphraseCaller): Promise<string>;
    /** Moves what the words do not cover to addresses that they do; gives the transactions, which are queued. */
    sweep(): Promise<readonly { readonly hash: string }[]>;
    /** Tokens at addresses that the words do not cover, in raw units. */
    uncovered(): bigint;
  };
}
