/** Contents of envelope answers: one form with what the contract names and what existing clients read (decision E6). */

import { encodeTransaction } from '../../../chain/codec.js';
import { transactionHash } from '../../../chain/hash.js';
import { assetView } from '../../../chain/json.js';
import type { Asset, Transaction } from '../../../chain/types.js';
import { toHex } from '../../../lib/bytes.js';
import { parseExactJson } from '../../../lib/json.js';
import type { Balances, CreatedItem, Holdings, SubmittedTransaction } from '../../../mempool/service.js';
import type { LatestBlock, StoredEntry } from '../../../storage/service.js';
import { LazyList } from '../../http/long-answers.js';
import { balanceView } from '../views.js';

/** The content for created transactions: the key `transaction` first, the hashes last, as clients take the last key (docs/clients.md#c5). */
export function createdTransactions(submitted: readonly SubmittedTransaction[]): ReadonlyMap<string, unknown> {
  const summaries = submitted.map(({ hash, transaction }) => ({
    tx_hash: hash,
    hex: toHex(encodeTransaction(transaction)),
  }));
  const content = new Map<string, unknown>([['transaction', summaries[0]]]);
  if (summaries.length > 1) content.set('transactions', summaries);
  for (const { hash, transaction } of submitted) {
    const [first] = transaction.outputs;
    content.set(hash, [first?.scriptPublicKey ?? '', outputDetails(first?.value)]);
  }
  return content;
}

function outputDetails(asset: Asset | undefined) {
  if (asset === undefined) return { asset: { Token: 0 }, metadata: null, extra_info: null };
  return { asset: assetView(asset), metadata: asset.kind === 'item' ? asset.metadata : null, extra_info: null };
}

export function createdItem({ asset, toAddress, txHash }: CreatedItem) {
  const { amount, genesisHash, metadata } = asset;
  // drs_tx_hash is what older clients call the genesis hash (docs/clients.md#c11).
  const item = { amount, genesis_hash: genesisHash, drs_tx_hash: genesisHash, metadata };
  return {
    asset: { asset: { Item: item }, extra_info: null },
    to_address: toAddress,
    tx_hash: txHash,
    item_amount: amount,
    metadata,
  };
}

export function originalTransactions(transactions: readonly Transaction[]): ReadonlyMap<string, unknown> {
  return new Map(
    transactions.map((transaction) => {
      const last = transaction.outputs.at(-1);
      const asset = last === undefined ? { Token: 0 } : assetView(last.value);
      return [transactionHash(transaction), [last?.scriptPublicKey ?? '', { asset, extra_info: null }]];
    }),
  );
}

export function originalItem({ asset, toAddress, txHash }: CreatedItem) {
  return { asset: { asset: assetView(asset), extra_info: null }, to_address: toAddress, tx_hash: txHash };
}

/** Balances: `total` and `address_list` for clients, `balances` for the contract, with zero for addresses that hold nothing. */
export function fetchedBalances(asked: readonly string[], balances: Balances) {
  const { total, address_list } = balanceView(balances);
  const distinct = [...new Set(asked)];
  return {
    total,
    address_list,
    balances: distinct.map((address) => ({ address, assets: assetsOf(balances.addresses.get(address)) })),
  };
}

function assetsOf(holdings: Holdings | undefined) {
  const items = [...(holdings?.items ?? [])].map(([id, value]) => ({ name: 'Item', value, id }));
  return [{ name: 'Token', value: holdings?.tokens ?? 0n }, ...items];
}

interface BlockJson {
  readonly header: {
    readonly b_num: number;
    readonly previous_hash: string | null;
    readonly txs_merkle_root_and_hash: readonly [string, string];
  };
  readonly transactions: readonly string[];
}

interface EntryJson {
  readonly data: { readonly block: BlockJson } & Readonly<Record<string, unknown>>;
  readonly item_meta: unknown;
}

function entryJson(entry: StoredEntry): EntryJson {
  return parseExactJson(entry.json) as unknown as EntryJson;
}

function blockContent(hash: string, block: BlockJson) {
  const { header, transactions } = block;
  return {
    height: header.b_num,
    block_hash: hash,
    prev_block: header.previous_hash,
    merkle: header.txs_merkle_root_and_hash[0],
    tx_ids: transactions,
    header,
    block,
  };
}

export function blocksOf(entries: readonly StoredEntry[]) {
  return { blocks: LazyList.of(entries, blockOf) };
}

export function latestBlock(latest: LatestBlock) {
  const { block } = parseExactJson(latest.json) as unknown as { block: { block: BlockJson } };
  return blockContent(latest.hash, block.block);
}

export function originalLatest({ json }: LatestBlock): unknown {
  return (parseExactJson(json) as unknown as { block: unknown }).block;
}

function blockOf(entry: StoredEntry) {
  return blockContent(entry.key, entryJson(entry).data.block);
}

/** A block as a pair, `[hash, {block: …}]`, or empty texts where there is no block, as the old server answers. */
export function blockPair(entry: StoredEntry | undefined) {
  return entry === undefined ? ['', ''] : [entry.key, entryJson(entry).data];
}

export function singleEntry(entry: StoredEntry) {
  const { data } = entryJson(entry);
  if (entry.kind === 'tx') return { type: 'transaction', tx_hash: entry.key, ...data, Transaction: data };
  const { header, transactions } = data.block;
  return {
    type: 'block',
    height: header.b_num,
    block_hash: entry.key,
    tx_ids: transactions,
    header,
    Block: { block: data.block },
  };
}

/** One of several entries. Missing entries are kept, because a client reads `content[0][1]` unguarded (docs/clients.md#c8). */
export function entryTuple(entry: StoredEntry | undefined) {
  if (entry === undefined) return ['', '', ''];
  const { data, item_meta } = entryJson(entry);
  return [entry.key, data, item_meta];
}

/** The result of `entryTuple`, with the place under the name of its kind, as the original node answers. */
export function originalTuple(entry: StoredEntry | undefined) {
  if (entry === undefined) return entryTuple(entry);
  const { data, item_meta } = entryJson(entry);
  const { type, ...place } = item_meta as Readonly<Record<string, unknown>>;
  return [entry.key, data, { [type === 'block' ? 'Block' : 'Tx']: place }];
}
