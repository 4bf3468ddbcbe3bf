/** Lists of transactions and unspent outputs as links and requests carry them: bincode, bounded, no trailing bytes. */

import { concatBytes } from '../lib/bytes.js';
import { BincodeReader, BincodeWriter } from './bincode.js';
import {
  MIN_TRANSACTION,
  readOutPoint,
  readTransaction,
  readTxOut,
  writeOutPoint,
  writeTransaction,
  writeTxOut,
} from './codec.js';
import type { Transaction, Utxo } from './types.js';

/** Bytes of the shortest outpoint with its output. */
const MIN_UTXO = 33;

export function encodeTransactions(transactions: readonly Transaction[]): Uint8Array {
  const writer = new BincodeWriter();
  writer.length64(transactions.length);
  for (const tx of transactions) writeTransaction(writer, tx);
  return writer.toBytes();
}

/** The same of transactions that are encoded already. */
export function joinTransactions(transactions: readonly Uint8Array[]): Uint8Array {
  const count = new BincodeWriter();
  count.length64(transactions.length);
  return concatBytes(count.toBytes(), ...transactions);
}

/** Throws `malformed_transaction`. */
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

/** Throws `malformed_transaction`. */
export function decodeUtxos(bytes: Uint8Array): Utxo[] {
  const reader = new BincodeReader(bytes);
  const utxos = reader.list(MIN_UTXO, (): Utxo => [readOutPoint(reader), readTxOut(reader)]);
  reader.end();
  return utxos;
}
