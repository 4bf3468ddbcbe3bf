/**
 * A record of a write-ahead log: `sequence (8) ‖ count (4)`, then `1 ‖ key ‖ value` for a put and `0 ‖ key` for a deletion.
 */

import type { PendingWrite } from '../record.js';
import { VarintReader, varint } from './varints.js';

const HEADER_LENGTH = 12;
const COUNT_OFFSET = 8;
const DELETION = 0;
const PUT = 1;
/** What RocksDB adds to the kind of a write to a named column, whose number comes next. */
const COLUMN = 4;

export interface BatchWrite {
  readonly key: Uint8Array;
  /** Undefined for a deletion. */
  readonly value: Uint8Array | undefined;
}

/** The writes of a batch in their order; with `columns` as RocksDB has them. A `RangeError` says that the bytes are not a batch. */
export function readBatch(record: Uint8Array, { columns = false } = {}): BatchWrite[] {
  if (record.length < HEADER_LENGTH) throw new RangeError('cut');
  const count = Buffer.from(record.buffer, record.byteOffset, record.byteLength).readUInt32LE(COUNT_OFFSET);
  const reader = new VarintReader(record, HEADER_LENGTH);
  const writes: BatchWrite[] = [];
  while (!reader.isAtEnd) {
    let kind = reader.byte();
    if (columns && kind >= COLUMN) {
      kind -= COLUMN;
      reader.varint();
    }
    if (kind !== PUT && kind !== DELETION) throw new RangeError('unknown operation');
    const key = reader.slice();
    writes.push({ key, value: kind === PUT ? reader.slice() : undefined });
  }
  if (writes.length !== count) throw new RangeError('wrong count');
  return writes;
}

/** The record of a batch whose writes begin at this sequence number of the database. */
export function encodeBatch(sequence: number, writes: readonly PendingWrite[]): Buffer {
  const header = Buffer.alloc(HEADER_LENGTH);
  header.writeBigUInt64LE(BigInt(sequence));
  header.writeUInt32LE(writes.length, COUNT_OFFSET);
  const parts: Uint8Array[] = [header];
  for (const { key, record } of writes) {
    parts.push(Uint8Array.of(record === undefined ? DELETION : PUT, ...varint(key.length)), key);
    if (record !== undefined) parts.push(Uint8Array.from(varint(record.length)), record);
  }
  return Buffer.concat(parts);
}
