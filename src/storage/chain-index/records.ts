/** Records of the index. The database has checksums, so a record that cannot be read is a bug, or of another program. */

import { type Place, TOKENS } from './layout.js';
import { type Party, type RecordReader, RecordWriter, readRecord } from './record-bytes.js';
import type { AddressMovement, BlockSummary, ItemTransfer } from './service.js';

const FORMAT = 4;

export interface IndexTip {
  /** Number of blocks indexed. */
  readonly next: number;
  /** Hash of the last indexed block; null when there is none. */
  readonly hash: string | null;
  readonly nextAddress: number;
  readonly nextItem: number;
  /** Number of transactions in the indexed blocks, coinbases left out. */
  readonly payments: number;
}

export const EMPTY_TIP: IndexTip = { next: 0, hash: null, nextAddress: 0, nextItem: TOKENS + 1, payments: 0 };

/** An entry of a short list, which is kept in the account of its address. */
export interface ShortEntry {
  readonly place: Place;
  readonly record: Uint8Array;
}

export interface ShortOutput extends ShortEntry {
  readonly index: number;
}

/** Lists kept in the account itself: most addresses are used once or twice, and then have one record. */
export interface ShortLists {
  readonly movements: ShortEntry[];
  readonly unspent: ShortOutput[];
}

export interface AddressAccount {
  readonly number: number;
  tokens: bigint;
  received: bigint;
  sent: bigint;
  transactions: number;
  unspentOutputs: number;
  itemKinds: number;
  readonly first: Place;
  last: Place;
  /** Short lists; null once the lists have records of their own, for ever. */
  short: ShortLists | null;
  /** Raw units by which the account is in the list of holders now; 0 when it is not there. Not in its record. */
  listed: bigint;
}

export interface ItemAccount {
  readonly number: number;
  readonly created: Place;
  issued: bigint;
  holders: number;
  transfers: number;
}

export interface ItemChange {
  readonly genesisHash: string;
  received: bigint;
  sent: bigint;
}

export interface MovementRecord extends Pick<AddressMovement, 'itemKinds' | 'kind' | 'received' | 'sent'> {
  readonly items: readonly ItemChange[];
}

export interface UnspentRecord {
  readonly amount: bigint;
  readonly locktime: bigint;
  /** Genesis hash of an item; null for tokens. */
  readonly genesisHash: string | null;
  readonly metadata: string | null;
}

export interface TransferRecord extends Pick<ItemTransfer, 'amount' | 'fromCount' | 'kind' | 'toCount'> {
  readonly from: readonly Party[];
  readonly to: readonly Party[];
}

export const encodeTip = ({ next, hash, nextAddress, nextItem, payments }: IndexTip): Uint8Array =>
  new RecordWriter().uint(FORMAT).uint(next).optional(hash).uint(nextAddress).uint(nextItem).uint(payments).bytes();

/** The state of the index; undefined for an index of another format, which is built anew. */
export function readTip(bytes: Uint8Array): IndexTip | undefined {
  return readRecord(bytes, (from) => {
    if (from.number() !== FORMAT) return undefined;
    return {
      next: from.number(),
      hash: from.optional(),
      nextAddress: from.number(),
      nextItem: from.number(),
      payments: from.number(),
    };
  });
}

export function encodeBlock(block: BlockSummary): Uint8Array {
  const { hash, previousHash, time, transactions, payments, bytes, difficulty, reward, issued, miner, coinbase } =
    block;
  return new RecordWriter()
    .text(hash)
    .optional(previousHash)
    .uint(BigInt.asUintN(64, time))
    .uint(transactions)
    .uint(payments)
    .uint(bytes)
    .uint(difficulty.length)
    .raw(difficulty)
    .uint(reward)
    .uint(issued)
    .optional(miner)
    .text(coinbase)
    .bytes();
}

export function readBlock(height: number, bytes: Uint8Array): BlockSummary {
  return readRecord(bytes, (from) => ({
    height,
    hash: from.text(),
    previousHash: from.optional(),
    time: BigInt.asIntN(64, from.uint()),
    transactions: from.number(),
    payments: from.number(),
    bytes: from.number(),
    difficulty: from.raw(from.number()),
    reward: from.uint(),
    issued: from.uint(),
    miner: from.optional(),
    coinbase: from.text(),
  }));
}

export function encodeAddress(account: AddressAccount): Uint8Array {
  const to = new RecordWriter()
    .uint(account.number)
    .uint(account.tokens)
    .uint(account.received)
    .uint(account.sent)
    .uint(account.transactions)
    .uint(account.unspentOutputs)
    .uint(account.itemKinds)
    .place(account.first)
    .place(account.last);
  if (account.short === null) return to.bytes();
  const { movements, unspent } = account.short;
  to.uint(movements.length);
  for (const { place, record } of movements) to.place(place).uint(record.length).raw(record);
  to.uint(unspent.length);
  for (const { place, index, record } of unspent)
    to.place(place)
      .uint(index >>> 0)
      .uint(record.length)
      .raw(record);
  return to.bytes();
}

export function readAddress(bytes: Uint8Array): AddressAccount {
  return readRecord(bytes, (from) => {
    const number = from.number();
    const tokens = from.uint();
    return {
      number,
      tokens,
      listed: tokens,
      received: from.uint(),
      sent: from.uint(),
      transactions: from.number(),
      unspentOutputs: from.number(),
      itemKinds: from.number(),
      first: from.place(),
      last: from.place(),
      short: from.isAtEnd ? null : readShort(from),
    };
  });
}

function readShort(from: RecordReader): ShortLists {
  return {
    movements: from.list(() => ({ place: from.place(), record: from.raw(from.number()) })),
    unspent: from.list(() => ({ place: from.place(), index: from.number() | 0, record: from.raw(from.number()) })),
  };
}

export function encodeItem({ number, created, issued, holders, transfers }: ItemAccount): Uint8Array {
  return new RecordWriter().uint(number).place(created).uint(issued).uint(holders).uint(transfers).bytes();
}

export function readItem(bytes: Uint8Array): ItemAccount {
  return readRecord(bytes, (from) => ({
    number: from.number(),
    created: from.place(),
    issued: from.uint(),
    holders: from.number(),
    transfers: from.number(),
  }));
}

export function encodeMovement({ kind, received, sent, itemKinds, items }: MovementRecord): Uint8Array {
  const to = new RecordWriter().kind(kind).uint(received).uint(sent);
  if (itemKinds === 0) return to.bytes();
  to.uint(itemKinds).uint(items.length);
  for (const item of items) to.text(item.genesisHash).uint(item.received).uint(item.sent);
  return to.bytes();
}

export function readMovement(bytes: Uint8Array): MovementRecord {
  return readRecord(bytes, (from) => ({
    kind: from.kind(),
    received: from.uint(),
    sent: from.uint(),
    itemKinds: from.isAtEnd ? 0 : from.number(),
    items: from.isAtEnd
      ? []
      : from.list(() => ({ genesisHash: from.text(), received: from.uint(), sent: from.uint() })),
  }));
}

export function encodeUnspent({ amount, locktime, genesisHash, metadata }: UnspentRecord): Uint8Array {
  const to = new RecordWriter().uint(amount).uint(locktime);
  if (genesisHash !== null) to.text(genesisHash).optional(metadata);
  return to.bytes();
}

export function readUnspent(bytes: Uint8Array): UnspentRecord {
  return readRecord(bytes, (from) => {
    const [amount, locktime] = [from.uint(), from.uint()];
    if (from.isAtEnd) return { amount, locktime, genesisHash: null, metadata: null };
    return { amount, locktime, genesisHash: from.text(), metadata: from.optional() };
  });
}

export function encodeSpent(place: Place, input: number): Uint8Array {
  return new RecordWriter().place(place).uint(input).bytes();
}

export function readSpent(bytes: Uint8Array): { readonly place: Place; readonly input: number } {
  return readRecord(bytes, (from) => ({ place: from.place(), input: from.number() }));
}

/** First transaction and size of a trade, whose transactions lie side by side in the block. */
export interface TradeRecord {
  readonly firstTxNum: number;
  readonly participants: number;
}

export function encodeTrade({ firstTxNum, participants }: TradeRecord): Uint8Array {
  return new RecordWriter().uint(firstTxNum).uint(participants).bytes();
}

export function readTrade(bytes: Uint8Array): TradeRecord {
  return readRecord(bytes, (from) => ({ firstTxNum: from.number(), participants: from.number() }));
}

export function encodeHeld(genesisHash: string, amount: bigint): Uint8Array {
  return new RecordWriter().uint(amount).text(genesisHash).bytes();
}

export function readHeld(bytes: Uint8Array): { readonly amount: bigint; readonly genesisHash: string } {
  return readRecord(bytes, (from) => ({ amount: from.uint(), genesisHash: from.text() }));
}

export function encodeTransfer({ kind, amount, fromCount, from, toCount, to }: TransferRecord): Uint8Array {
  const writer = new RecordWriter().kind(kind).uint(amount).uint(fromCount).parties(from).uint(toCount).parties(to);
  return writer.bytes();
}

export function readTransfer(bytes: Uint8Array): TransferRecord {
  return readRecord(bytes, (from) => ({
    kind: from.kind(),
    amount: from.uint(),
    fromCount: from.number(),
    from: from.parties(),
    toCount: from.number(),
    to: from.parties(),
  }));
}
