/** Numbers, byte strings and batches of LevelDB's logs. Reading throws a `RangeError` for bytes of another form. */

import type { PendingWrite } from '../record.js';

export class VarintReader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
    this.at = at;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#bytes.length;
  }

  byte(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw new RangeError('cut');
    return byte;
  }

  varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      if (scale > Number.MAX_SAFE_INTEGER / 256) throw new RangeError('no varint');
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  take(length: number): Uint8Array {
    const end = this.at + length;
    if (end > this.#bytes.length) throw new RangeError('cut');
    const bytes = this.#bytes.subarray(this.at, end);
    this.at = end;
    return bytes;
  }

  /** Reads a length and that many bytes. */
  slice(): Uint8Array {
    return this.take(this.varint());
  }
}

/** The bytes of a number. */
export function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return [...bytes, rest];
}

/** Encodes bytes behind their length. */
export function encodeSlice(bytes: Uint8Array): number[] {
  return [...varint(bytes.length), ...bytes];
}

const HEADER_LENGTH = 12;
const COUNT_OFFSET = 8;
const DELETION = 0;
const PUT = 1;
/** Number that RocksDB adds to the kind of a write to a named column; the number of the column follows. */
const COLUMN = 4;

export interface BatchWrite {
  readonly key: Uint8Array;
  /** The value written; undefined for a deletion. */
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
