/**
 * One block in a segment, with its transactions. Numbers are little-endian.
 *
 *   head         magic (4) ‖ length of all (u32) ‖ height (u64) ‖ issued (u64) ‖ number of transactions, the coinbase among them
 *                (u32) ‖ length of the Block (u32) ‖ certificate: public key ‖ signature, zeros without one (96) ‖
 *                CRC-32C of the Block (u32) ‖
 *                CRC-32C of the head (u32)
 *   table        length of each transaction (u32)
 *   Block ‖ transactions ‖ coinbase   bincode, each packed (`pack.ts`)
 *   CRC-32C of all before (u32)
 *
 * The length depends on the block alone, so that a damaged record is replaced where it is, by a block of any node.
 */

import { nextCrc32c } from '../../db/level-files/log.js';
import { asBuffer } from '../../lib/bytes.js';

const MAGIC = 0x31425354;
const CERTIFICATE_AT = 32;
const CERTIFICATE_LENGTH = 96;
const BLOCK_SUM_AT = CERTIFICATE_AT + CERTIFICATE_LENGTH;
const HEAD_SUM_AT = BLOCK_SUM_AT + 4;
const SUM_LENGTH = 4;
const ENTRY_LENGTH = 4;
/** Bytes of a record that are gathered, checked and written at once, which takes a millisecond or two. */
const PIECE_BYTES = 1024 * 1024;

export const HEAD_LENGTH = HEAD_SUM_AT + SUM_LENGTH;

export interface SegmentBlock {
  readonly height: number;
  /** Raw units issued up to this block, its own coinbase included. */
  readonly issued: bigint;
  /** Public key ‖ signature, the certificate's bytes; undefined without one. */
  readonly certificate: Uint8Array | undefined;
  /** The encoded Block, which lists its transactions, packed. */
  readonly block: Uint8Array;
  /** Transactions, encoded and packed, in block order, the coinbase last. */
  readonly transactions: readonly Uint8Array[];
}

export interface RecordHead extends Pick<SegmentBlock, 'height' | 'issued' | 'certificate'> {
  /** Bytes of the record. */
  readonly length: number;
  readonly count: number;
  readonly blockLength: number;
}

/** Bytes of the record that come before its first transaction: head, table and Block. */
export function frontLength({ count, blockLength }: Pick<RecordHead, 'count' | 'blockLength'>): number {
  return HEAD_LENGTH + count * ENTRY_LENGTH + blockLength;
}

export function recordLength({ block, transactions }: SegmentBlock): number {
  const front = frontLength({ count: transactions.length, blockLength: block.length });
  return transactions.reduce((sum, { length }) => sum + length, front) + SUM_LENGTH;
}

/** Offset of each transaction from the beginning of the record. */
export function* transactionOffsets({ block, transactions }: SegmentBlock): Generator<number, void, undefined> {
  let at = frontLength({ count: transactions.length, blockLength: block.length });
  for (const { length } of transactions) {
    yield at;
    at += length;
  }
}

/** The bytes of a record in pieces of bounded size. */
export function* recordPieces(record: SegmentBlock): Generator<Buffer, void, undefined> {
  let sum = 0;
  let piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, recordLength(record)));
  let taken = 0;
  for (const part of partsOf(record)) {
    for (let from = 0; from < part.length; ) {
      const some = part.subarray(from, from + piece.length - taken);
      piece.set(some, taken);
      taken += some.length;
      from += some.length;
      if (taken < piece.length) continue;
      sum = nextCrc32c(piece, sum);
      yield piece;
      piece = Buffer.allocUnsafe(PIECE_BYTES);
      taken = 0;
    }
  }
  sum = nextCrc32c(piece.subarray(0, taken), sum);
  const end = Buffer.allocUnsafe(SUM_LENGTH);
  end.writeUInt32LE(sum);
  yield Buffer.concat([piece.subarray(0, taken), end]);
}

function* partsOf(record: SegmentBlock): Generator<Uint8Array, void, undefined> {
  const { height, issued, certificate, block, transactions } = record;
  const front = Buffer.alloc(HEAD_LENGTH + transactions.length * ENTRY_LENGTH);
  front.writeUInt32LE(MAGIC, 0);
  front.writeUInt32LE(recordLength(record), 4);
  front.writeBigUInt64LE(BigInt(height), 8);
  front.writeBigUInt64LE(issued, 16);
  front.writeUInt32LE(transactions.length, 24);
  front.writeUInt32LE(block.length, 28);
  if (certificate !== undefined) front.set(certificate, CERTIFICATE_AT);
  front.writeUInt32LE(nextCrc32c(block, 0), BLOCK_SUM_AT);
  front.writeUInt32LE(nextCrc32c(front.subarray(0, HEAD_SUM_AT), 0), HEAD_SUM_AT);
  for (const [i, { length }] of transactions.entries()) front.writeUInt32LE(length, HEAD_LENGTH + i * ENTRY_LENGTH);
  yield front;
  yield block;
  yield* transactions;
}

/** The head at the beginning of the bytes; undefined when it is cut or damaged. */
export function readHead(bytes: Uint8Array): RecordHead | undefined {
  if (bytes.length < HEAD_LENGTH) return undefined;
  const buffer = asBuffer(bytes);
  const isWhole = buffer.readUInt32LE(HEAD_SUM_AT) === nextCrc32c(buffer.subarray(0, HEAD_SUM_AT), 0);
  if (buffer.readUInt32LE(0) !== MAGIC || !isWhole) return undefined;
  const certificate = buffer.subarray(CERTIFICATE_AT, BLOCK_SUM_AT);
  return {
    length: buffer.readUInt32LE(4),
    height: Number(buffer.readBigUInt64LE(8)),
    issued: buffer.readBigUInt64LE(16),
    count: buffer.readUInt32LE(24),
    blockLength: buffer.readUInt32LE(28),
    certificate: certificate.every((byte) => byte === 0) ? undefined : certificate,
  };
}

/** Head and Block from the front of a record; undefined when they are cut or damaged. */
export function readFront(bytes: Uint8Array): (RecordHead & Pick<SegmentBlock, 'block'>) | undefined {
  const head = readHead(bytes);
  if (head === undefined || frontLength(head) > bytes.length) return undefined;
  const block = bytes.subarray(frontLength(head) - head.blockLength, frontLength(head));
  return nextCrc32c(block, 0) === asBuffer(bytes).readUInt32LE(BLOCK_SUM_AT) ? { ...head, block } : undefined;
}

/** The record in these bytes, as views of them; undefined when its checksum is wrong. */
export function readRecord(bytes: Uint8Array): (SegmentBlock & { readonly bytes: Uint8Array }) | undefined {
  const buffer = asBuffer(bytes);
  const front = readFront(bytes);
  const end = bytes.length - SUM_LENGTH;
  if (front === undefined || front.length !== bytes.length) return undefined;
  if (buffer.readUInt32LE(end) !== nextCrc32c(buffer.subarray(0, end), 0)) return undefined;
  const { height, issued, certificate, block, count } = front;
  const transactions: Uint8Array[] = [];
  let at = frontLength(front);
  for (let i = 0; i < count; i++) {
    const length = buffer.readUInt32LE(HEAD_LENGTH + i * ENTRY_LENGTH);
    transactions.push(bytes.subarray(at, at + length));
    at += length;
  }
  return at === end ? { height, issued, certificate, block, transactions, bytes } : undefined;
}

/** Offset at or after `from` where a record may begin; -1 when there is none. */
export function findMagic(bytes: Uint8Array, from: number): number {
  return asBuffer(bytes).indexOf('TSB1', from, 'latin1');
}
