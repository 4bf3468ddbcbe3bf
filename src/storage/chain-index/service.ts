/** Service of the chain index: pages of an explorer. Heights and indexes are numbers, amounts are exact. */

import type { Asset, OutPoint, Transaction } from '../../chain/types.js';

/** Kinds of transactions, told from form and place. */
export const TRANSACTION_KINDS = ['coinbase', 'genesis', 'issuance', 'creation', 'trade', 'payment'] as const;
export type TransactionKind = (typeof TRANSACTION_KINDS)[number];

export const INDEX_STATES = ['off', 'building', 'ready', 'waiting'] as const;

export interface IndexStatus {
  /** `building`: blocks are missing in the index; `waiting`: it cannot go on now, for the reason in `problem`. */
  readonly state: (typeof INDEX_STATES)[number];
  /** Height of the last indexed block; null when there is none. */
  readonly height: number | null;
  /** Number of blocks in the archive. */
  readonly blocks: number;
  readonly problem: string | null;
}

export interface BlockSummary {
  readonly height: number;
  readonly hash: string;
  readonly previousHash: string | null;
  /** Unix seconds of the block. */
  readonly time: bigint;
  /** Number of transactions in the block, the coinbase included. */
  readonly transactions: number;
  /** Transactions up to this block, itself included, coinbases left out. */
  readonly payments: number;
  /** Size of the encoded block with all its transactions. */
  readonly bytes: number;
  /** Difficulty of the block: empty, or a compact target of 4 bytes. */
  readonly difficulty: Uint8Array;
  /** Raw units that the coinbase pays. */
  readonly reward: bigint;
  /** Raw units issued up to this block, itself included. */
  readonly issued: bigint;
  /** Address that the coinbase pays. */
  readonly miner: string | null;
  readonly coinbase: string;
}

/** Place of a transaction. */
export interface TransactionPlace {
  readonly hash: string;
  readonly height: number;
  /** Index in the block; the coinbase comes last. */
  readonly txNum: number;
  /** Unix seconds of its block. */
  readonly time: bigint;
}

export interface TransactionSummary extends TransactionPlace {
  readonly kind: TransactionKind;
  /** Size of the encoded transaction. */
  readonly bytes: number;
  readonly inputs: number;
  /** Number of outputs, fees included. */
  readonly outputs: number;
  /** Raw units in its outputs and fees. */
  readonly tokens: bigint;
  /** Raw units that are paid to others, as `paidOf` tells it. */
  readonly paid: bigint;
}

export interface Spender {
  readonly hash: string;
  readonly input: number;
  readonly height: number;
}

export interface IndexedOutput {
  readonly outPoint: OutPoint;
  /** Asset of the output. An item has its genesis hash, also in the transaction that created it. */
  readonly asset: Asset;
  readonly locktime: bigint;
  readonly address: string | null;
  readonly isFee: boolean;
  /** Input that spends the output; null while it is unspent, which it is for ever without an address. */
  readonly spender: Spender | null;
}

export interface IndexedInput {
  readonly script: Transaction['inputs'][number]['script'];
  /** Output that the input spends; null for coinbases, creations and issuances. */
  readonly source: (Omit<IndexedOutput, 'spender'> & { readonly height: number }) | null;
}

export interface IndexedTransaction extends TransactionSummary {
  readonly blockHash: string;
  readonly confirmations: number;
  readonly transaction: Transaction;
  /** First input and output of the part that was asked for. */
  readonly firstInput: number;
  readonly firstOutput: number;
  readonly inputList: readonly IndexedInput[];
  readonly outputList: readonly IndexedOutput[];
  /** The other transactions of its trade, at most `MAX_PARTNERS`; empty outside of trades. */
  readonly partners: readonly string[];
}

export interface AddressSummary {
  readonly address: string;
  /** Raw units in the unspent outputs of the address, locked ones included. */
  readonly tokens: bigint;
  /** Raw units that the address has received and sent in all. */
  readonly received: bigint;
  readonly sent: bigint;
  readonly transactions: number;
  readonly unspentOutputs: number;
  /** Number of kinds of items that the address holds. */
  readonly itemKinds: number;
  /** First and last transaction of the address; null when the chain has none. */
  readonly first: TransactionPlace | null;
  readonly last: TransactionPlace | null;
}

export interface HeldItem {
  readonly genesisHash: string;
  readonly amount: bigint;
}

export interface ItemMovement {
  readonly genesisHash: string;
  readonly received: bigint;
  readonly sent: bigint;
}

/** Amounts that one transaction brought to an address and took from it. */
export interface AddressMovement extends TransactionPlace {
  readonly kind: TransactionKind;
  readonly received: bigint;
  readonly sent: bigint;
  /** Movements of items of the transaction, at most `MAX_ITEM_MOVEMENTS`. */
  readonly items: readonly ItemMovement[];
  readonly itemKinds: number;
}

export interface AddressOutput extends Omit<IndexedOutput, 'spender' | 'address' | 'isFee'>, TransactionPlace {}

export interface ItemSummary {
  readonly genesisHash: string;
  /** Text that the creator gave the item. */
  readonly metadata: string | null;
  readonly creator: string | null;
  readonly issued: bigint;
  readonly created: TransactionPlace;
  readonly holders: number;
  readonly transfers: number;
}

export interface ItemHolder {
  readonly address: string;
  readonly amount: bigint;
}

export interface ItemTransfer extends TransactionPlace {
  readonly kind: TransactionKind;
  /** Amount of the item in the outputs of the transaction. */
  readonly amount: bigint;
  /** Senders and receivers, at most `MAX_PARTIES` of each. */
  readonly from: readonly ItemHolder[];
  readonly to: readonly ItemHolder[];
  readonly fromCount: number;
  readonly toCount: number;
}

export type Found =
  | { readonly kind: 'block'; readonly height: number; readonly hash: string }
  | { readonly kind: 'transaction'; readonly hash: string; readonly height: number }
  | { readonly kind: 'item'; readonly genesisHash: string }
  | { readonly kind: 'address'; readonly address: string };

/** A page of a list; `next` is null at the end. */
export interface Page<T> {
  readonly entries: readonly T[];
  readonly next: string | null;
}

export interface PageQuery {
  readonly limit: number;
  /** `next` of the previous page. */
  readonly cursor?: string | undefined;
}

/** The last block that the answer knows of. */
export interface ChainTip {
  readonly height: number;
  readonly hash: string;
}

/** The chain after one block. A cursor of another list than the one it is given for is `invalid_request`. */
export interface ChainView {
  /** The last block; undefined in an empty chain. */
  readonly tip: ChainTip | undefined;
  /** Blocks below `before` whose height is a multiple of `step`, newest first. */
  blocks(limit: number, before?: number, step?: number): Promise<readonly BlockSummary[]>;
  /** Block by height, or by hash. */
  block(name: number | string): Promise<BlockSummary | undefined>;
  /** Transactions of a block, in order. */
  blockTransactions(block: BlockSummary, query: PageQuery): Promise<Page<TransactionSummary>>;
  /** Transaction with a part of its lists. The list of inputs ends early when the spent transactions are large. */
  transaction(hash: string, part: TransactionPart): Promise<IndexedTransaction | undefined>;
  output(outPoint: OutPoint): Promise<(IndexedOutput & { readonly height: number }) | undefined>;
  address(address: string): Promise<AddressSummary>;
  addressItems(address: string, query: PageQuery): Promise<Page<HeldItem>>;
  /** Unspent outputs of an address, newest first. */
  addressOutputs(address: string, query: PageQuery): Promise<Page<AddressOutput>>;
  /** Movements of an address, newest first. */
  addressTransactions(address: string, query: PageQuery): Promise<Page<AddressMovement>>;
  /** Addresses by their tokens, the largest amount first. */
  tokenHolders(query: PageQuery): Promise<Page<ItemHolder>>;
  item(genesisHash: string): Promise<ItemSummary | undefined>;
  /** Holders of an item, the largest amount first. */
  itemHolders(genesisHash: string, query: PageQuery): Promise<Page<ItemHolder>>;
  /** Transfers of an item, newest first. */
  itemTransfers(genesisHash: string, query: PageQuery): Promise<Page<ItemTransfer>>;
  /** Blocks, transactions, items and addresses that a text names, whole or by its beginning. */
  search(text: string): Promise<readonly Found[]>;
}

/** First input and output of the listed part. */
export interface TransactionPart {
  readonly firstInput: number;
  readonly firstOutput: number;
}

export interface ChainIndexService {
  status(): IndexStatus;
  /**
   * Runs `read` on the chain after the last block that is stored now, or a later one. Throws `index_incomplete` while the
   * index is more than a little behind, or cannot be read now, and `overloaded` when too many long answers wait, most of them
   * of this `sender`: they are made one at a time, those of different senders in turn.
   */
  at<T>(read: (chain: ChainView) => Promise<T>, sender?: string): Promise<T>;
}

/** The most inputs, and the most outputs, of a transaction in one answer. */
export const MAX_LISTED = 500;
/** The most other transactions of a trade that are named. */
export const MAX_PARTNERS = 100;
/** The most kinds of items that one movement of an address names. */
export const MAX_ITEM_MOVEMENTS = 16;
/** The most addresses that a transfer of items names on each side. */
export const MAX_PARTIES = 8;
