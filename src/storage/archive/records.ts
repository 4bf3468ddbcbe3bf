/**
 * Records of the archive, as bytes. The contents are in the chain's own encoding, and on every read they are
 * hashed again: a record that does not hash to its key is `data_corrupt` (rule P3), whatever its checksum says.
 *
 *   block         issued (u64 le, raw units, this block included) ‖ bincode Block
 *   transaction   block number (u64 le) ‖ index in the block (u32 le, its highest bit: fees replace outputs) ‖ bincode Transaction
 *   names         bincode Vec<String>
 *   item          JSON: total amount (digits), block number and hash of the first creation, metadata, address
 *   last          number (u64 be) ‖ block hash (ASCII)
 */

import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import {
  decodeBlock,
  decodeStrings,
  decodeTransaction,
  encodeHeader,
  encodeStringsPieces,
  inBlock,
} from '../../chain/codec.js';
import { blockHash, transactionHashOfBytes } from '../../chain/hash.js';
import type { Block, Transaction } from '../../chain/types.js';
import { sha3Hex } from '../../crypto/sha3.js';
import { encodeU64, readU64 } from '../../db/keys.js';
import { asBuffer, concatBytes, fromUtf8, utf8 } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { atOnce } from '../../lib/pieces.js';
import { RoundFactsBody } from '../../peers/messages.js';

const U64_LENGTH = 8;
const U32_LENGTH = 4;
/** Bit that marks a transaction of original nodes whose fees take the places of outputs. */
export const FEES_REPLACE = 0x8000_0000;

export interface BlockRecord {
  readonly hash: string;
  readonly height: number;
  /** Raw units issued up to this block, its own coinbase included. */
  readonly issued: bigint;
  readonly bytes: Uint8Array;
  readonly block: Block;
}

export interface TransactionRecord {
  readonly hash: string;
  readonly height: number;
  readonly txNum: number;
  readonly bytes: Uint8Array;
  readonly transaction: Transaction;
}

export interface ItemRecord {
  readonly totalAmount: bigint;
  readonly height: number;
  readonly txHash: string;
  readonly metadata: string | null;
  readonly creatorAddress: string | null;
}

export function encodeBlockRecord(issued: bigint, bytes: Uint8Array): Uint8Array {
  const head = Buffer.allocUnsafe(U64_LENGTH);
  head.writeBigUInt64LE(issued);
  return concatBytes(head, bytes);
}

/** Checks that the block has the number or hash `name`, and that its list of transactions hashes to the header's. */
export function readBlockRecord(name: number | string, record: Uint8Array): BlockRecord {
  const issued = checked(`block ${name}`, () => asBuffer(record).readBigUInt64LE(0));
  return readBlock(name, issued, record.subarray(U64_LENGTH));
}

/** Checks a block as `readBlockRecord` does; `issued` comes apart from the encoded Block. */
export function readBlock(name: number | string, issued: bigint, bytes: Uint8Array): BlockRecord {
  return checked(`block ${name}`, () => {
    const block = decodeBlock(bytes);
    const hash = blockHash(block.header);
    const isNamed = typeof name === 'string' ? hash === name : block.header.bNum === BigInt(name);
    // The list behind the header is stored in the form that is hashed.
    const list = bytes.subarray(encodeHeader(block.header).length);
    if (!isNamed || sha3Hex(list) !== block.header.txsHash) return undefined;
    return { hash, height: Number(block.header.bNum), issued, bytes, block };
  });
}

export function encodeTransactionRecord(
  height: number,
  txNum: number,
  bytes: Uint8Array,
  { feesReplace }: Pick<Transaction, 'feesReplace'> = {},
): Uint8Array {
  const head = Buffer.allocUnsafe(U64_LENGTH + U32_LENGTH);
  head.writeBigUInt64LE(BigInt(height));
  head.writeUInt32LE(txNum + (feesReplace ? FEES_REPLACE : 0), U64_LENGTH);
  return concatBytes(head, bytes);
}

/**
 * Checks that the transaction hashes to `hash`. Transactions of block 0 have their names from configuration: for them
 * `genesisNames` must hold the name at the transaction's index.
 */
export function readTransactionRecord(
  hash: string,
  record: Uint8Array,
  genesisNames: readonly string[],
): TransactionRecord {
  return checked(`transaction ${hash}`, () => {
    const buffer = asBuffer(record);
    const height = Number(buffer.readBigUInt64LE(0));
    if (!Number.isSafeInteger(height)) return undefined;
    const place = buffer.readUInt32LE(U64_LENGTH);
    const txNum = place & ~FEES_REPLACE;
    const bytes = record.subarray(U64_LENGTH + U32_LENGTH);
    const listed = height === 0 && genesisNames[txNum] === hash;
    if (!listed && transactionHashOfBytes(bytes) !== hash) return undefined;
    const isOriginal = place >= FEES_REPLACE ? { isOriginal: true as const } : {};
    return { hash, height, txNum, bytes, transaction: inBlock(decodeTransaction(bytes), isOriginal) };
  });
}

/** The block number in the record of a hash; undefined where the record is the block itself (data format 1). */
export function readBlockNumber(record: Uint8Array): number | undefined {
  return record.length === U64_LENGTH ? readU64(record, 0) : undefined;
}

/** Record of successive transactions' hashes in a block. */
export function encodeNames(names: readonly string[]): Uint8Array {
  return atOnce(encodeStringsPieces(names));
}

export function readNames(height: number, record: Uint8Array): readonly string[] {
  return checked(`names of transactions of block ${height}`, () => decodeStrings(record));
}

export function encodeLast(height: number, hash: string): Uint8Array {
  return concatBytes(encodeU64(height), utf8(hash));
}

export function readLast(record: Uint8Array): { readonly height: number; readonly hash: string } {
  return { height: readU64(record, 0), hash: readHash('the last block', record.subarray(U64_LENGTH)) };
}

/** The text of a hash that another record names. */
export function readHash(what: string, bytes: Uint8Array): string {
  return checked(`hash of ${what}`, () => fromUtf8(bytes));
}

const ItemJson = Type.Object({
  total_amount: Type.String({ pattern: '^[0-9]+$' }),
  block_num: Type.Integer({ minimum: 0 }),
  tx_hash: Type.String(),
  metadata: Type.Union([Type.String(), Type.Null()]),
  creator_address: Type.Union([Type.String(), Type.Null()]),
});

export function encodeItemRecord(item: ItemRecord): Uint8Array {
  return utf8(
    JSON.stringify({
      total_amount: String(item.totalAmount),
      block_num: item.height,
      tx_hash: item.txHash,
      metadata: item.metadata,
      creator_address: item.creatorAddress,
    }),
  );
}

export function readItemRecord(genesisHash: string, record: Uint8Array): ItemRecord {
  return checked(`item ${genesisHash}`, () => {
    const content: unknown = JSON.parse(fromUtf8(record));
    if (!Value.Check(ItemJson, content)) return undefined;
    return {
      totalAmount: BigInt(content.total_amount),
      height: content.block_num,
      txHash: content.tx_hash,
      metadata: content.metadata,
      creatorAddress: content.creator_address,
    };
  });
}

const RoundRecord = Type.Object({ height: Type.Integer(), facts: RoundFactsBody });

export function encodeRoundFacts(height: number, facts: RoundFactsBody): Uint8Array {
  return utf8(JSON.stringify({ height, facts }));
}

/** Facts about the round of block `height`; undefined when the record is about another block. */
export function readRoundFacts(record: Uint8Array, height: number): RoundFactsBody | undefined {
  const read = checked('round of the last block', () => {
    const content: unknown = JSON.parse(fromUtf8(record));
    return Value.Check(RoundRecord, content) ? content : undefined;
  });
  return read.height === height ? read.facts : undefined;
}

/** Result of `read`; throws `data_corrupt` when it returns undefined or throws. */
export function checked<T>(what: string, read: () => T | undefined): T {
  let cause: unknown;
  try {
    const value = read();
    if (value !== undefined) return value;
  } catch (error) {
    cause = error;
  }
  throw damaged(`the stored ${what} is not what its name says`, cause);
}

/** The error that ends the node: the archive is inconsistent. */
export function damaged(what: string, cause?: unknown): TesseraError {
  return new TesseraError(
    'data_corrupt',
    `archive: ${what}. Start the node again: with another one in peers.storage it heals by itself; else run tessera rebuild, or restore the data directory from a backup`,
    { cause },
  );
}

/** The value; throws `data_corrupt` when it is undefined. */
export function present<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw damaged(`${what} is missing`);
  return value;
}
