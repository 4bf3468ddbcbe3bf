/** Views for clients of what the index of the chain answers. */

import { shownTotal } from '../../../chain/assets.js';
import { opcodeName } from '../../../chain/script/opcodes.js';
import type { Asset, DruidInfo, StackEntry } from '../../../chain/types.js';
import { toHex } from '../../../lib/bytes.js';
import {
  type AddressMovement,
  type AddressOutput,
  type AddressSummary,
  type BlockSummary,
  type Found,
  type HeldItem,
  type IndexedInput,
  type IndexedOutput,
  type IndexedTransaction,
  type ItemHolder,
  type ItemSummary,
  type ItemTransfer,
  MAX_LISTED,
  type TransactionPlace,
  type TransactionSummary,
} from '../../../storage/chain-index/service.js';

const NO_TOKENS = { genesis_hash: null, metadata: null };

export function blockView(block: BlockSummary) {
  return {
    block_num: block.height,
    hash: block.hash,
    previous_hash: block.previousHash,
    time: block.time,
    transactions: block.transactions,
    transactions_so_far: block.payments,
    bytes: block.bytes,
    difficulty: toHex(block.difficulty),
    reward: block.reward,
    issued: block.issued,
    miner: block.miner,
    coinbase: block.coinbase,
  };
}

function placeView({ hash, height, txNum, time }: TransactionPlace) {
  return { tx_hash: hash, block_num: height, tx_num: txNum, time };
}

function assetView(asset: Asset) {
  const { kind, amount } = asset;
  if (kind === 'token') return { asset: kind, amount, ...NO_TOKENS };
  return { asset: kind, amount, genesis_hash: asset.genesisHash, metadata: asset.metadata };
}

export function summaryView(transaction: TransactionSummary) {
  const { kind, bytes, inputs, outputs, tokens, paid } = transaction;
  return { ...placeView(transaction), kind, bytes, input_count: inputs, output_count: outputs, tokens, paid };
}

type Output = Omit<IndexedOutput, 'spender'>;

function outputView({ outPoint, address, asset, locktime, isFee }: Output) {
  return { n: outPoint.n, address, ...assetView(asset), locktime, fee: isFee };
}

function spentView({ spender }: IndexedOutput) {
  return spender && { tx_hash: spender.hash, input: spender.input, block_num: spender.height };
}

function entryView(entry: StackEntry) {
  switch (entry.kind) {
    case 'op':
      return { kind: entry.kind, value: String(opcodeName(entry.op)) };
    case 'signature':
    case 'pubkey':
      return { kind: entry.kind, value: toHex(entry.bytes) };
    case 'num':
      return { kind: entry.kind, value: String(entry.value) };
    case 'bytes':
      return { kind: entry.kind, value: entry.text };
  }
}

function inputView({ source, script }: IndexedInput) {
  return {
    source: source && { tx_hash: source.outPoint.tHash, ...outputView(source), block_num: source.height },
    script: script.map(entryView),
  };
}

function tradeView({ druid, participants, expectations }: DruidInfo, partners: readonly string[]) {
  return {
    druid,
    participants,
    partners,
    expectations: expectations.slice(0, MAX_LISTED).map(({ from, to, asset }) => ({ from, to, ...assetView(asset) })),
  };
}

export function transactionView(indexed: IndexedTransaction) {
  const { druidInfo, version } = indexed.transaction;
  return {
    ...summaryView(indexed),
    block_hash: indexed.blockHash,
    confirmations: indexed.confirmations,
    version,
    first_input: indexed.firstInput,
    inputs: indexed.inputList.map(inputView),
    first_output: indexed.firstOutput,
    outputs: indexed.outputList.map((output) => ({ ...outputView(output), spent_by: spentView(output) })),
    trade: druidInfo && tradeView(druidInfo, indexed.partners),
  };
}

export function spendableView(output: IndexedOutput & { readonly height: number }) {
  const tx_hash = output.outPoint.tHash;
  return { tx_hash, ...outputView(output), block_num: output.height, spent_by: spentView(output) };
}

export function addressView(summary: AddressSummary) {
  return {
    address: summary.address,
    tokens: summary.tokens,
    received: String(summary.received),
    sent: String(summary.sent),
    transaction_count: summary.transactions,
    unspent_count: summary.unspentOutputs,
    item_count: summary.itemKinds,
    first_seen: summary.first && placeView(summary.first),
    last_seen: summary.last && placeView(summary.last),
  };
}

export function addressOutputView(output: AddressOutput) {
  const { tHash, n } = output.outPoint;
  return {
    out_point: { t_hash: tHash, n },
    ...assetView(output.asset),
    locktime: output.locktime,
    ...placeView(output),
  };
}

export function heldItemView({ genesisHash, amount }: HeldItem) {
  return { genesis_hash: genesisHash, amount: shownTotal(amount) };
}

export function movementView(movement: AddressMovement) {
  const { kind, received, sent, items, itemKinds } = movement;
  return {
    ...placeView(movement),
    kind,
    received,
    sent,
    items: items.map((item) => ({
      genesis_hash: item.genesisHash,
      received: shownTotal(item.received),
      sent: shownTotal(item.sent),
    })),
    item_count: itemKinds,
  };
}

export function itemView(item: ItemSummary) {
  return {
    genesis_hash: item.genesisHash,
    metadata: item.metadata,
    creator: item.creator,
    issued: String(item.issued),
    created: placeView(item.created),
    holder_count: item.holders,
    transfer_count: item.transfers,
  };
}

export function holderView({ address, amount }: ItemHolder) {
  return { address, amount: shownTotal(amount) };
}

export function transferView(transfer: ItemTransfer) {
  const { kind, amount, from, to, fromCount, toCount } = transfer;
  return {
    ...placeView(transfer),
    kind,
    amount: shownTotal(amount),
    from: from.map(holderView),
    from_count: fromCount,
    to: to.map(holderView),
    to_count: toCount,
  };
}

export function foundView(found: Found) {
  switch (found.kind) {
    case 'block':
    case 'transaction':
      return { kind: found.kind, name: found.hash, block_num: found.height };
    case 'item':
      return { kind: found.kind, name: found.genesisHash, block_num: null };
    case 'address':
      return { kind: found.kind, name: found.address, block_num: null };
  }
}
