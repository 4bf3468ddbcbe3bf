/** Service of the archive for the rest of the node. */

import type { Block, Transaction } from '../chain/types.js';

interface StoredBase {
  /** The real key that the name stands for: block hash or transaction hash (decision V9). */
  readonly key: string;
  readonly height: number;
  /** Ready bytes of the `BlockchainEntryResponse` JSON: `{"key":…,"data":…,"item_meta":…}`. */
  readonly json: Uint8Array;
}

export interface StoredBlock extends StoredBase {
  readonly kind: 'block';
  /** Number of transactions of the block, its coinbase included. */
  readonly txLen: number;
  /** The block, decoded on demand. */
  block(): Block;
}

export interface StoredTransaction extends StoredBase {
  readonly kind: 'tx';
  readonly txNum: number;
  /** The transaction, decoded on demand. */
  transaction(): Transaction;
}

export type StoredEntry = StoredBlock | StoredTransaction;

export interface LatestBlock {
  readonly hash: string;
  readonly height: number;
  /** Ready bytes of the `LatestBlockResponse` JSON: `{"block":{"block":{…}}}` (decision V10). */
  readonly json: Uint8Array;
  block(): Block;
}

/** An item, as `GET /v1/items/{genesis_hash}` shows it (decision V21). */
export interface ItemInfo {
  readonly genesisHash: string;
  readonly metadata: string | null;
  readonly totalAmount: bigint;
  readonly height: number;
  readonly txHash: string;
  readonly creatorAddress: string | null;
}

export interface StorageService {
  /** Entry by block hash, transaction hash or one of the named keys of decision V9. */
  entry(key: string): Promise<StoredEntry | undefined>;
  blockAt(num: number): Promise<StoredBlock | undefined>;
  latest(): Promise<LatestBlock | undefined>;
  item(genesisHash: string): Promise<ItemInfo | undefined>;
}
