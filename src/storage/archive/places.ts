/**
 * Places of blocks and transactions in the segments, as the archive's database keeps them. Numbers are big-endian.
 *
 *   block         offset of the record (u32) ‖ length of its front (u32) ‖ length of the record (u32) ‖ hash (32)
 *   transaction   varints: number of its block, twice its index in the block (one more: fees replace outputs), offset, length. In earlier versions, where
 *                 that would be longer, and in block 0: the number (u32) ‖ the index (u32, its highest bit: fees replace outputs) ‖ offset (u32) ‖
 *                 length (u32); of block 0, whose names are no hashes, also CRC-32C of its bytes (u32)
 */

import type { Certificate } from '../../chain/certificate.js';
import { encodeU64 } from '../../db/keys.js';
import type { KvBatch } from '../../db/kv.js';
import { nextCrc32c } from '../../db/level-files/log.js';
import { VarintReader, varint } from '../../db/level-files/varints.js';
import type { VerifiedBlock } from '../../ledger/block/verified-block.js';
import { asBuffer, concatBytes, fromHex, toHex } from '../../lib/bytes.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { MAX_BLOCK_BYTES } from '../../peers/messages.js';
import { pack, unpackedLength, unpackInto } from '../segments/pack.js';
import { frontLength, type SegmentBlock, transactionOffsets } from '../segments/record.js';
import type { RecordPlace } from '../segments/segments.js';
import { blockPlaceKey, numberKey, transactionPlaceKey } from './layout.js';
import { checked, damaged, FEES_REPLACE } from './records.js';

const BLOCK_LENGTH = 44;
const TRANSACTION_LENGTH = 16;
const SUM_LENGTH = 4;
/** Bytes of the number of transactions in a FullBlock. */
const COUNT_LENGTH = 8;

export interface BlockPlace extends RecordPlace {
  /** Bytes of the record from its beginning to the end of the Block. */
  readonly front: number;
  readonly hash: string;
}

export interface TransactionPlace extends RecordPlace {
  readonly height: number;
  readonly txNum: number;
  /** True when fees take the places of outputs, as on original nodes. */
  readonly isOriginal: boolean;
  /** Checksum of the transaction's packed bytes, in block 0. */
  readonly sum: number | undefined;
}

export function readBlockPlace(height: number, record: Uint8Array): BlockPlace {
  if (record.length !== BLOCK_LENGTH) throw damaged(`the place of block ${height} is cut`);
  const bytes = asBuffer(record);
  const [offset, front, length] = [bytes.readUInt32BE(0), bytes.readUInt32BE(4), bytes.readUInt32BE(8)];
  return { offset, front, length, hash: `b${toHex(bytes.subarray(12))}` };
}

export function readTransactionPlace(hash: string, record: Uint8Array): TransactionPlace {
  if (record.length < TRANSACTION_LENGTH)
    return checked(`the place of transaction ${hash}`, () => readShortPlace(record));
  const hasSum = record.length === TRANSACTION_LENGTH + SUM_LENGTH;
  if (!hasSum && record.length !== TRANSACTION_LENGTH) throw damaged(`the place of transaction ${hash} is cut`);
  const bytes = asBuffer(record);
  return {
    height: bytes.readUInt32BE(0),
    txNum: bytes.readUInt32BE(4) & ~FEES_REPLACE,
    isOriginal: bytes.readUInt32BE(4) >= FEES_REPLACE,
    offset: bytes.readUInt32BE(8),
    length: bytes.readUInt32BE(12),
    sum: hasSum ? bytes.readUInt32BE(TRANSACTION_LENGTH) : undefined,
  };
}

function readShortPlace(record: Uint8Array): TransactionPlace {
  const from = new VarintReader(record);
  const [height, place, offset, length] = [from.varint(), from.varint(), from.varint(), from.varint()];
  return { height, txNum: place >> 1, isOriginal: (place & 1) === 1, offset, length, sum: undefined };
}

/** The block in the form in which a segment has it. */
export async function segmentBlock(
  { height, issued, transactions }: Pick<VerifiedBlock, 'height' | 'issued' | 'transactions'>,
  block: Uint8Array,
  certificate: Certificate | undefined,
  slices: TimeSlices,
): Promise<SegmentBlock> {
  const proof = certificate && concatBytes(fromHex(certificate.key), fromHex(certificate.signature));
  const packed: Uint8Array[] = [];
  for (const { bytes } of transactions) {
    if (slices.isUsedUp) await slices.turn();
    packed.push(pack(bytes));
  }
  return { height, issued, block: pack(block), certificate: proof, transactions: packed };
}

/** The encoded FullBlock from a segment's record. Throws a `RangeError` for what is no packed block, or one that no link could carry. */
export async function encodedBlock(record: SegmentBlock | undefined, slices: TimeSlices): Promise<Uint8Array> {
  if (record === undefined) throw new RangeError('a record fails its checksum');
  const { block, transactions } = record;
  let length = unpackedLength(block) + COUNT_LENGTH;
  for (const packed of transactions) {
    if (slices.isUsedUp) await slices.turn();
    length += unpackedLength(packed);
  }
  if (length > MAX_BLOCK_BYTES) throw new RangeError('a record unpacks to more bytes than a block may have');
  const bytes = new Uint8Array(length);
  let at = unpackInto(block, bytes, 0);
  // The coinbase at the end is not counted.
  asBuffer(bytes).writeBigUInt64LE(BigInt(transactions.length - 1), at);
  at += COUNT_LENGTH;
  for (const packed of transactions) {
    if (slices.isUsedUp) await slices.turn();
    at = unpackInto(packed, bytes, at);
  }
  return bytes;
}

/** Puts the places of a block and its transactions into a batch. */
export async function putPlaces(
  { hash, height, transactions }: Pick<VerifiedBlock, 'hash' | 'height' | 'transactions'>,
  block: SegmentBlock,
  { offset, length }: RecordPlace,
  batch: KvBatch,
  slices: TimeSlices,
): Promise<void> {
  const place = Buffer.allocUnsafe(TRANSACTION_LENGTH + SUM_LENGTH);
  const offsets = transactionOffsets(block);
  const placed = new Set<string>();
  for (const [txNum, { hash: txHash, transaction }] of transactions.entries()) {
    const bytes = block.transactions[txNum] ?? new Uint8Array();
    const at = offset + (offsets.next().value ?? 0);
    if (placed.has(txHash)) continue;
    placed.add(txHash);
    if (slices.isUsedUp) await slices.turn();
    place.writeUInt32BE(height, 0);
    place.writeUInt32BE(txNum + (transaction.feesReplace ? FEES_REPLACE : 0), 4);
    place.writeUInt32BE(at, 8);
    place.writeUInt32BE(bytes.length, 12);
    if (height === 0) place.writeUInt32BE(nextCrc32c(bytes, 0), TRANSACTION_LENGTH);
    const short = [height, 2 * txNum + Number(transaction.feesReplace ?? false), at, bytes.length].flatMap(varint);
    const isShort = height > 0 && short.length < TRANSACTION_LENGTH;
    const long = place.subarray(0, height === 0 ? undefined : TRANSACTION_LENGTH);
    batch.put(transactionPlaceKey(txHash), isShort ? Uint8Array.from(short) : long);
  }
  const own = Buffer.allocUnsafe(BLOCK_LENGTH);
  own.writeUInt32BE(offset, 0);
  own.writeUInt32BE(frontLength({ count: transactions.length, blockLength: block.block.length }), 4);
  own.writeUInt32BE(length, 8);
  own.set(fromHex(hash.slice(1)), 12);
  batch.put(blockPlaceKey(height), own);
  batch.put(numberKey(hash), encodeU64(height));
}
