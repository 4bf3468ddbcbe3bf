/** Reads that work with an index and without one, by the same names. */

import type { PageOf } from '../../shared/use-pages.js';
import * as indexed from './indexed-chain.js';
import type { Block, Item, Part, Transaction, TransactionSummary } from './shapes.js';
import * as stored from './stored-chain.js';
import type { Chain } from './use-chain.js';

export interface ChainReader {
  /** Newest first, those below `before`. */
  readBlocks(limit: number, before: number, signal: AbortSignal): Promise<readonly Block[]>;
  /** Reads a block by number or hash. */
  readBlock(name: string, signal: AbortSignal): Promise<Block>;
  readBlockTransactions(
    name: string,
    cursor: string | undefined,
    signal: AbortSignal,
  ): Promise<PageOf<TransactionSummary>>;
  readTransaction(hash: string, part: Part, signal: AbortSignal): Promise<Transaction>;
  readItem(hash: string, signal: AbortSignal): Promise<Item>;
}

const INDEXED: ChainReader = indexed;
const STORED: ChainReader = {
  ...stored,
  readTransaction: (hash, _part, signal) => stored.readTransaction(hash, signal),
};

export function readerOf(source: Chain['source']): ChainReader {
  return source === 'index' ? INDEXED : STORED;
}
