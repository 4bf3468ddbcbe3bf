/**
 * Reads the chain from a node without an index: blocks and transactions as they are stored. What their sources were and who has
 * spent them is not in there.
 */

import { paidOf } from '../../../src/chain/transaction.js';
import {
  type BlockchainEntryResponse,
  type BlockMeta,
  isTesseraError,
  type StoredBlockData,
  TesseraError,
} from '../../../src/sdk/client.js';
import { node } from '../../shared/node.js';
import type { PageOf } from '../../shared/use-pages.js';
import type { AssetView, Block, Input, Item, Output, Trade, Transaction, TransactionSummary } from './shapes.js';

type ScriptEntry = Input['script'][number];

/** The API leaves open what is in a stored transaction: the chain's own JSON, with amounts in whatever holds them. */
type Integer = number | bigint;

type StoredAsset =
  | { readonly Token: Integer }
  | {
      readonly Item: {
        readonly amount: Integer;
        readonly genesis_hash: string | null;
        readonly metadata: string | null;
      };
    };

interface StoredOutput {
  readonly value: StoredAsset;
  readonly locktime: Integer;
  readonly script_public_key: string | null;
}

type StoredEntry = Readonly<Record<string, unknown>>;

interface StoredTransaction {
  readonly inputs: readonly {
    readonly previous_out: { readonly t_hash: string; readonly n: number } | null;
    readonly script_signature: { readonly stack: readonly StoredEntry[] };
  }[];
  readonly outputs: readonly StoredOutput[];
  readonly version: bigint;
  readonly fees: readonly StoredOutput[];
  readonly druid_info: {
    readonly druid: string;
    readonly participants: Integer;
    readonly expectations: readonly { readonly from: string; readonly to: string; readonly asset: StoredAsset }[];
  } | null;
}

/** A node takes this many numbers in one query. */
const NUMBERS = 100;
/** Transactions of a block in one page. */
const PAGE = 50;
const BLOCK_NUMBER = /^\d{1,15}$/;

export async function readBlocks(limit: number, before: number, signal: AbortSignal): Promise<readonly Block[]> {
  const count = Math.min(limit, NUMBERS, before);
  if (count <= 0) return [];
  const num = Array.from({ length: count }, (_, at) => before - 1 - at);
  return (await node.getBlocks({ num }, { signal })).map(blockView);
}

/** The number of the last block; -1 before the first. */
export async function readHeight(signal: AbortSignal): Promise<number> {
  try {
    return Number((await node.getLatestBlock({}, { signal })).block.block.header.b_num);
  } catch (error) {
    if (isTesseraError(error, 'no_blocks')) return -1;
    throw error;
  }
}

/** Reads a block by number or hash. */
function storedBlock(name: string, signal: AbortSignal): Promise<BlockchainEntryResponse> {
  return BLOCK_NUMBER.test(name)
    ? node.getBlock({ num: Number(name) }, { signal })
    : node.getBlockchainEntry({ key: name }, { signal });
}

/** Reads the header, which only the stored block has. */
export async function readHeader(hash: string, signal: AbortSignal) {
  return blockOf(await node.getBlockchainEntry({ key: hash }, { signal })).header;
}

export async function readBlock(name: string, signal: AbortSignal): Promise<Block> {
  return blockView(await storedBlock(name, signal));
}

/** The cursor is the place of the first transaction of the page; the coinbase comes last. */
export async function readBlockTransactions(
  name: string,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<PageOf<TransactionSummary>> {
  const { header, transactions } = blockOf(await storedBlock(name, signal));
  const hashes = [...transactions, header.nonce_and_mining_tx_hash[1]];
  const first = Number(cursor ?? 0);
  const keys = hashes.slice(first, first + PAGE);
  const found = await node.queryBlockchainEntries({ keys }, { signal });
  const next = first + PAGE < hashes.length ? String(first + PAGE) : null;
  return { entries: found.map((entry) => ({ ...summaryView(entry), time: header.timestamp ?? 0n })), next };
}

export async function readTransaction(hash: string, signal: AbortSignal): Promise<Transaction> {
  const stored = await node.getBlockchainEntry({ key: hash }, { signal });
  if (stored.item_meta.type !== 'tx') throw new TesseraError('entry_not_found', 'This is the hash of a block.');
  const { inputs, outputs, fees, version, druid_info } = transactionOf(stored);
  return {
    ...summaryView(stored),
    version,
    first_input: 0n,
    inputs: inputs.map(
      ({ previous_out, script_signature }): Input => ({
        source: previous_out && { tx_hash: previous_out.t_hash, n: previous_out.n },
        script: script_signature.stack.map(entryView),
      }),
    ),
    first_output: 0n,
    outputs: [
      ...outputs.map((one, n) => outputView(one, n, false)),
      ...fees.map((one, n) => outputView(one, outputs.length + n, true)),
    ],
    trade: druid_info && tradeView(druid_info),
  };
}

export async function readItem(hash: string, signal: AbortSignal): Promise<Item> {
  const item = await node.getItem({ genesis_hash: hash }, { signal });
  const { genesis_hash, metadata, total_amount, created, creator_address } = item;
  return { genesis_hash, metadata, creator: creator_address, issued: String(total_amount), created };
}

// Each is asked for by a name of its kind, or with its kind looked at.
const blockOf = ({ data }: BlockchainEntryResponse) => (data as StoredBlockData).block;
const transactionOf = ({ data }: BlockchainEntryResponse) => data as StoredTransaction;

function blockView(entry: BlockchainEntryResponse): Block {
  const { header } = blockOf(entry);
  const { b_num, timestamp = 0n, difficulty = [], previous_hash, nonce_and_mining_tx_hash } = header;
  return {
    block_num: b_num,
    hash: entry.key,
    previous_hash,
    time: timestamp,
    transactions: BigInt((entry.item_meta as BlockMeta).tx_len),
    difficulty: HEX(difficulty),
    coinbase: nonce_and_mining_tx_hash[1],
  };
}

function summaryView(entry: BlockchainEntryResponse): TransactionSummary {
  const { key, item_meta } = entry;
  const data = transactionOf(entry);
  const outputs = [...data.outputs, ...data.fees];
  const tokensIn = (list: readonly StoredOutput[]): bigint[] =>
    list.flatMap(({ value }) => ('Token' in value ? [BigInt(value.Token)] : []));
  return {
    tx_hash: key,
    block_num: item_meta.block_num,
    kind: kindOf(data, item_meta.block_num),
    input_count: BigInt(data.inputs.length),
    output_count: BigInt(outputs.length),
    tokens: tokensIn(outputs).reduce((sum, amount) => sum + amount, 0n),
    paid: paidOf(
      data.inputs.some(({ previous_out }) => previous_out !== null),
      tokensIn(data.outputs),
    ),
  };
}

function kindOf({ inputs, druid_info }: StoredTransaction, height: bigint): TransactionSummary['kind'] {
  if (druid_info !== null) return 'trade';
  if (inputs.some(({ previous_out }) => previous_out !== null)) return 'payment';
  const stack = inputs[0]?.script_signature.stack ?? [];
  if (stack.some(({ Op }) => Op === 'OP_CREATE')) return 'creation';
  return stack.length === 1 && 'Num' in (stack[0] ?? {}) ? 'coinbase' : height === 0n ? 'genesis' : 'issuance';
}

function assetView(asset: StoredAsset): AssetView {
  if ('Token' in asset) return { asset: 'token', amount: BigInt(asset.Token), genesis_hash: null, metadata: null };
  const { amount, genesis_hash, metadata } = asset.Item;
  return { asset: 'item', amount: BigInt(amount), genesis_hash, metadata };
}

function outputView({ value, locktime, script_public_key }: StoredOutput, n: number, fee: boolean): Output {
  return { n, ...assetView(value), address: script_public_key, locktime: BigInt(locktime), fee };
}

function tradeView({ druid, participants, expectations }: NonNullable<StoredTransaction['druid_info']>): Trade {
  return {
    druid,
    participants: BigInt(participants),
    expectations: expectations.map(({ from, to, asset }) => ({ from, to, ...assetView(asset) })),
  };
}

const HEX = (bytes: readonly number[]): string => bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** An entry of a stored script has one member, its kind. */
function entryView(entry: StoredEntry): ScriptEntry {
  const [[kind, value] = ['Bytes', '']] = Object.entries(entry);
  if (kind === 'Op') return { kind: 'op', value: String(value) };
  if (kind === 'Num') return { kind: 'num', value: String(value) };
  if (kind === 'Bytes') return { kind: 'bytes', value: String(value) };
  return { kind: kind === 'Signature' ? 'signature' : 'pubkey', value: HEX(value as readonly number[]) };
}
