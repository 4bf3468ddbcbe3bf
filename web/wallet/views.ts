/** What the node says of its wallet, as far as the pages show it. */

import type { ExactInteger } from '../shared/node-api.js';

export interface WalletTotals {
  readonly running_total_tokens: ExactInteger;
  readonly available_total_tokens: ExactInteger;
  readonly locked_total_tokens: ExactInteger;
  readonly item_total: Readonly<Record<string, ExactInteger>>;
}

type OutputValue =
  | { readonly Token: ExactInteger }
  | { readonly Item: { readonly amount: ExactInteger; readonly genesis_hash?: string } };

export interface OutputEntry {
  readonly out_point: { readonly t_hash: string; readonly n: number };
  readonly value: OutputValue;
}

export interface WalletOutputs extends WalletTotals {
  readonly addresses: Readonly<Record<string, readonly OutputEntry[]>>;
}

export type MovementState = 'queued' | 'sent' | 'confirmed' | 'rejected';
export type Direction = 'in' | 'out' | 'self';

export interface Movement {
  readonly number: number;
  readonly tx_hash: string | null;
  readonly chain_hash: string | null;
  readonly kind: string;
  readonly direction: Direction;
  readonly state: MovementState;
  readonly reason: string | null;
  readonly peer: string | null;
  readonly amount: ExactInteger;
  readonly items: Readonly<Record<string, ExactInteger>>;
  readonly net: ExactInteger;
  readonly block_num: number | null;
  readonly block_time: ExactInteger | null;
  readonly seen_at: ExactInteger | null;
  readonly from: readonly string[];
  readonly outputs: readonly { readonly address: string | null; readonly own: boolean }[];
  readonly label: string | null;
}

export interface WalletItem {
  readonly genesis_hash: string;
  readonly amount: ExactInteger;
  readonly available: ExactInteger;
  readonly metadata: string | null;
}

export interface PaymentAccepted {
  /** Null when a node was paid that named the address itself. */
  readonly tx_hash: string | null;
}

export interface DonationRequest {
  readonly number: number;
  readonly peer: string;
  readonly asked_at: ExactInteger;
  readonly outcome: 'accepted' | 'declined' | 'unanswered';
  readonly reason: string | null;
}

export interface Label {
  readonly kind: 'address' | 'transaction';
  readonly name: string;
  readonly label: string;
}

export interface TradeAsset {
  readonly kind: 'token' | 'item';
  readonly amount: ExactInteger;
  readonly genesis_hash?: string;
}

export interface Trade {
  readonly trade_id: string;
  readonly side: 'maker' | 'taker';
  readonly state: string;
  readonly reason: string | null;
  readonly give: TradeAsset;
  readonly get: TradeAsset;
  readonly metadata: string | null;
  readonly expires_at: ExactInteger;
}
