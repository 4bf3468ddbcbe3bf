/** Payments, donations and item creation of a node with a wallet (roles user and miner). */

import type { GenesisHashSpec } from '../chain/types.js';

export interface AddressPayment {
  readonly address: string;
  /** Raw units. */
  readonly amount: bigint;
  readonly locktime: bigint;
  readonly passphrase: string;
}

export interface UserService {
  /**
   * Builds, signs and queues a payment; resolves when it is durable. Throws `wrong_passphrase` first, then
   * `insufficient_funds` or `payment_refused`.
   */
  payAddress(payment: AddressPayment): Promise<{ readonly txHash: string }>;
  /** Asks the peer at `host:port` for an address and pays it. Throws as `payAddress`, and `peer_unreachable`. */
  payPeer(payment: AddressPayment): Promise<void>;
  /** Asks the peer at `host:port` for a donation. Throws `peer_unreachable`. */
  requestDonation(peer: string): Promise<void>;
  /** Builds, signs and queues an item creation; resolves when it is durable. */
  createItem(request: {
    readonly spec: GenesisHashSpec;
    readonly amount: bigint;
    readonly metadata: string | null;
  }): Promise<{ readonly txHash: string }>;
}
