/** Reads the chain from the index of the node. */

import { node } from '../../shared/node.js';
import type { PageOf } from '../../shared/use-pages.js';
import type { Block, Part, TransactionSummary } from './shapes.js';

/** Entries of a page of a list. */
const PAGE = 100;

/** Query for a page of a list. */
const page = (cursor: string | undefined) => (cursor === undefined ? { limit: PAGE } : { limit: PAGE, cursor });

/** Newest first, those below `before`. */
export async function readBlocks(
  limit: number,
  before: number | undefined,
  signal: AbortSignal,
): Promise<readonly Block[]> {
  return (await node.getChainBlocks(before === undefined ? { limit } : { limit, before }, { signal })).blocks;
}

export const readBlock = (block: string, signal: AbortSignal) => node.getChainBlock({ block }, { signal });

export async function readBlockTransactions(
  block: string,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<PageOf<TransactionSummary>> {
  const { transactions, next } = await node.getBlockTransactions({ block, ...page(cursor) }, { signal });
  return { entries: transactions, next };
}

export const readTransaction = (hash: string, part: Part, signal: AbortSignal) =>
  node.getChainTransaction({ tx_hash: hash, ...part }, { signal });

export const readAddress = (address: string, signal: AbortSignal) => node.getChainAddress({ address }, { signal });

export async function readAddressTransactions(address: string, cursor: string | undefined, signal: AbortSignal) {
  const { transactions, next } = await node.getAddressTransactions({ address, ...page(cursor) }, { signal });
  return { entries: transactions, next };
}

export async function readAddressOutputs(address: string, cursor: string | undefined, signal: AbortSignal) {
  const { outputs, next } = await node.getAddressOutputs({ address, ...page(cursor) }, { signal });
  return { entries: outputs, next };
}

export async function readAddressItems(address: string, cursor: string | undefined, signal: AbortSignal) {
  const { items, next } = await node.getAddressItems({ address, ...page(cursor) }, { signal });
  return { entries: items, next };
}

export const readItem = (hash: string, signal: AbortSignal) => node.getChainItem({ genesis_hash: hash }, { signal });

export async function readItemHolders(hash: string, cursor: string | undefined, signal: AbortSignal) {
  const { holders, next } = await node.getItemHolders({ genesis_hash: hash, ...page(cursor) }, { signal });
  return { entries: holders, next };
}

export async function readItemTransfers(hash: string, cursor: string | undefined, signal: AbortSignal) {
  const { transfers, next } = await node.getItemTransfers({ genesis_hash: hash, ...page(cursor) }, { signal });
  return { entries: transfers, next };
}
