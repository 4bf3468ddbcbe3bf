/** The bytes of the records in the mempool's database; `layout.ts` has their keys. */

import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { type BincodeReader, BincodeWriter } from '../../chain/bincode.js';
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
import { decodeRecord, readChoice } from '../../db/decode-record.js';
import type { LastEntry } from '../../journal/journal.js';
import { submittedFormFault } from '../../ledger/block/rules.js';
import { fromUtf8, utf8 } from '../../lib/bytes.js';
import { atOnce, type Pieces } from '../../lib/pieces.js';
import type { TxStatus, TxStatusKind } from '../service.js';
import { type RoundFacts, readFacts, writeFacts } from './commands.js';
import type { PooledTx } from './pool.js';
import type { ChainHead, Proof, Round, RoundTx } from './round.js';

const PIECE_ELEMENTS = 512;

/** Writer for every record; a batch copies the result, so that there is no garbage of a buffer for each. */
const scratch = new BincodeWriter();

/** Record of a pooled transaction without a copy: valid until the next record is encoded. */
export function viewPooled(tx: PooledTx): Uint8Array {
  const writer = scratch.reset();
  writer.length64(tx.time);
  writer.length64(tx.unit);
  writer.length64(tx.height);
  writer.string(tx.hash);
  writer.bytes(tx.bytes);
  return writer.view();
}

export function decodePooled(arrival: number, bytes: Uint8Array): PooledTx {
  return decodeRecord('transaction of the pool', bytes, (reader) => {
    const time = reader.number64();
    const unit = reader.number64();
    const height = reader.number64();
    const hash = reader.string();
    const transaction = reader.bytes();
    const tx = decodeTransaction(transaction);
    const operations = transactionSignatureOperations(tx);
    const fault = submittedFormFault(tx, transaction.length);
    return { arrival, time, unit, operations, fault, height, hash, bytes: transaction };
  });
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
  return decodeRecord('status', bytes, (reader) => {
    const status = readChoice(reader, STATUS_KINDS);
    const timestamp = reader.number64();
    return { status, timestamp, additionalInfo: reader.string() };
  });
}

export function encodeHashes(hashes: readonly string[]): Uint8Array {
  const writer = scratch.reset();
  writer.length64(hashes.length);
  for (const hash of hashes) writer.string(hash);
  return writer.toBytes();
}

export function decodeHashes(bytes: Uint8Array): string[] {
  return decodeRecord('list of hashes', bytes, (reader) => {
    return reader.list(8, () => reader.string());
  });
}

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const HeadJson = Type.Object({
  seq: Count,
  /** Id of the last command, where several nodes share the journal. */
  id: Type.Optional(Type.String()),
  cluster: Type.Optional(Type.String()),
  arrivals: Count,
  head: Type.Object({
    height: Type.Integer({ minimum: -1, maximum: Number.MAX_SAFE_INTEGER }),
    hash: Type.Union([Type.String(), Type.Null()]),
    timestamp: Type.Integer(),
    issued: Type.String({ pattern: '^[0-9]+$' }),
    asertHashes: Count,
    participants: Type.Array(Type.String()),
    proofHashes: Type.Array(Type.String()),
  }),
  digest: Type.String(),
});

/** Contents of the record `m`. */
export interface HeadRecord extends LastEntry {
  readonly arrivals: number;
  readonly head: ChainHead;
  readonly digest: string;
}

/** The head as JSON text: small, and readable when something is wrong. */
export function encodeHead(record: HeadRecord): Uint8Array {
  return utf8(JSON.stringify({ ...record, head: { ...record.head, issued: record.head.issued.toString() } }));
}

export function decodeHead(bytes: Uint8Array): HeadRecord {
  return decodeRecord('head of the chain', bytes, (reader) => {
    const record: unknown = JSON.parse(fromUtf8(reader.rest()));
    if (!Value.Check(HeadJson, record)) throw new RangeError('not as the schema asks');
    return { ...record, head: { ...record.head, issued: BigInt(record.head.issued) } };
  });
}

/** The bytes of a round, in pieces. */
export function* encodeRoundPieces(round: Round): Pieces<Uint8Array> {
  const writer = new BincodeWriter();
  yield* writeRound(writer, round);
  return writer.view();
}

function* writeRound(writer: BincodeWriter, round: Round): Pieces<void> {
  writer.length64(round.height);
  writeHeader(writer, round.header);
  writer.u64(round.reward);
  writer.string(round.draw);
  writer.length64(round.participants.length);
  for (const participant of round.participants) writer.string(participant);
  writer.length64(round.transactions.length);
  for (const [i, tx] of round.transactions.entries()) {
    if (i % PIECE_ELEMENTS === PIECE_ELEMENTS - 1) yield;
    writer.string(tx.hash);
    writer.length64(tx.arrival);
    writer.length64(tx.time);
    // A transaction from the pool is already stored under its arrival number.
    if (tx.arrival === 0) writer.bytes(tx.bytes);
  }
  writer.length64(round.proofs.length);
  for (const proof of round.proofs) writeProof(writer, proof);
  writer.length64(round.winner === null ? 0 : round.winner + 1);
}

/** Reads a round. `pooled` gives transactions that came through the pool, by arrival number. */
export function decodeRound(bytes: Uint8Array, pooled: (arrival: number) => PooledTx): Round {
  return decodeRecord('round', bytes, (reader) => {
    const height = reader.number64();
    const header = readHeader(reader);
    const reward = reader.u64();
    const draw = reader.string();
    const participants = reader.list(8, () => reader.string());
    const transactions = reader.list(24, (): RoundTx => {
      const hash = reader.string();
      const arrival = reader.number64();
      const time = reader.number64();
      return arrival === 0
        ? { hash, arrival, time, unit: 0, operations: 0, fault: null, height: 0, bytes: reader.bytes() }
        : pooled(arrival);
    });
    const proofs = reader.list(32, () => readProof(reader));
    const winner = reader.number64();
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
  });
}

/** A proof in a record of its own: the record of its round may have a megabyte, and is not written again for a proof. */
export function encodeProof(proof: Proof): Uint8Array {
  const writer = scratch.reset();
  writeProof(writer, proof);
  return writer.toBytes();
}

export function decodeProof(bytes: Uint8Array): Proof {
  return decodeRecord('proof', bytes, readProof);
}

function writeProof(writer: BincodeWriter, { miner, nonce, coinbase, hash }: Proof): void {
  writer.string(miner);
  writer.bytes(nonce);
  writer.bytes(coinbase);
  writer.string(hash);
}

function readProof(reader: BincodeReader): Proof {
  const miner = reader.string();
  const nonce = reader.bytes();
  const coinbase = reader.bytes();
  return { miner, nonce, coinbase, hash: reader.string() };
}

/** The index of the proof that has won. */
export function encodeWinner(winner: number): Uint8Array {
  const writer = scratch.reset();
  writer.length64(winner);
  return writer.toBytes();
}

export function decodeWinner(bytes: Uint8Array): number {
  return decodeRecord('winner', bytes, (reader) => reader.number64());
}

/** Unspent outputs with their names. */
export function encodeCoins(coins: readonly Utxo[]): Uint8Array {
  atOnce(writeCoins(scratch.reset(), coins));
  return scratch.toBytes();
}

/** Encodes unspent outputs in pieces. */
export function* encodeCoinsPieces(coins: readonly Utxo[]): Pieces<Uint8Array> {
  const writer = new BincodeWriter();
  yield* writeCoins(writer, coins);
  return writer.view();
}

function* writeCoins(writer: BincodeWriter, coins: readonly Utxo[]): Pieces<void> {
  writer.length64(coins.length);
  for (const [i, [outPoint, txOut]] of coins.entries()) {
    if (i % PIECE_ELEMENTS === PIECE_ELEMENTS - 1) yield;
    writeOutPoint(writer, outPoint);
    writeTxOut(writer, txOut);
  }
}

export function decodeCoins(bytes: Uint8Array): Utxo[] {
  return decodeRecord('list of outputs', bytes, (reader) => {
    return reader.list(32, (): Utxo => [readOutPoint(reader), readTxOut(reader)]);
  });
}

/** Contents of a record `k`, a kept block. */
export interface KeptRecord {
  /** The block as `FullBlock` bytes. */
  readonly bytes: Uint8Array;
  readonly facts: RoundFacts;
}

/** Parts of a record `k`, one after the other: a block may have 32 MiB, and whoever writes it copies it. */
export function encodeKept({ bytes, facts }: KeptRecord): readonly Uint8Array[] {
  const writer = scratch.reset();
  writeFacts(writer, facts);
  writer.length64(bytes.length);
  return [writer.toBytes(), bytes];
}

export function decodeKept(record: Uint8Array): KeptRecord {
  return decodeRecord('block', record, (reader) => {
    const facts = readFacts(reader);
    return { facts, bytes: reader.bytes() };
  });
}

/** Names of a kept block, as `K` lists them. */
export interface KeptName {
  readonly height: number;
  readonly hash: string;
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
  return decodeRecord('list of blocks', bytes, (reader) => {
    return reader.list(24, () => {
      const height = reader.number64();
      const hash = reader.string();
      return { height, hash, size: reader.number64() };
    });
  });
}
