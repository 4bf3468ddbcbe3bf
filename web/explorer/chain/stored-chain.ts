/**
 * Reads the chain from a node without an index: blocks and transactions as they are stored. What their sources were and who has
 * spent them is not in there.
 */

import { callNode, type ExactInteger, Refused } from '../../shared/node-api.js';
import type {
  AssetView,
  Block,
  Input,
  Item,
  Output,
  PageOf,
  ScriptEntry,
  Trade,
  Transaction,
  TransactionKind,
  TransactionSummary,
} from './views.js';

interface StoredHeader {
  readonly b_num: number;
  readonly timestamp: ExactInteger;
  readonly difficulty: readonly number[];
  readonly previous_hash: string | null;
  readonly nonce_and_mining_tx_hash: readonly [readonly number[], string];
}

interface StoredBlock {
  readonly key: string;
  readonly data: { readonly block: { readonly header: StoredHeader; readonly transactions: readonly string[] } };
  readonly item_meta: { readonly type: 'block'; readonly tx_len: number };
}

type StoredAsset =
  | { readonly Token: ExactInteger }
  | {
      readonly Item: {
        readonly amount: ExactInteger;
        readonly genesis_hash: string | null;
        readonly metadata: string | null;
      };
    };

interface StoredOutput {
  readonly value: StoredAsset;
  readonly locktime: ExactInteger;
  readonly script_public_key: string | null;
}

type StoredEntry = Readonly<Record<string, unknown>>;

interface StoredTransaction {
  readonly key: string;
  readonly data: {
    readonly inputs: readonly {
      readonly previous_out: { readonly t_hash: string; readonly n: number } | null;
      readonly script_signature: { readonly stack: readonly StoredEntry[] };
    }[];
    readonly outputs: readonly StoredOutput[];
    readonly version: ExactInteger;
    readonly fees: readonly StoredOutput[];
    readonly druid_info: {
      readonly druid: string;
      readonly participants: ExactInteger;
      readonly expectations: readonly { readonly from: string; readonly to: string; readonly asset: StoredAsset }[];
    } | null;
  };
  readonly item_meta: { readonly type: 'tx'; readonly block_num: number; readonly tx_num: number };
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
  return (await callNode<readonly StoredBlock[]>('/v1/blocks', { query: { num }, signal })).map(blockView);
}

/** The number of the last block; -1 before the first. */
export async function readHeight(signal: AbortSignal): Promise<number> {
  try {
    const { block } = await callNode<{ block: StoredBlock['data'] }>('/v1/blocks/latest', { signal });
    return block.block.header.b_num;
  } catch (error) {
    if (error instanceof Refused && error.code === 'no_blocks') return -1;
    throw error;
  }
}

async function storedBlock(name: string, signal: AbortSignal): Promise<StoredBlock> {
  const path = BLOCK_NUMBER.test(name) ? `/v1/blocks/${name}` : `/v1/blockchain-entries/${encodeURIComponent(name)}`;
  return callNode<StoredBlock>(path, { signal });
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
  const { header, transactions } = (await storedBlock(name, signal)).data.block;
  const hashes = [...transactions, header.nonce_and_mining_tx_hash[1]];
  const first = Number(cursor ?? 0);
  const keys = hashes.slice(first, first + PAGE);
  const found = await callNode<readonly StoredTransaction[]>('/v1/blockchain-entries/query', {
    method: 'POST',
    body: { keys },
    signal,
  });
  const next = first + PAGE < hashes.length ? String(first + PAGE) : null;
  return { entries: found.map((entry) => ({ ...summaryView(entry), time: header.timestamp })), next };
}

export async function readTransaction(hash: string, signal: AbortSignal): Promise<Transaction> {
  const stored = await callNode<StoredTransaction>(`/v1/blockchain-entries/${encodeURIComponent(hash)}`, { signal });
  if (stored.item_meta.type !== 'tx')
    throw new Refused(404, 'entry_not_found', 'This is the hash of a block.', undefined);
  const { inputs, outputs, fees, version, druid_info } = stored.data;
  return {
    ...summaryView(stored),
    version,
    first_input: 0,
    inputs: inputs.map(
      ({ previous_out, script_signature }): Input => ({
        source: previous_out && { tx_hash: previous_out.t_hash, n: previous_out.n },
        script: script_signature.stack.map(entryView),
      }),
    ),
    first_output: 0,
    outputs: [
      ...outputs.map((one, n) => outputView(one, n, false)),
      ...fees.map((one, n) => outputView(one, outputs.length + n, true)),
    ],
    trade: druid_info && tradeView(druid_info),
  };
}

export async function readItem(hash: string, signal: AbortSignal): Promise<Item> {
  const item = await callNode<{
    genesis_hash: string;
    metadata: string | null;
    total_amount: ExactInteger;
    created: { block_num: number; tx_hash: string };
    creator_address: string | null;
  }>(`/v1/items/${encodeURIComponent(hash)}`, { signal });
  const { genesis_hash, metadata, total_amount, created, creator_address } = item;
  return { genesis_hash, metadata, creator: creator_address, issued: String(total_amount), created };
}

function blockView({ key, data: { block }, item_meta }: StoredBlock): Block {
  const { b_num, timestamp, difficulty, previous_hash, nonce_and_mining_tx_hash } = block.header;
  return {
    block_num: b_num,
    hash: key,
    previous_hash,
    time: timestamp,
    transactions: item_meta.tx_len,
    difficulty: difficulty.map((byte) => byte.toString(16).padStart(2, '0')).join(''),
    coinbase: nonce_and_mining_tx_hash[1],
  };
}

function summaryView({ key, data, item_meta }: StoredTransaction): TransactionSummary {
  const outputs = [...data.outputs, ...data.fees];
  const tokens = outputs.reduce((sum, { value }) => sum + ('Token' in value ? BigInt(value.Token) : 0n), 0n);
  return {
    tx_hash: key,
    block_num: item_meta.block_num,
    kind: kindOf(data, item_meta.block_num),
    input_count: data.inputs.length,
    output_count: outputs.length,
    tokens,
  };
}

function kindOf({ inputs, druid_info }: StoredTransaction['data'], height: number): TransactionKind {
  if (druid_info !== null) return 'trade';
  if (inputs.some(({ previous_out }) => previous_out !== null)) return 'payment';
  const stack = inputs[0]?.script_signature.stack ?? [];
  if (stack.some(({ Op }) => Op === 'OP_CREATE')) return 'creation';
  return stack.length === 1 && 'Num' in (stack[0] ?? {}) ? 'coinbase' : height === 0 ? 'genesis' : 'issuance';
}

function assetView(asset: StoredAsset): AssetView {
  if ('Token' in asset) return { asset: 'token', amount: asset.Token, genesis_hash: null, metadata: null };
  return { asset: 'item', ...asset.Item };
}

function outputView({ value, locktime, script_public_key }: StoredOutput, n: number, fee: boolean): Output {
  return { n, ...assetView(value), address: script_public_key, locktime, fee };
}

function tradeView({ druid, participants, expectations }: NonNullable<StoredTransaction['data']['druid_info']>): Trade {
  return {
    druid,
    participants,
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
