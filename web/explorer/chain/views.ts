/**
 * What pages show of the chain, in the names of the API (`/v1/chain/…`). What only the index of a node knows is undefined where a
 * node has none.
 */

import type { ExactInteger } from '../../shared/node-api.js';

export interface Block {
  readonly block_num: number;
  readonly hash: string;
  readonly previous_hash: string | null;
  /** Unix seconds. */
  readonly time: ExactInteger;
  /** With the coinbase. */
  readonly transactions: number;
  readonly bytes?: number;
  /** Compact target, eight hex digits; empty for the fixed difficulty. */
  readonly difficulty: string;
  readonly reward?: ExactInteger;
  /** Raw units issued up to this block. */
  readonly issued?: ExactInteger;
  readonly miner?: string | null;
  readonly coinbase: string;
}

export type TransactionKind = 'coinbase' | 'genesis' | 'issuance' | 'creation' | 'trade' | 'payment';

export interface Place {
  readonly tx_hash: string;
  readonly block_num: number;
  readonly time?: ExactInteger;
}

export interface TransactionSummary extends Place {
  readonly kind: TransactionKind;
  readonly bytes?: number;
  readonly input_count: number;
  readonly output_count: number;
  readonly tokens: ExactInteger;
}

export interface AssetView {
  readonly asset: 'token' | 'item';
  readonly amount: ExactInteger;
  readonly genesis_hash: string | null;
  readonly metadata: string | null;
}

export interface Output extends AssetView {
  readonly n: number;
  readonly address: string | null;
  readonly locktime: ExactInteger;
  readonly fee: boolean;
}

export interface ScriptEntry {
  readonly kind: 'op' | 'signature' | 'pubkey' | 'num' | 'bytes';
  readonly value: string;
}

export interface Input {
  /** Null for what creates. */
  readonly source:
    | (Partial<Output> & { readonly tx_hash: string; readonly n: number; readonly block_num?: number })
    | null;
  readonly script: readonly ScriptEntry[];
}

export interface SpentBy {
  readonly tx_hash: string;
  readonly input: number;
  readonly block_num: number;
}

export interface Trade {
  readonly druid: string;
  readonly participants: ExactInteger;
  readonly partners?: readonly string[];
  readonly expectations: readonly (AssetView & { readonly from: string; readonly to: string })[];
}

export interface Transaction extends TransactionSummary {
  readonly confirmations?: number;
  readonly version: ExactInteger;
  readonly first_input: number;
  readonly inputs: readonly Input[];
  readonly first_output: number;
  /** `spent_by` is null for an unspent output, and undefined where that is not known. */
  readonly outputs: readonly (Output & { readonly spent_by?: SpentBy | null })[];
  readonly trade: Trade | null;
}

export interface Address {
  readonly address: string;
  readonly tokens: ExactInteger;
  /** Digits. */
  readonly received: string;
  readonly sent: string;
  readonly transaction_count: number;
  readonly unspent_count: number;
  readonly item_count: number;
  readonly first_seen: Place | null;
  readonly last_seen: Place | null;
}

export interface HeldItem {
  readonly genesis_hash: string;
  readonly amount: ExactInteger;
}

export interface UnspentOutput extends AssetView, Place {
  readonly out_point: { readonly t_hash: string; readonly n: number };
  readonly locktime: ExactInteger;
}

export interface Movement extends Place {
  readonly kind: TransactionKind;
  readonly received: ExactInteger;
  readonly sent: ExactInteger;
  readonly items: readonly {
    readonly genesis_hash: string;
    readonly received: ExactInteger;
    readonly sent: ExactInteger;
  }[];
  readonly item_count: number;
}

export interface Item {
  readonly genesis_hash: string;
  readonly metadata: string | null;
  readonly creator: string | null;
  /** Digits. */
  readonly issued: string;
  readonly created: Place;
  readonly holder_count?: number;
  readonly transfer_count?: number;
}

export interface Holder {
  readonly address: string;
  readonly amount: ExactInteger;
}

export interface Transfer extends Place {
  readonly kind: TransactionKind;
  readonly amount: ExactInteger;
  readonly from: readonly Holder[];
  readonly from_count: number;
  readonly to: readonly Holder[];
  readonly to_count: number;
}

export interface Found {
  readonly kind: 'block' | 'transaction' | 'item' | 'address';
  readonly name: string;
  readonly block_num: number | null;
}

export interface PageOf<T> {
  readonly entries: readonly T[];
  readonly next: string | null;
}
