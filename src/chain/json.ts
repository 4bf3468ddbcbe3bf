/** JSON of every structure as serde writes it (docs/chain.md#json). `xJson` gives the text that signatures cover, `xView` objects. */

import { opcodeName } from './script/opcodes.js';
import type {
  Asset,
  Block,
  BlockHeader,
  DruidExpectation,
  DruidInfo,
  OutPoint,
  Script,
  StackEntry,
  Transaction,
  TxIn,
  TxOut,
} from './types.js';

// Printable ASCII without quote and backslash needs no escaping; nearly all texts are that.
const PLAIN = /^[ !#-[\]-~]*$/;

function text(value: string): string {
  // JSON.stringify escapes exactly as serde_json does, for texts without lone surrogates.
  return PLAIN.test(value) ? `"${value}"` : JSON.stringify(value);
}

function optionalText(value: string | null): string {
  return value === null ? 'null' : text(value);
}

function numbers(bytes: Uint8Array): string {
  return `[${bytes.join(',')}]`;
}

function list<T>(items: readonly T[], json: (item: T) => string): string {
  return `[${items.map(json).join(',')}]`;
}

export function outPointJson(outPoint: OutPoint | null): string {
  return outPoint === null ? 'null' : `{"t_hash":${text(outPoint.tHash)},"n":${outPoint.n}}`;
}

export function assetJson(asset: Asset): string {
  if (asset.kind === 'token') return `{"Token":${asset.amount}}`;
  const genesisHash = optionalText(asset.genesisHash);
  return `{"Item":{"amount":${asset.amount},"genesis_hash":${genesisHash},"metadata":${optionalText(asset.metadata)}}}`;
}

function entryJson(entry: StackEntry): string {
  switch (entry.kind) {
    case 'op':
      return `{"Op":"${opcodeName(entry.op)}"}`;
    case 'signature':
      return `{"Signature":${numbers(entry.bytes)}}`;
    case 'pubkey':
      return `{"PubKey":${numbers(entry.bytes)}}`;
    case 'num':
      return `{"Num":${entry.value}}`;
    case 'bytes':
      return `{"Bytes":${text(entry.text)}}`;
  }
}

export function scriptJson(script: Script): string {
  return `{"stack":${list(script, entryJson)}}`;
}

export function txInJson(txIn: TxIn): string {
  return `{"previous_out":${outPointJson(txIn.previousOut)},"script_signature":${scriptJson(txIn.script)}}`;
}

export function txOutJson(txOut: TxOut): string {
  const address = optionalText(txOut.scriptPublicKey);
  return `{"value":${assetJson(txOut.value)},"locktime":${txOut.locktime},"script_public_key":${address}}`;
}

export function expectationJson(expectation: DruidExpectation): string {
  return `{"from":${text(expectation.from)},"to":${text(expectation.to)},"asset":${assetJson(expectation.asset)}}`;
}

export function druidInfoJson(info: DruidInfo): string {
  const expectations = list(info.expectations, expectationJson);
  const genesisHash = optionalText(info.genesisHash);
  return `{"druid":${text(info.druid)},"participants":${info.participants},"expectations":${expectations},"genesis_hash":${genesisHash}}`;
}

export function transactionJson(tx: Transaction): string {
  const inputs = list(tx.inputs, txInJson);
  const outputs = list(tx.outputs, txOutJson);
  const fees = list(tx.fees, txOutJson);
  const druidInfo = tx.druidInfo === null ? 'null' : druidInfoJson(tx.druidInfo);
  return `{"inputs":${inputs},"outputs":${outputs},"version":${tx.version},"fees":${fees},"druid_info":${druidInfo}}`;
}

/** JSON with the members of its layout (docs/chain.md#header-layouts). */
export function headerJson(header: BlockHeader): string {
  const { layout } = header;
  const timestamp = layout === 'oldest' ? '' : `"timestamp":${header.timestamp},`;
  const difficulty = layout === undefined ? `"difficulty":${numbers(header.difficulty)},` : '';
  return (
    `{"version":${header.version},"bits":${header.bits}` +
    `,"nonce_and_mining_tx_hash":[${numbers(header.nonce)},${text(header.miningTxHash)}]` +
    `,"b_num":${header.bNum},${timestamp}${difficulty}"seed_value":${numbers(header.seedValue)}` +
    `,"previous_hash":${optionalText(header.previousHash)}` +
    `,"txs_merkle_root_and_hash":[${text(header.merkleRoot)},${text(header.txsHash)}]}`
  );
}

export function blockJson(block: Block): string {
  return `{"header":${headerJson(block.header)},"transactions":${list(block.transactions, text)}}`;
}

export type AssetView =
  | { Token: bigint }
  | { Item: { amount: bigint; genesis_hash: string | null; metadata: string | null } };

export type EntryView =
  | { Op: string }
  | { Signature: number[] }
  | { PubKey: number[] }
  | { Num: bigint }
  | { Bytes: string };

export function outPointView(outPoint: OutPoint) {
  return { t_hash: outPoint.tHash, n: outPoint.n };
}

export function assetView(asset: Asset): AssetView {
  if (asset.kind === 'token') return { Token: asset.amount };
  return { Item: { amount: asset.amount, genesis_hash: asset.genesisHash, metadata: asset.metadata } };
}

export function entryView(entry: StackEntry): EntryView {
  switch (entry.kind) {
    case 'op':
      return { Op: String(opcodeName(entry.op)) };
    case 'signature':
      return { Signature: [...entry.bytes] };
    case 'pubkey':
      return { PubKey: [...entry.bytes] };
    case 'num':
      return { Num: entry.value };
    case 'bytes':
      return { Bytes: entry.text };
  }
}

function txInView(txIn: TxIn) {
  const previousOut = txIn.previousOut === null ? null : outPointView(txIn.previousOut);
  return { previous_out: previousOut, script_signature: { stack: txIn.script.map(entryView) } };
}

export function txOutView(txOut: TxOut) {
  return { value: assetView(txOut.value), locktime: txOut.locktime, script_public_key: txOut.scriptPublicKey };
}

export function druidInfoView(info: DruidInfo) {
  return {
    druid: info.druid,
    participants: info.participants,
    expectations: info.expectations.map(({ from, to, asset }) => ({ from, to, asset: assetView(asset) })),
    genesis_hash: info.genesisHash,
  };
}

export function transactionView(tx: Transaction) {
  return {
    inputs: tx.inputs.map(txInView),
    outputs: tx.outputs.map(txOutView),
    version: tx.version,
    fees: tx.fees.map(txOutView),
    druid_info: tx.druidInfo === null ? null : druidInfoView(tx.druidInfo),
  };
}

export function headerView(header: BlockHeader) {
  return {
    version: header.version,
    bits: header.bits,
    nonce_and_mining_tx_hash: [[...header.nonce], header.miningTxHash] as const,
    b_num: header.bNum,
    timestamp: header.timestamp,
    difficulty: [...header.difficulty],
    seed_value: [...header.seedValue],
    previous_hash: header.previousHash,
    txs_merkle_root_and_hash: [header.merkleRoot, header.txsHash] as const,
  };
}

export function blockView(block: Block) {
  return { header: headerView(block.header), transactions: [...block.transactions] };
}
