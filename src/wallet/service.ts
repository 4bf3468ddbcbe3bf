/**
 * What the wallet offers to the rest of the node. Throws `wallet_unreadable` or `wallet_write_failed` when its store fails.
 */

import type { AddressVersion, Asset, OutPoint, Transaction } from '../chain/types.js';

export interface WalletOutpoint {
  readonly outPoint: OutPoint;
  readonly value: Asset;
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

/** `merge` joins many small outputs of the wallet into one. */
export const PAYMENT_KINDS = ['payment', 'donation', 'item', 'merge'] as const;
export type PaymentKind = (typeof PAYMENT_KINDS)[number];

/** A transaction of this wallet and what became of it. */
export interface OwnPayment {
  readonly hash: string;
  readonly kind: PaymentKind;
  readonly state: PaymentState;
  /** Why it was rejected; else empty. */
  readonly reason: string;
  /** The node that it was made for (payments by ip, donations), else null. */
  readonly peer: string | null;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  /** `own`: it stays in this wallet, as change does. */
  readonly outputs: readonly { readonly address: string | null; readonly value: Asset; readonly own: boolean }[];
}

export interface KeyPairRecord {
  readonly publicKey: Uint8Array;
  /** 85-byte PKCS#8 v2 on export; on import also a 32-byte seed or a 64-byte secret (decision V11). */
  readonly secretKey: Uint8Array;
  readonly addressVersion: AddressVersion;
}

export interface WalletService {
  /** `spent` wins over `page`; without both, everything unspent. Pages hold 25 outpoints (decision V12). */
  info(options: { readonly page?: number; readonly spent?: boolean }): Promise<WalletInfo>;
  newAddress(): Promise<string>;
  exportKeyPairs(): Promise<ReadonlyMap<string, KeyPairRecord>>;
  /**
   * All or nothing; throws `malformed_key_pair`. Requests a refresh afterwards; its failure is `refresh_failed`, the keys
   * stay.
   */
  importKeyPairs(pairs: ReadonlyMap<string, KeyPairRecord>): Promise<readonly string[]>;
  /** Throws `blank_passphrase` or `wrong_passphrase`. */
  changePassphrase(oldPassphrase: string, newPassphrase: string): Promise<void>;
  /** Own payments, oldest first. */
  outgoing(options?: {
    readonly limit?: number;
  }): Promise<readonly (readonly [hash: string, transaction: Transaction])[]>;
  /** Own payments with their states, oldest first; the most recent 10,000, or `limit`. */
  payments(options?: { readonly limit?: number }): Promise<readonly OwnPayment[]>;
  /** Resolves when the refresh has been requested. Throws `no_addresses` or `refresh_failed`. */
  refresh(target: { readonly all: true } | { readonly addresses: readonly string[] }): Promise<void>;
}
