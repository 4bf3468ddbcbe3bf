/** The bytes of the records in the mempool's database; `layout.ts` has their keys. */

import { BincodeReader, BincodeWriter } from '../../chain/bincode.js';
import {
  decodeTransaction,
  readHeader,
  readOutPoint,
  readTxOut,
  writeHeader,
  writeOutPoint,
  writeTxOut,
} from '../../chain/codec.js';
import { transactionSignatureOperations } from '../../chain/signature-operations.js';
import type { Utxo } from '../../chain/types.js';
import { fromUtf8, utf8 } from '../../lib/bytes.js';
import type { TxStatus, TxStatusKind } from '../service.js';
import type { PooledTx } from './pool.js';
import type { ChainHead, Proof, Round, RoundTx } from './round.js';
import { type RoundFacts, readFacts, writeFacts } from './round-facts.js';

/** Every record is written here and copied out: a buffer for each would keep the garbage collector busy. */
const scratch = new BincodeWriter();

export function encodePooled(tx: PooledTx): Uint8Array {
  const writer = scratch.reset();
  writer.length64(tx.time);
  writer.length64(tx.unit);
  writer.length64(tx.height);
  writer.string(tx.hash);
  writer.bytes(tx.bytes);
  return writer.toBytes();
}

export function decodePooled(arrival: number, bytes: Uint8Array): PooledTx {
  const reader = new BincodeReader(bytes);
  const time = Number(reader.u64());
  const unit = Number(reader.u64());
  const height = Number(reader.u64());
  const hash = reader.string();
  const transaction = reader.bytes();
  const operations = transactionSignatureOperations(decodeTransaction(transaction));
  return { arrival, time, unit, operations, height, hash, bytes: transaction };
}

const STATUS_KINDS: readonly TxStatusKind[] = ['Pending', 'Confirmed', 'Rejected'];

export function encodeStatus(status: TxStatus): Uint8Array {
  const writer = scratch.reset();
  writer.u8(STATUS_KINDS.indexOf(status.status));
  writer.length64(status.timestamp);
  writer.string(status.additionalInfo);
  return writer.toBytes();
}

export function decodeStatus(bytes: Uint8Array): TxStatus {
  const reader = new BincodeReader(bytes);
  const status = STATUS_KINDS[reader.u8()] ?? 'Rejected';
  const timestamp = Number(reader.u64());
  return { status, timestamp, additionalInfo: reader.string() };
}

export function encodeHashes(hashes: readonly string[]): Uint8Array {
  const writer = scratch.reset();
  writer.length64(hashes.length);
  for (const hash of hashes) writer.string(hash);
  return writer.toBytes();
}

export function decodeHashes(bytes: Uint8Array): string[] {
  const reader = new BincodeReader(bytes);
  return reader.list(8, () => reader.string());
}

/** What `m` holds. */
export interface HeadRecord {
  readonly seq: number;
  readonly arrivals: number;
  readonly head: ChainHead;
  readonly digest: string;
}

/** The head as JSON text: small, and readable when something is wrong. */
export function encodeHead(record: HeadRecord): Uint8Array {
  return utf8(JSON.stringify({ ...record, head: { ...record.head, issued: record.head.issued.toString() } }));
}

export function decodeHead(bytes: Uint8Array): HeadRecord {
  const record = JSON.parse(fromUtf8(bytes)) as HeadRecord & { head: { issued: string } };
  return { ...record, head: { ...record.head, issued: BigInt(record.head.issued) } };
}

export function encodeRound(round: Round): Uint8Array {
  const writer = scratch.reset();
  writer.length64(round.height);
  writeHeader(writer, round.header);
  writer.u64(round.reward);
  writer.string(round.draw);
  writer.length64(round.participants.length);
  for (const participant of round.participants) writer.string(participant);
  writer.length64(round.transactions.length);
  for (const tx of round.transactions) {
    writer.string(tx.hash);
    writer.length64(tx.arrival);
    writer.length64(tx.time);
    // What came through the pool is stored under its arrival number already.
    if (tx.arrival === 0) writer.bytes(tx.bytes);
  }
  writer.length64(round.proofs.length);
  for (const proof of round.proofs) {
    writer.string(proof.miner);
    writer.bytes(proof.nonce);
    writer.bytes(proof.coinbase);
    writer.string(proof.hash);
  }
  writer.length64(round.winner === null ? 0 : round.winner + 1);
  return writer.toBytes();
}

/** `pooled` gives what came through the pool, by arrival number. */
export function decodeRound(bytes: Uint8Array, pooled: (arrival: number) => PooledTx): Round {
  const reader = new BincodeReader(bytes);
  const height = Number(reader.u64());
  const header = readHeader(reader);
  const reward = reader.u64();
  const draw = reader.string();
  const participants = reader.list(8, () => reader.string());
  const transactions = reader.list(24, (): RoundTx => {
    const hash = reader.string();
    const arrival = Number(reader.u64());
    const time = Number(reader.u64());
    return arrival === 0
      ? { hash, arrival, time, unit: 0, operations: 0, height: 0, bytes: reader.bytes() }
      : pooled(arrival);
  });
  const proofs = reader.list(32, (): Proof => {
    const miner = reader.string();
    const nonce = reader.bytes();
    const coinbase = reader.bytes();
    return { miner, nonce, coinbase, hash: reader.string() };
  });
  const winner = Number(reader.u64());
  return {
    height,
    header,
    reward,
    draw,
    participants,
    transactions,
    proofs,
    winner: winner === 0 ? null : winner - 1,
  };
}

/** Unspent outputs with their names. */
export function encodeCoins(coins: readonly Utxo[]): Uint8Array {
  const writer = scratch.reset();
  writer.length64(coins.length);
  for (const [outPoint, txOut] of coins) {
    writeOutPoint(writer, outPoint);
    writeTxOut(writer, txOut);
  }
  return writer.toBytes();
}

export function decodeCoins(bytes: Uint8Array): Utxo[] {
  const reader = new BincodeReader(bytes);
  return reader.list(32, (): Utxo => [readOutPoint(reader), readTxOut(reader)]);
}

/** A block that is kept, as `k` holds it. */
export interface KeptRecord {
  /** The FullBlock. */
  readonly bytes: Uint8Array;
  readonly facts: RoundFacts;
}

export function encodeKept({ bytes, facts }: KeptRecord): Uint8Array {
  const writer = scratch.reset();
  writeFacts(writer, facts);
  writer.bytes(bytes);
  return writer.toBytes();
}

export function decodeKept(record: Uint8Array): KeptRecord {
  const reader = new BincodeReader(record);
  const facts = readFacts(reader);
  return { facts, bytes: reader.bytes() };
}

/** A block that is kept, by its name; what `K` lists. */
export interface KeptName {
  readonly height: number;
  readonly hash: string;
  /** Bytes of its record. */
  readonly size: number;
}

export function encodeKeptNames(names: readonly KeptName[]): Uint8Array {
  const writer = scratch.reset();
  writer.length64(names.length);
  for (const { height, hash, size } of names) {
    writer.length64(height);
    writer.string(hash);
    writer.length64(size);
  }
  return writer.toBytes();
}

export function decodeKeptNames(bytes: Uint8Array): KeptName[] {
  const reader = new BincodeReader(bytes);
  return reader.list(24, () => {
    const height = Number(reader.u64());
    const hash = reader.string();
    return { height, hash, size: Number(reader.u64()) };
  });
}
