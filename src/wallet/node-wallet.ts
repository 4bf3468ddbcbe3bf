/** What the wallet offers inside the node: to the user service, which moves its transactions, and to the miner. */

import type { FullBlock, Utxo } from '../chain/types.js';
import type { Signal } from '../lib/signal.js';
import type { BlockOutcome, FundTotals } from './coins/fund-book.js';
import type { DonationLimits } from './payments/donation-ledger.js';
import type { OwnTransaction } from './payments/outgoing.js';
import type { ItemOrder, PaymentOrder } from './payments/payments.js';
import type { WalletService } from './service.js';

/** Asks the chain for the outpoints of addresses; resolves when the request is on its way. */
export type Refresher = (addresses: readonly string[]) => Promise<void>;

export interface Wallet extends WalletService {
  /** Throws `wrong_passphrase`; guessing is slowed (decisions V14, V26). */
  verifyPassphrase(passphrase: string): Promise<void>;
  /** Throws `payment_refused`, `insufficient_funds` or `wallet_write_failed`. */
  pay(order: PaymentOrder): Promise<OwnTransaction>;
  /** As `pay`, counted as a donation to the peer; undefined when a limit is reached. */
  donate(order: PaymentOrder, nodeKey: string, limits: DonationLimits): Promise<OwnTransaction | undefined>;
  createItem(order: ItemOrder): Promise<OwnTransaction>;

  /** Every own address. */
  addresses(): readonly string[];
  owns(address: string): boolean;
  /** True when the address holds something that is not spent. */
  isUsed(address: string): boolean;
  totals(): FundTotals;
  readonly blockNum: number;

  /** Own transactions that are queued or sent. */
  inFlight(): readonly OwnTransaction[];
  /** One of them. */
  inFlightByHash(hash: string): OwnTransaction | undefined;
  /** Own addresses that one of them spends from and pays to. */
  addressesOf(hash: string): readonly string[];
  /** Own transactions with their states, oldest first. */
  history(): Promise<readonly OwnTransaction[]>;
  takeQueued(): OwnTransaction | undefined;
  putBack(hash: string): void;
  /** The mempool has admitted it. */
  markSent(hash: string): Promise<void>;
  /** It must be sent again. */
  requeue(hash: string): Promise<void>;
  /** The mempool has refused it for good: inputs come back (V13). Resolves with the addresses of the inputs. */
  markRejected(hash: string, reason: string): Promise<readonly string[]>;
  /** It is in a block that this wallet has not seen, perhaps as a copy under another hash. Refresh first. */
  markConfirmed(hash: string, options?: { readonly asCopy?: boolean }): Promise<void>;

  /** Throws `protocol_violation` for a block that is not what it says. */
  applyBlock(block: FullBlock, hash: string): Promise<BlockOutcome>;
  /** False when the answer is older than what the wallet knows: ask again. */
  replaceAddresses(addresses: readonly string[], utxos: readonly Utxo[], blockNum: number): Promise<boolean>;
  /** All addresses were refreshed as of this block. */
  advanceTo(blockNum: number): Promise<void>;

  /** Who does refreshes; without one `refresh` throws `refresh_failed`. */
  setRefresher(refresher: Refresher | null): void;
  readonly rewards: {
    /** A durable address for the next mining reward; a new one after each reward. */
    address(): Promise<string>;
  };
  /** An own transaction can be sent. */
  readonly queued: Signal<OwnTransaction>;
  /** An own transaction was confirmed or rejected. */
  readonly settled: Signal<OwnTransaction>;
  readonly changed: Signal<FundTotals>;
  /** Writes what is staged and wipes the keys from memory. */
  close(): Promise<void>;
}
