/** Payments, donations and item creation of a node with a wallet (roles user and miner). */

import type { GenesisHashSpec } from '../chain/types.js';
import type { DonationRequest } from '../wallet/service.js';

export interface AddressPayment {
  readonly address: string;
  /** Raw units, or items. */
  readonly amount: bigint;
  /** Genesis hash of the items to pay; tokens without it. */
  readonly genesisHash?: string | undefined;
  readonly locktime: bigint;
  readonly passphrase: string;
  /** With the same key the same payment is made once; another one throws `idempotency_key_reused`. */
  readonly idempotencyKey?: string | undefined;
}

export interface DonationOptions {
  /** As in `AddressPayment`; the peer pays at most once for it. */
  readonly idempotencyKey?: string | undefined;
}

export interface ItemRequest {
  readonly spec: GenesisHashSpec;
  readonly amount: bigint;
  readonly metadata: string | null;
  /** As in `AddressPayment`. */
  readonly idempotencyKey?: string | undefined;
}

export interface UserService {
  /**
   * Builds, signs and queues a payment; resolves when it is durable. Throws `wrong_passphrase` first, then
   * `insufficient_funds` or `payment_refused`.
   */
  payAddress(payment: AddressPayment): Promise<{ readonly txHash: string }>;
  /** Asks the peer at `host:port` for an address and pays it. Throws as `payAddress`, and `peer_unreachable`. */
  payPeer(payment: AddressPayment): Promise<void>;
  /**
   * Gives up a queued payment that no mempool node has admitted; its inputs come back. Throws `payment_not_found`, and
   * `payment_sent` when it may come into a block yet.
   */
  abandonPayment(txHash: string): Promise<void>;
  /**
   * Asks the peer at `host:port` for a donation; `donationRequests` has what came of it. Throws `peer_unreachable`, and
   * `wallet_write_failed`.
   */
  requestDonation(peer: string, options?: DonationOptions): Promise<void>;
  /** The last donations that were asked for, newest first. */
  donationRequests(limit: number): readonly DonationRequest[];
  /** Builds, signs and queues an item creation; resolves when it is durable. */
  createItem(request: ItemRequest): Promise<{ readonly txHash: string }>;
}
