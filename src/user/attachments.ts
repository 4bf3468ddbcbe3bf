/** The binary parts of the messages between a wallet and a mempool node, as `peers/messages.ts` describes them. */

import { BincodeReader, BincodeWriter } from '../chain/bincode.js';
import {
  readOutPoint,
  readTransaction,
  readTxOut,
  writeOutPoint,
  writeTransaction,
  writeTxOut,
} from '../chain/codec.js';
import type { OutPoint, Transaction, TxOut } from '../chain/types.js';

// The fewest bytes that one element of a list can have; bounds what a length may claim.
const MIN_TRANSACTION = 33;
const MIN_UTXO = 33;

/** `transactions.submit`: Vec<Transaction>. */
export function encodeTransactions(transactions: readonly Transaction[]): Uint8Array {
  const to = new BincodeWriter();
  to.length64(transactions.length);
  for (const transaction of transactions) writeTransaction(to, transaction);
  return to.toBytes();
}

/** Throws `malformed_transaction`. */
export function decodeTransactions(bytes: Uint8Array): Transaction[] {
  const from = new BincodeReader(bytes);
  const transactions = from.list(MIN_TRANSACTION, () => readTransaction(from));
  from.end();
  return transactions;
}

/** `utxos`: Vec<(OutPoint, TxOut)>. */
export function encodeUtxos(utxos: readonly (readonly [OutPoint, TxOut])[]): Uint8Array {
  const to = new BincodeWriter();
  to.length64(utxos.length);
  for (const [outPoint, txOut] of utxos) {
    writeOutPoint(to, outPoint);
    writeTxOut(to, txOut);
  }
  return to.toBytes();
}

/** Throws `malformed_transaction`. */
export function decodeUtxos(bytes: Uint8Array): (readonly [OutPoint, TxOut])[] {
  const from = new BincodeReader(bytes);
  const utxos = from.list(MIN_UTXO, () => [readOutPoint(from), readTxOut(from)] as const);
  from.end();
  return utxos;
}
