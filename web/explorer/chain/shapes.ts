/** Shapes of the chain that pages show: the answers of an index, with members that are unknown where a node has none. */

import type { BlockTransactionsResponse, ChainBlock, ChainItem, ChainTransaction } from '../../../src/sdk/client.js';

/** `T` with members that may be unknown. */
type Without<T, Names extends keyof T> = Omit<T, Names> & Partial<Pick<T, Names>>;

type IndexedInput = ChainTransaction['inputs'][number];
type Source = NonNullable<IndexedInput['source']>;
type Asset = ChainTransaction['outputs'][number];

export type Block = Without<ChainBlock, 'bytes' | 'reward' | 'issued' | 'miner' | 'transactions_so_far'>;

export type TransactionSummary = Without<
  BlockTransactionsResponse['transactions'][number],
  'bytes' | 'tx_num' | 'time'
>;

export type AssetView = Pick<Asset, 'asset' | 'amount' | 'genesis_hash' | 'metadata'>;

export type Output = Without<Asset, 'spent_by'>;

export interface Input extends Pick<IndexedInput, 'script'> {
  /** Null for what creates. */
  readonly source: (Partial<Source> & Pick<Source, 'tx_hash' | 'n'>) | null;
}

export type Trade = Without<NonNullable<ChainTransaction['trade']>, 'partners'>;

type Indexed = 'bytes' | 'time' | 'confirmations' | 'tx_num' | 'block_hash' | 'as_of_block';

export interface Transaction extends Without<Omit<ChainTransaction, 'inputs' | 'outputs' | 'trade'>, Indexed> {
  readonly inputs: readonly Input[];
  readonly outputs: readonly Output[];
  readonly trade: Trade | null;
}

type Created = ChainItem['created'];

export interface Item extends Without<Omit<ChainItem, 'created'>, 'holder_count' | 'transfer_count' | 'as_of_block'> {
  readonly created: Pick<Created, 'tx_hash' | 'block_num'> & Partial<Pick<Created, 'time'>>;
}

/** First input and output of a part. */
export interface Part {
  readonly first_input?: number;
  readonly first_output?: number;
}
