/** The JSON of the archive (docs/chain.md#json, decisions V8 to V10), made once and sent as bytes from then on. */

import { decodeBlock, decodeTransaction } from '../../chain/codec.js';
import { blockJson, transactionJson } from '../../chain/json.js';
import { keptUtf8 } from '../../lib/bytes.js';
import type { LatestBlock, StoredBlock, StoredTransaction } from '../service.js';
import type { BlockRecord, TransactionRecord } from './records.js';

/** Bytes that an entry takes besides its JSON and its canonical bytes; the cache counts them in. */
const ENTRY_OVERHEAD = 512;

export interface Rendered<T> {
  readonly entry: T;
  /** Bytes of memory. */
  readonly size: number;
}

const blockDataJson = ({ block }: BlockRecord): string => `{"block":${blockJson(block)}}`;

export function renderBlock(record: BlockRecord): Rendered<StoredBlock> {
  const { hash, height, block, bytes } = record;
  const txLen = block.transactions.length + 1;
  const meta = `{"type":"block","block_num":${height},"tx_len":${txLen}}`;
  const json = keptUtf8(`{"key":"${hash}","data":${blockDataJson(record)},"item_meta":${meta}}`);
  return {
    entry: { kind: 'block', key: hash, height, txLen, json, block: () => decodeBlock(bytes) },
    size: json.length + bytes.length + ENTRY_OVERHEAD,
  };
}

export function renderTransaction(record: TransactionRecord): Rendered<StoredTransaction> {
  const { hash, height, txNum, bytes, transaction } = record;
  const meta = `{"type":"tx","block_num":${height},"tx_num":${txNum}}`;
  // The hash of a genesis transaction may be any text.
  const json = keptUtf8(`{"key":${JSON.stringify(hash)},"data":${transactionJson(transaction)},"item_meta":${meta}}`);
  return {
    entry: { kind: 'tx', key: hash, height, txNum, json, transaction: () => decodeTransaction(bytes) },
    size: json.length + bytes.length + ENTRY_OVERHEAD,
  };
}

export function renderLatest(record: BlockRecord): LatestBlock {
  const { hash, height, bytes } = record;
  const json = keptUtf8(`{"block":${blockDataJson(record)}}`);
  return { hash, height, json, block: () => decodeBlock(bytes) };
}
