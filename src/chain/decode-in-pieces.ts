/**
 * Decodes blocks and lists in pieces, between which the caller's `turn` lets other work run. The result is that of
 * `codec.ts`, but reading stops in a transaction that is longer than the chain allows.
 */

import { concatBytes } from '../lib/bytes.js';
import { BincodeReader, BincodeWriter } from './bincode.js';
import {
  inBlock,
  MIN_STRING,
  MIN_TRANSACTION,
  noteEncoded,
  readHeader,
  readOutPoint,
  readTransaction,
  readTxOut,
  writeOutPoint,
  writeTransaction,
  writeTxOut,
} from './codec.js';
import { MAX_TRANSACTION_BYTES } from './constants.js';
import type { Block, FullBlock, OpenBlock, Transaction, Utxo } from './types.js';

/** Resolves when the next piece may run. */
export type Turn = () => Promise<void>;

/** Bytes and elements that are decoded in one piece: about half a millisecond. One transaction is not divided. */
const PIECE_BYTES = 16 * 1024;
const PIECE_ELEMENTS = 256;

/**
 * Decodes a `FullBlock`. Throws `malformed_transaction`. Transactions of block 0 and of original nodes' blocks may have any length. With `isForRules`
 * the bytes of transactions are noted for `encodedBefore`, and stay in memory as long as the transactions.
 */
export async function decodeFullBlockInPieces(
  bytes: Uint8Array,
  turn: Turn,
  { isForRules = false } = {},
): Promise<FullBlock> {
  const from = new BincodeReader(bytes);
  const { block, readOne } = await readBlock(from, turn);
  const readNoted = (): Transaction => {
    const begin = from.remaining;
    const tx = readOne();
    if (isForRules) noteEncoded(tx, bytes.subarray(bytes.length - begin, bytes.length - from.remaining));
    return tx;
  };
  const transactions = await readList(from, MIN_TRANSACTION, readNoted, turn);
  const miningTransaction = readNoted();
  from.end();
  return { block, transactions, miningTransaction };
}

/** Decodes header and names of a `FullBlock`. A transaction is read when it is asked for, throws `malformed_transaction` then, and is not kept. */
export async function openFullBlock(bytes: Uint8Array, turn: Turn): Promise<OpenBlock> {
  const from = new BincodeReader(bytes);
  const { block, readOne } = await readBlock(from, turn);
  const length = from.length64(MIN_TRANSACTION);
  /** Bytes that remain where a transaction begins, for all up to the first that was not read yet; the coinbase is the last. */
  const begins = [from.remaining];
  const read = (place: number): Transaction => {
    while (begins.length <= place) read(begins.length - 1);
    from.seek(begins[place] ?? 0);
    const tx = readOne();
    if (begins.length === place + 1) begins.push(from.remaining);
    if (place === length) from.end();
    return tx;
  };
  return {
    block,
    transactions: { length, at: (place) => (place >= 0 && place < length ? read(place) : undefined) },
    get miningTransaction() {
      return read(length);
    },
  };
}

async function readBlock(from: BincodeReader, turn: Turn): Promise<{ block: Block; readOne: () => Transaction }> {
  const header = readHeader(from);
  const transactions = await readList(from, MIN_STRING, () => from.string(), turn);
  const most = header.bNum === 0n || header.isOriginal ? from.remaining : MAX_TRANSACTION_BYTES;
  const readOne = (): Transaction => from.within(most, () => inBlock(readTransaction(from), header));
  return { block: { header, transactions }, readOne };
}

/** Decodes a list as `encodeTransactions` writes it (peers/payloads.ts). Throws `malformed_transaction`. */
export async function decodeTransactionsInPieces(bytes: Uint8Array, turn: Turn): Promise<Transaction[]> {
  const from = new BincodeReader(bytes);
  const readOne = (): Transaction => from.within(MAX_TRANSACTION_BYTES, () => readTransaction(from));
  const transactions = await readList(from, MIN_TRANSACTION, readOne, turn);
  from.end();
  return transactions;
}

async function readList<T>(from: BincodeReader, minimum: number, read: () => T, turn: Turn): Promise<T[]> {
  const count = from.length64(minimum);
  const items: T[] = [];
  let left = from.remaining;
  for (let i = 0; i < count; i++) {
    if (i % PIECE_ELEMENTS === 0 || left - from.remaining >= PIECE_BYTES) {
      await turn();
      left = from.remaining;
    }
    items.push(read());
  }
  return items;
}

/** Bytes of the shortest outpoint with its output. */
const MIN_UTXO = 33;

export function encodeTransactions(transactions: readonly Transaction[]): Uint8Array {
  const writer = new BincodeWriter();
  writer.length64(transactions.length);
  for (const tx of transactions) writeTransaction(writer, tx);
  return writer.toBytes();
}

/** The list as of `encodeTransactions`, from transactions that are encoded already. */
export function joinTransactions(transactions: readonly Uint8Array[]): Uint8Array {
  const count = new BincodeWriter();
  count.length64(transactions.length);
  return concatBytes(count.toBytes(), ...transactions);
}

/** Decodes a list of transactions at once. Throws `malformed_transaction`. */
export function decodeTransactions(bytes: Uint8Array): Transaction[] {
  const reader = new BincodeReader(bytes);
  const transactions = reader.list(MIN_TRANSACTION, () => readTransaction(reader));
  reader.end();
  return transactions;
}

/** Number of transactions that a list says it has. Throws `malformed_transaction`. */
export function countTransactions(bytes: Uint8Array): number {
  return new BincodeReader(bytes).length64(MIN_TRANSACTION);
}

export function encodeUtxos(utxos: readonly Utxo[]): Uint8Array {
  const writer = new BincodeWriter();
  writer.length64(utxos.length);
  for (const [outPoint, txOut] of utxos) {
    writeOutPoint(writer, outPoint);
    writeTxOut(writer, txOut);
  }
  return writer.toBytes();
}

/** Decodes a list of unspent outputs. Throws `malformed_transaction`. */
export function decodeUtxos(bytes: Uint8Array): Utxo[] {
  const reader = new BincodeReader(bytes);
  const utxos = reader.list(MIN_UTXO, (): Utxo => [readOutPoint(reader), readTxOut(reader)]);
  reader.end();
  return utxos;
}
