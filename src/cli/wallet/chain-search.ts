/**
 * Looks for the addresses of some words in the chain: block by block at a storage node, and in what is unspent at a mempool
 * node.
 */

import { queryBalances } from '../../api/routes/mempool/operations.js';
import type { BalancesResponse } from '../../api/routes/mempool/schemas.js';
import { getBlocks, getLatestBlock, queryBlockchainEntries } from '../../api/routes/storage/operations.js';
import type { BlockchainEntryResponse } from '../../api/routes/storage/schemas.js';
import type { NodeClient } from '../../client/client.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import type { AddressSearch } from '../../wallet/keys/address-search.js';

/** Blocks in one request, and transactions. */
const BLOCKS = 50;
const TRANSACTIONS = 200;
/** Addresses in one request. */
const ADDRESSES = 500;

export interface ChainSearchModules {
  readonly storage: NodeClient;
  readonly mempool: NodeClient;
  /** Told how many of the blocks have been read. */
  readonly onProgress: (done: number, total: number) => void;
  readonly signal: AbortSignal;
}

/** What the words hold, in raw units; items by genesis hash. */
export interface FoundBalance {
  readonly tokens: bigint;
  readonly items: ReadonlyMap<string, bigint>;
}

/** Shows the whole chain to the search until it finds nothing new. Throws what the nodes answer. */
export async function searchChain(search: AddressSearch, modules: ChainSearchModules): Promise<FoundBalance> {
  for (;;) {
    await searchBlocks(search, modules);
    // What is unspent may be in a block that storage does not have yet.
    const { isNews, balance } = await searchUnspent(search, modules);
    if (!isNews) return balance;
  }
}

/** Reads the blocks; again up to the last one that was news, because what it told was not known before it. */
async function searchBlocks(search: AddressSearch, modules: ChainSearchModules): Promise<void> {
  let end = await heightOf(modules);
  let done = 0;
  let total = end + 1;
  while (end >= 0) {
    let last = -1;
    for (let at = 0; at <= end; at += BLOCKS) {
      const to = Math.min(at + BLOCKS - 1, end);
      const numbers = Array.from({ length: to - at + 1 }, (_, i) => at + i);
      if (await searchSome(search, numbers, modules)) last = to;
      done += numbers.length;
      modules.onProgress(done, total);
    }
    end = last;
    total += end + 1;
  }
}

/** The number of the last block; -1 when there is none. */
async function heightOf({ storage, signal }: ChainSearchModules): Promise<number> {
  try {
    const { block } = (await storage.call(getLatestBlock, {}, { signal })).block;
    return Number(block.header.b_num);
  } catch (error) {
    if (isTesseraError(error, 'no_blocks')) return -1;
    throw error;
  }
}

/** True when one of the blocks was news. */
async function searchSome(
  search: AddressSearch,
  numbers: readonly number[],
  { storage, signal }: ChainSearchModules,
): Promise<boolean> {
  const blocks = await storage.call(getBlocks, { query: { num: [...numbers] } }, { signal });
  if (blocks.length !== numbers.length) {
    throw new TesseraError('data_lost', `${storage.url} has not all of the blocks ${numbers[0]} to ${numbers.at(-1)}`);
  }
  const hashes = blocks.flatMap(transactionsOf);
  let isNews = false;
  for (let at = 0; at < hashes.length; at += TRANSACTIONS) {
    const keys = hashes.slice(at, at + TRANSACTIONS);
    const entries = await storage.call(queryBlockchainEntries, { body: { keys } }, { signal });
    if (entries.length !== keys.length) {
      throw new TesseraError(
        'data_lost',
        `${storage.url} has not all transactions of the blocks ${numbers[0]} to ${numbers.at(-1)}`,
      );
    }
    for (const address of entries.flatMap(addressesOf)) isNews = search.note(address) || isNews;
  }
  return isNews;
}

/** Hashes of the transactions of a block, the mining transaction included. */
function transactionsOf({ data }: BlockchainEntryResponse): readonly string[] {
  const { header, transactions } = data.block as {
    readonly header: { readonly nonce_and_mining_tx_hash: readonly [unknown, string] };
    readonly transactions: readonly string[];
  };
  return [...transactions, header.nonce_and_mining_tx_hash[1]];
}

/** Whom a transaction pays. */
function addressesOf({ data }: BlockchainEntryResponse): readonly string[] {
  const { outputs, fees } = data as Record<
    'outputs' | 'fees',
    readonly { readonly script_public_key: string | null }[]
  >;
  return [...outputs, ...fees].flatMap(({ script_public_key: address }) => address ?? []);
}

async function searchUnspent(
  search: AddressSearch,
  { mempool, signal }: ChainSearchModules,
): Promise<{ readonly isNews: boolean; readonly balance: FoundBalance }> {
  let isNews = false;
  let tokens = 0n;
  const items = new Map<string, bigint>();
  const addresses = search.watched;
  for (let at = 0; at < addresses.length; at += ADDRESSES) {
    const body = { addresses: addresses.slice(at, at + ADDRESSES) };
    const { balance }: BalancesResponse = await mempool.call(queryBalances, { body }, { signal });
    tokens += BigInt(balance.total.tokens);
    for (const [id, amount] of Object.entries(balance.total.items)) {
      items.set(id, (items.get(id) ?? 0n) + BigInt(amount));
    }
    for (const address of Object.keys(balance.address_list)) isNews = search.note(address) || isNews;
  }
  return { isNews, balance: { tokens, items } };
}
