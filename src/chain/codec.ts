/**
 * Bytes of every structure of the chain (docs/chain.md#structures). `decodeX` takes exactly one value and throws
 * `malformed_transaction` on anything else. `writeX` and `readX` are parts of larger structures.
 */

import { PUBLIC_KEY_LENGTH, SIGNATURE_LENGTH } from '../crypto/ed25519.js';
import { TesseraError } from '../lib/errors.js';
import type { Pieces } from '../lib/pieces.js';
import { BincodeReader, BincodeWriter } from './bincode.js';
import { OPCODE_COUNT } from './script/opcodes.js';
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

/** Flags in the version of a stored or sent header: the layout that is hashed, and whether original nodes made the block. */
const MARK_ORIGINAL = 0x8000_0000;
const MARK_PRIME = 0x4000_0000;
const MARK_OLDEST = 0x2000_0000;
/** Highest version that leaves room for the flags. */
export const MAX_HEADER_VERSION = MARK_OLDEST - 1;

/** Most texts, and most bytes, that one piece of a large encoding writes: some tenths of a millisecond. */
const PIECE_STRINGS = 1_024;
const PIECE_BYTES = 1024 * 1024;

const ASSET_TOKEN = 0;
const ASSET_ITEM = 1;
const ENTRY_OP = 0;
const ENTRY_SIGNATURE = 1;
const ENTRY_PUBKEY = 2;
const ENTRY_NUM = 3;
const ENTRY_BYTES = 4;

// The minimum number of bytes of one list element, to check the length of a list.
const MIN_ENTRY = 8;
const MIN_TX_IN = 9;
const MIN_TX_OUT = 21;
const MIN_EXPECTATION = 28;
export const MIN_STRING = 8;
export const MIN_TRANSACTION = 33;

// Encoding is synchronous and never re-entered, so one buffer serves every call without an allocation.
const scratch = new BincodeWriter();

/** Encodes with `write` into the shared buffer; the result is valid until the next encoding. */
function fill<T>(value: T, write: (to: BincodeWriter, value: T) => void): Uint8Array {
  write(scratch.reset(), value);
  return scratch.view();
}

export function encoder<T>(write: (to: BincodeWriter, value: T) => void): (value: T) => Uint8Array {
  return (value) => {
    write(scratch.reset(), value);
    return scratch.toBytes();
  };
}

export function decoder<T>(read: (from: BincodeReader) => T): (bytes: Uint8Array) => T {
  return (bytes) => {
    const reader = new BincodeReader(bytes);
    const value = read(reader);
    reader.end();
    return value;
  };
}

export function writeOutPoint(to: BincodeWriter, outPoint: OutPoint): void {
  to.string(outPoint.tHash);
  to.i32(outPoint.n);
}

export function readOutPoint(from: BincodeReader): OutPoint {
  return { tHash: from.string(), n: from.i32() };
}

export function writeAsset(to: BincodeWriter, asset: Asset): void {
  if (asset.kind === 'token') {
    to.u32(ASSET_TOKEN);
    to.u64(asset.amount);
    return;
  }
  to.u32(ASSET_ITEM);
  to.u64(asset.amount);
  to.optionalString(asset.genesisHash);
  to.optionalString(asset.metadata);
}

export function readAsset(from: BincodeReader): Asset {
  const variant = from.u32();
  if (variant === ASSET_TOKEN) return { kind: 'token', amount: from.u64() };
  if (variant !== ASSET_ITEM) throw unknownVariant('asset', variant);
  return { kind: 'item', amount: from.u64(), genesisHash: from.optionalString(), metadata: from.optionalString() };
}

function writeEntry(to: BincodeWriter, entry: StackEntry): void {
  switch (entry.kind) {
    case 'op':
      to.u32(ENTRY_OP);
      to.u32(entry.op);
      return;
    case 'signature':
      to.u32(ENTRY_SIGNATURE);
      to.bytes(entry.bytes);
      return;
    case 'pubkey':
      to.u32(ENTRY_PUBKEY);
      to.bytes(entry.bytes);
      return;
    case 'num':
      to.u32(ENTRY_NUM);
      to.u64(entry.value);
      return;
    case 'bytes':
      to.u32(ENTRY_BYTES);
      to.string(entry.text);
  }
}

function readEntry(from: BincodeReader): StackEntry {
  const variant = from.u32();
  switch (variant) {
    case ENTRY_OP: {
      const op = from.u32();
      if (op >= OPCODE_COUNT) throw unknownVariant('opcode', op);
      return { kind: 'op', op };
    }
    case ENTRY_SIGNATURE:
      return { kind: 'signature', bytes: from.fixedBytes(SIGNATURE_LENGTH) };
    case ENTRY_PUBKEY:
      return { kind: 'pubkey', bytes: from.fixedBytes(PUBLIC_KEY_LENGTH) };
    case ENTRY_NUM:
      return { kind: 'num', value: from.u64() };
    case ENTRY_BYTES:
      return { kind: 'bytes', text: from.string() };
    default:
      throw unknownVariant('stack entry', variant);
  }
}

function writeScript(to: BincodeWriter, script: Script): void {
  to.length64(script.length);
  for (const entry of script) writeEntry(to, entry);
}

function readScript(from: BincodeReader): Script {
  return from.list(MIN_ENTRY, () => readEntry(from));
}

export function writeTxIn(to: BincodeWriter, txIn: TxIn): void {
  if (txIn.previousOut === null) {
    to.u8(0);
  } else {
    to.u8(1);
    writeOutPoint(to, txIn.previousOut);
  }
  writeScript(to, txIn.script);
}

export function readTxIn(from: BincodeReader): TxIn {
  return { previousOut: from.option() ? readOutPoint(from) : null, script: readScript(from) };
}

export function writeTxOut(to: BincodeWriter, txOut: TxOut): void {
  writeAsset(to, txOut.value);
  to.u64(txOut.locktime);
  to.optionalString(txOut.scriptPublicKey);
}

export function readTxOut(from: BincodeReader): TxOut {
  return { value: readAsset(from), locktime: from.u64(), scriptPublicKey: from.optionalString() };
}

export function writeExpectation(to: BincodeWriter, expectation: DruidExpectation): void {
  to.string(expectation.from);
  to.string(expectation.to);
  writeAsset(to, expectation.asset);
}

function readExpectation(from: BincodeReader): DruidExpectation {
  return { from: from.string(), to: from.string(), asset: readAsset(from) };
}

export function writeDruidInfo(to: BincodeWriter, info: DruidInfo): void {
  to.string(info.druid);
  to.u64(info.participants);
  to.length64(info.expectations.length);
  for (const expectation of info.expectations) writeExpectation(to, expectation);
  to.optionalString(info.genesisHash);
}

export function readDruidInfo(from: BincodeReader): DruidInfo {
  return {
    druid: from.string(),
    participants: from.u64(),
    expectations: from.list(MIN_EXPECTATION, () => readExpectation(from)),
    genesisHash: from.optionalString(),
  };
}

export function writeTransaction(to: BincodeWriter, tx: Transaction): void {
  to.length64(tx.inputs.length);
  for (const txIn of tx.inputs) writeTxIn(to, txIn);
  to.length64(tx.outputs.length);
  for (const txOut of tx.outputs) writeTxOut(to, txOut);
  to.u64(tx.version);
  to.length64(tx.fees.length);
  for (const fee of tx.fees) writeTxOut(to, fee);
  if (tx.druidInfo === null) {
    to.u8(0);
  } else {
    to.u8(1);
    writeDruidInfo(to, tx.druidInfo);
  }
}

export function readTransaction(from: BincodeReader): Transaction {
  return {
    inputs: from.list(MIN_TX_IN, () => readTxIn(from)),
    outputs: from.list(MIN_TX_OUT, () => readTxOut(from)),
    version: from.u64(),
    fees: from.list(MIN_TX_OUT, () => readTxOut(from)),
    druidInfo: from.option() ? readDruidInfo(from) : null,
  };
}

/** Writes the bytes that are hashed, which are those of the reference, in the layout of the header. */
function writeHashedHeader(to: BincodeWriter, header: BlockHeader): void {
  to.u32(header.version);
  writeMembers(to, header);
}

/** Writes a header as it is stored and sent. Without flags these bytes are the hashed ones. */
export function writeHeader(to: BincodeWriter, header: BlockHeader): void {
  const { version, layout, isOriginal } = header;
  const mark = layout === undefined ? 0 : layout === 'prime' ? MARK_PRIME : MARK_OLDEST;
  to.u32(version + mark + (isOriginal ? MARK_ORIGINAL : 0));
  writeMembers(to, header);
}

/** Writes the members in their layout, on which hashes and proof of work depend; only this and `readHeader` know it. */
function writeMembers(to: BincodeWriter, header: BlockHeader): void {
  const { layout } = header;
  to.u64(header.bits);
  to.bytes(header.nonce);
  to.string(header.miningTxHash);
  to.u64(header.bNum);
  if (layout !== 'oldest') to.i64(header.timestamp);
  if (layout === undefined) to.bytes(header.difficulty);
  to.bytes(header.seedValue);
  to.optionalString(header.previousHash);
  to.string(header.merkleRoot);
  to.string(header.txsHash);
}

export function readHeader(from: BincodeReader): BlockHeader {
  const marked = from.u32();
  const layouts = marked & (MARK_PRIME | MARK_OLDEST);
  if (layouts === (MARK_PRIME | MARK_OLDEST)) throw unknownVariant('header', marked);
  const layout = layouts === 0 ? undefined : layouts === MARK_PRIME ? 'prime' : 'oldest';
  return {
    ...(layout && { layout }),
    ...(marked >= MARK_ORIGINAL && { isOriginal: true }),
    version: marked & MAX_HEADER_VERSION,
    bits: from.u64(),
    nonce: from.bytes(),
    miningTxHash: from.string(),
    bNum: from.u64(),
    timestamp: layout === 'oldest' ? 0n : from.i64(),
    difficulty: layout === undefined ? from.bytes() : new Uint8Array(0),
    seedValue: from.bytes(),
    previousHash: from.optionalString(),
    merkleRoot: from.string(),
    txsHash: from.string(),
  };
}

export function writeStrings(to: BincodeWriter, texts: readonly string[]): void {
  to.length64(texts.length);
  for (const text of texts) to.string(text);
}

function writeBlock(to: BincodeWriter, block: Block): void {
  writeHeader(to, block.header);
  writeStrings(to, block.transactions);
}

function readBlock(from: BincodeReader): Block {
  return { header: readHeader(from), transactions: from.list(MIN_STRING, () => from.string()) };
}

/** The transaction as part of a block with this header: the place of its fees depends on who made the block. */
export function inBlock(tx: Transaction, { isOriginal }: Pick<BlockHeader, 'isOriginal'>): Transaction {
  return isOriginal && tx.fees.length > 0 ? { ...tx, feesReplace: true } : tx;
}

export const encodeScript = encoder(writeScript);
export const decodeScript = decoder(readScript);
export const encodeTxOut = encoder(writeTxOut);
export const decodeTxOut = decoder(readTxOut);
export const encodeTransaction = encoder(writeTransaction);

/** Encodings of transactions that will be asked for again; an entry lasts as long as its transaction. */
const known = new WeakMap<Transaction, Uint8Array>();

/** Notes the encoding of a transaction for `encodedBefore`: its own, or the bytes that it was read from. */
export function noteEncoded(tx: Transaction, bytes = encodeTransaction(tx)): Uint8Array {
  known.set(tx, bytes);
  return bytes;
}

/** The encoding of a transaction: the noted one, or a new one. */
export function encodedBefore(tx: Transaction): Uint8Array {
  return known.get(tx) ?? encodeTransaction(tx);
}

export const decodeTransaction = decoder(readTransaction);
export const encodeBlock = encoder(writeBlock);
export const decodeBlock = decoder(readBlock);
export const decodeStrings = decoder((from) => from.list(MIN_STRING, () => from.string()));
/** Encodes a list of texts in pieces: a block may have a hundred thousand names. */
export function* encodeStringsPieces(texts: readonly string[]): Pieces<Uint8Array> {
  const to = new BincodeWriter();
  yield* writeStringsPieces(to, texts);
  return to.toBytes();
}

/** Encodes a block like `encodeBlock`, in pieces. */
export function* encodeBlockPieces(block: Block): Pieces<Uint8Array> {
  const to = new BincodeWriter();
  writeHeader(to, block.header);
  yield* writeStringsPieces(to, block.transactions);
  return to.toBytes();
}

function* writeStringsPieces(to: BincodeWriter, texts: readonly string[]): Pieces<void> {
  to.length64(texts.length);
  for (const [i, text] of texts.entries()) {
    if (i % PIECE_STRINGS === PIECE_STRINGS - 1) yield;
    to.string(text);
  }
}

/** Joins encoded parts to a `FullBlock`, in our own framing: block, number of transactions, transactions in order, coinbase. */
export function* joinFullBlockPieces(
  block: Uint8Array,
  transactions: readonly Uint8Array[],
  miningTransaction: Uint8Array,
): Pieces<Uint8Array> {
  const count = new Uint8Array(8);
  new DataView(count.buffer).setBigUint64(0, BigInt(transactions.length), true);
  // A call with one argument for each transaction could overflow the stack.
  const parts = [block, count, ...transactions, miningTransaction];
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  let left = PIECE_BYTES;
  for (const part of parts) {
    if (left <= 0) {
      yield;
      left = PIECE_BYTES;
    }
    joined.set(part, at);
    at += part.length;
    left -= part.length;
  }
  return joined;
}

export const encodeHeader = encoder(writeHeader);
export const decodeHeader = decoder(readHeader);
export const encodeHashedHeader = encoder(writeHashedHeader);

/** The bytes of a transaction without a copy: valid until the next encoding of anything. For hashing and measuring. */
export function viewTransaction(tx: Transaction): Uint8Array {
  return fill(tx, writeTransaction);
}

/** The bytes of an output without a copy: valid until the next encoding of anything. */
export function viewTxOut(txOut: TxOut): Uint8Array {
  return fill(txOut, writeTxOut);
}

/** The bytes of a script without a copy: valid until the next encoding of anything. */
export function viewScript(script: Script): Uint8Array {
  return fill(script, writeScript);
}

function unknownVariant(what: string, variant: number): TesseraError {
  return new TesseraError('malformed_transaction', `${variant} is not the number of a kind of ${what}`);
}
