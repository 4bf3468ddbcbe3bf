/**
 * What the records of the index hold, as bytes: numbers in as many bytes as they need (7 bits in each, the low ones first), texts behind
 * their length. The store around them has checksums, so a record that cannot be read is a bug, or of another program.
 */

import { TesseraError } from '../../lib/errors.js';
import type { Place } from './layout.js';
import { type BlockSummary, TRANSACTION_KINDS, type TransactionKind } from './service.js';

const FORMAT = 1;
const NO_TEXT = 0;
const MAX_NUMBER = BigInt(Number.MAX_SAFE_INTEGER);
const MORE = 0x80;
const SEVEN = 0x7f;

export interface IndexTip {
  /** Number of blocks indexed. */
  readonly next: number;
  /** Of the last one; null when there is none. */
  readonly hash: string | null;
  readonly nextAddress: number;
  readonly nextItem: number;
}

export const EMPTY_TIP: IndexTip = { next: 0, hash: null, nextAddress: 0, nextItem: 0 };

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

export interface MovementRecord {
  readonly kind: TransactionKind;
  readonly received: bigint;
  readonly sent: bigint;
  readonly itemKinds: number;
  readonly items: readonly ItemChange[];
}

export interface UnspentRecord {
  readonly amount: bigint;
  readonly locktime: bigint;
  /** Null for tokens. */
  readonly genesisHash: string | null;
  readonly metadata: string | null;
}

export interface Party {
  readonly address: string;
  readonly amount: bigint;
}

export interface TransferRecord {
  readonly kind: TransactionKind;
  readonly amount: bigint;
  readonly fromCount: number;
  readonly from: readonly Party[];
  readonly toCount: number;
  readonly to: readonly Party[];
}

export const encodeTip = ({ next, hash, nextAddress, nextItem }: IndexTip): Uint8Array =>
  new RecordWriter().uint(FORMAT).uint(next).optional(hash).uint(nextAddress).uint(nextItem).bytes();

/** Undefined for the index of a program with another format: it is built anew. */
export function readTip(bytes: Uint8Array): IndexTip | undefined {
  return read(bytes, (from) => {
    if (from.number() !== FORMAT) return undefined;
    return { next: from.number(), hash: from.optional(), nextAddress: from.number(), nextItem: from.number() };
  });
}

export function encodeBlock(block: BlockSummary): Uint8Array {
  const { hash, previousHash, time, transactions, bytes, difficulty, reward, issued, miner, coinbase } = block;
  return new RecordWriter()
    .text(hash)
    .optional(previousHash)
    .uint(BigInt.asUintN(64, time))
    .uint(transactions)
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
  return read(bytes, (from) => ({
    height,
    hash: from.text(),
    previousHash: from.optional(),
    time: BigInt.asIntN(64, from.uint()),
    transactions: from.number(),
    bytes: from.number(),
    difficulty: from.raw(from.number()),
    reward: from.uint(),
    issued: from.uint(),
    miner: from.optional(),
    coinbase: from.text(),
  }));
}

export function encodeAddress(account: AddressAccount): Uint8Array {
  return new RecordWriter()
    .uint(account.number)
    .uint(account.tokens)
    .uint(account.received)
    .uint(account.sent)
    .uint(account.transactions)
    .uint(account.unspentOutputs)
    .uint(account.itemKinds)
    .place(account.first)
    .place(account.last)
    .bytes();
}

export function readAddress(bytes: Uint8Array): AddressAccount {
  return read(bytes, (from) => ({
    number: from.number(),
    tokens: from.uint(),
    received: from.uint(),
    sent: from.uint(),
    transactions: from.number(),
    unspentOutputs: from.number(),
    itemKinds: from.number(),
    first: from.place(),
    last: from.place(),
  }));
}

export function encodeItem({ number, created, issued, holders, transfers }: ItemAccount): Uint8Array {
  return new RecordWriter().uint(number).place(created).uint(issued).uint(holders).uint(transfers).bytes();
}

export function readItem(bytes: Uint8Array): ItemAccount {
  return read(bytes, (from) => ({
    number: from.number(),
    created: from.place(),
    issued: from.uint(),
    holders: from.number(),
    transfers: from.number(),
  }));
}

export function encodeMovement({ kind, received, sent, itemKinds, items }: MovementRecord): Uint8Array {
  const to = new RecordWriter().kind(kind).uint(received).uint(sent).uint(itemKinds).uint(items.length);
  for (const item of items) to.text(item.genesisHash).uint(item.received).uint(item.sent);
  return to.bytes();
}

export function readMovement(bytes: Uint8Array): MovementRecord {
  return read(bytes, (from) => ({
    kind: from.kind(),
    received: from.uint(),
    sent: from.uint(),
    itemKinds: from.number(),
    items: from.list(() => ({ genesisHash: from.text(), received: from.uint(), sent: from.uint() })),
  }));
}

export function encodeUnspent({ amount, locktime, genesisHash, metadata }: UnspentRecord): Uint8Array {
  const to = new RecordWriter().uint(amount).uint(locktime);
  if (genesisHash !== null) to.text(genesisHash).optional(metadata);
  return to.bytes();
}

export function readUnspent(bytes: Uint8Array): UnspentRecord {
  return read(bytes, (from) => {
    const [amount, locktime] = [from.uint(), from.uint()];
    if (from.isAtEnd) return { amount, locktime, genesisHash: null, metadata: null };
    return { amount, locktime, genesisHash: from.text(), metadata: from.optional() };
  });
}

export function encodeSpent(place: Place, input: number): Uint8Array {
  return new RecordWriter().place(place).uint(input).bytes();
}

export function readSpent(bytes: Uint8Array): { readonly place: Place; readonly input: number } {
  return read(bytes, (from) => ({ place: from.place(), input: from.number() }));
}

/** The transactions of a trade stand side by side. */
export interface TradeRecord {
  readonly firstTxNum: number;
  readonly participants: number;
}

export function encodeTrade({ firstTxNum, participants }: TradeRecord): Uint8Array {
  return new RecordWriter().uint(firstTxNum).uint(participants).bytes();
}

export function readTrade(bytes: Uint8Array): TradeRecord {
  return read(bytes, (from) => ({ firstTxNum: from.number(), participants: from.number() }));
}

export function encodeHeld(genesisHash: string, amount: bigint): Uint8Array {
  return new RecordWriter().uint(amount).text(genesisHash).bytes();
}

export function readHeld(bytes: Uint8Array): { readonly amount: bigint; readonly genesisHash: string } {
  return read(bytes, (from) => ({ amount: from.uint(), genesisHash: from.text() }));
}

export function encodeTransfer({ kind, amount, fromCount, from, toCount, to }: TransferRecord): Uint8Array {
  const writer = new RecordWriter().kind(kind).uint(amount).uint(fromCount).parties(from).uint(toCount).parties(to);
  return writer.bytes();
}

export function readTransfer(bytes: Uint8Array): TransferRecord {
  return read(bytes, (from) => ({
    kind: from.kind(),
    amount: from.uint(),
    fromCount: from.number(),
    from: from.parties(),
    toCount: from.number(),
    to: from.parties(),
  }));
}

/** What `how` reads, which is all. */
function read<T>(bytes: Uint8Array, how: (from: RecordReader) => T): T {
  try {
    return how(new RecordReader(bytes));
  } catch (cause) {
    throw new TesseraError('data_corrupt', 'a record of the index of the chain cannot be read', { cause });
  }
}

// Records are written one after the other, so one buffer serves all; a record is copied out of it.
let scratch = Buffer.allocUnsafe(4_096);

class RecordWriter {
  #at = 0;

  uint(value: number | bigint): this {
    return typeof value === 'number' ? this.#number(value) : this.#big(value);
  }

  text(text: string): this {
    const length = Buffer.byteLength(text);
    this.#number(length);
    this.#reserve(length);
    this.#at += scratch.write(text, this.#at, 'utf8');
    return this;
  }

  optional(text: string | null): this {
    if (text === null) return this.#number(NO_TEXT);
    return this.#number(NO_TEXT + 1).text(text);
  }

  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    scratch.set(bytes, this.#at);
    this.#at += bytes.length;
    return this;
  }

  place({ height, txNum }: Place): this {
    return this.#number(height).#number(txNum);
  }

  kind(kind: TransactionKind): this {
    return this.#number(TRANSACTION_KINDS.indexOf(kind));
  }

  parties(parties: readonly Party[]): this {
    this.#number(parties.length);
    for (const { address, amount } of parties) this.text(address).uint(amount);
    return this;
  }

  bytes(): Uint8Array {
    return Uint8Array.prototype.slice.call(scratch, 0, this.#at);
  }

  #big(value: bigint): this {
    if (value <= Number.MAX_SAFE_INTEGER) return this.#number(Number(value));
    let rest = value;
    this.#reserve(32);
    for (; rest > SEVEN; rest >>= 7n) scratch[this.#at++] = Number(rest & 0x7fn) | MORE;
    scratch[this.#at++] = Number(rest);
    return this;
  }

  #number(value: number): this {
    let rest = value;
    this.#reserve(8);
    for (; rest > SEVEN; rest = Math.floor(rest / MORE)) scratch[this.#at++] = (rest % MORE) | MORE;
    scratch[this.#at++] = rest;
    return this;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= scratch.length) return;
    const grown = Buffer.allocUnsafe(2 * (this.#at + bytes));
    scratch.copy(grown, 0, 0, this.#at);
    scratch = grown;
  }
}

class RecordReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  uint(): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & SEVEN) << shift;
      if (byte < MORE) return value;
    }
  }

  number(): number {
    const value = this.uint();
    if (value > MAX_NUMBER) throw new RangeError('a number is too large');
    return Number(value);
  }

  text(): string {
    return this.raw(this.number()).toString('utf8');
  }

  optional(): string | null {
    return this.number() === NO_TEXT ? null : this.text();
  }

  raw(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError('the record is cut');
    const part = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return part;
  }

  place(): Place {
    return { height: this.number(), txNum: this.number() };
  }

  kind(): TransactionKind {
    const kind = TRANSACTION_KINDS[this.number()];
    if (kind === undefined) throw new RangeError('no such kind');
    return kind;
  }

  list<T>(one: () => T): T[] {
    const count = this.number();
    const all: T[] = [];
    for (let i = 0; i < count; i++) all.push(one());
    return all;
  }

  parties(): Party[] {
    return this.list(() => ({ address: this.text(), amount: this.uint() }));
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new RangeError('the record is cut');
    return byte;
  }
}
