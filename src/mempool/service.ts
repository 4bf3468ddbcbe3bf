/** The mempool for the rest of the node. Every method throws `mempool_unreachable` while it is not up (decision V24). */

import type { GenesisHashSpec, ItemAsset, Transaction } from '../chain/types.js';
import type { Holdings } from '../ledger/utxo/outputs-copy.js';

export type { Holding, Holdings } from '../ledger/utxo/outputs-copy.js';

export type TxStatusKind = 'Pending' | 'Confirmed' | 'Rejected';

/** Decision V1. `timestamp` is unix seconds of the first sight of the transaction. */
export interface TxStatus {
  readonly status: TxStatusKind;
  readonly timestamp: number;
  readonly additionalInfo: string;
}

/** The most outputs that one answer about balances lists, over all its addresses. */
export const MAX_LISTED_OUTPUTS = 100_000;

export interface Balances {
  readonly tokens: bigint;
  /** Amounts by genesis hash. */
  readonly items: ReadonlyMap<string, bigint>;
  /** Holdings in the order asked for, without addresses that have no outputs (decision V5). */
  readonly addresses: ReadonlyMap<string, Holdings>;
}

export interface SubmittedTransaction {
  readonly hash: string;
  readonly transaction: Transaction;
}

/** A client-signed item creation (POST /v1/items on a mempool node). */
export interface ItemCreation {
  readonly spec: GenesisHashSpec;
  readonly amount: bigint;
  readonly metadata: string | null;
  readonly scriptPublicKey: string;
  readonly publicKey: Uint8Array;
  readonly signature: Uint8Array;
}

export interface CreatedItem {
  /** `genesisHash` is the transaction's hash for `Create`, `default_genesis_hash` for `Default`. */
  readonly asset: ItemAsset;
  readonly toAddress: string;
  readonly txHash: string;
}

/** A block to come: what is in one that is being made, and what is likely to be in those after it. */
export interface BlockAhead {
  readonly height: number;
  readonly isBeingMade: boolean;
  readonly count: number;
  readonly bytes: number;
  /** The block's first transactions, at most `MAX_LISTED_AHEAD`. */
  readonly first: readonly WaitingTx[];
}

export interface WaitingTx {
  readonly hash: string;
  readonly bytes: Uint8Array;
  /** Unix seconds when the transaction was first seen. */
  readonly time: number;
}

export interface WaitingPlace extends WaitingTx {
  /** Likely block, and number of transactions before this one; null beyond `MAX_BLOCKS_AHEAD`, and while its trade is incomplete. */
  readonly place: { readonly height: number; readonly isBeingMade: boolean; readonly ahead: number } | null;
  /** Waiting transactions that this one spends from, and others of its trade. */
  readonly behind: readonly string[];
  readonly info: string;
}

/** The most blocks that a forecast has. */
export const MAX_BLOCKS_AHEAD = 8;
/** The most transactions that a forecast lists of each block. */
export const MAX_LISTED_AHEAD = 50;

export interface MempoolService {
  /** Number and bytes of all waiting transactions, and the blocks to come, those being made first. */
  waiting(): { readonly count: number; readonly bytes: number; readonly blocks: readonly BlockAhead[] };
  /** Place of a waiting transaction; undefined for any other. */
  waitingPlace(hash: string): WaitingPlace | undefined;
  /**
   * Admits all transactions or none (decision V3); resolves when they are durable. A known one counts as admitted
   * (decision V4). Throws `transaction_rejected`, `double_spend`, `unknown_input`, `invalid_signature` or
   * `mempool_full`, with hash and rule in the message; `overloaded` for a sender that brings more than its share.
   */
  submit(transactions: readonly Transaction[], sender?: string): Promise<readonly SubmittedTransaction[]>;
  createItem(request: ItemCreation, sender?: string): Promise<CreatedItem>;
  /** Totals over all named addresses, each counted once. Throws `too_many_outputs` beyond `MAX_LISTED_OUTPUTS`. */
  balances(addresses: readonly string[]): Balances;
  /** Number of unspent outputs that the named addresses have together, counted up to `limit`. Cheap, unlike `balances`. */
  countOutputs(addresses: readonly string[], limit: number): number;
  /** Supply of tokens in raw units. */
  supply(): { readonly total: bigint; readonly issued: bigint };
  /** Statuses by hash; unknown hashes are absent. */
  statuses(hashes: readonly string[]): Promise<ReadonlyMap<string, TxStatus>>;
}
