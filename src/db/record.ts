/** Records of a store: a value with the CRC-32 of key and value, which reveals moved, cut and changed records. And the batch of writes. */

import { crc32 } from 'node:zlib';
import { asBuffer } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import type { Pieces } from '../lib/pieces.js';
import type { KvBatch } from './kv.js';

/** Bytes of the checksum at the end of a record, little-endian. */
const CHECKSUM_LENGTH = 4;
/** Bytes of a large value that are copied and checked at once: a millisecond or two. */
const PIECE_BYTES = 1024 * 1024;
/** Keys that begin with this byte belong to the store. */
export const RESERVED_KEY = 0xff;
/** Characters of a key that an error message shows. */
const SHOWN_KEY_LENGTH = 160;

/** The record of a value: a copy, followed by its checksum. */
export function sealRecord(key: Uint8Array, value: Uint8Array): Uint8Array {
  const record = Buffer.allocUnsafe(value.length + CHECKSUM_LENGTH);
  record.set(value);
  record.writeUInt32LE(checksum(key, value), value.length);
  return record;
}

/** The value of a record, in the record's memory. Throws `data_corrupt` naming key and database. */
export function openRecord(database: string, key: Uint8Array, record: Uint8Array): Uint8Array {
  const value = valueIn(key, record);
  if (value !== undefined) return value;
  throw new TesseraError('data_corrupt', `the record ${showKey(key)} of database ${database} fails its checksum`, {
    details: { database, key: asBuffer(key).toString('hex') },
  });
}

/** The value of a record; a `RangeError` says that it is damaged. */
export function unsealRecord(key: Uint8Array, record: Uint8Array): Uint8Array {
  const value = valueIn(key, record);
  if (value === undefined) throw new RangeError('wrong checksum');
  return value;
}

function valueIn(key: Uint8Array, record: Uint8Array): Uint8Array | undefined {
  const length = record.length - CHECKSUM_LENGTH;
  if (length < 0) return undefined;
  const value = record.subarray(0, length);
  return asBuffer(record).readUInt32LE(length) === checksum(key, value) ? value : undefined;
}

/** Checksums of writes, 4 bytes each: that of the record, or that of the key for a deletion. */
export function recordChecksums(writes: readonly PendingWrite[]): Uint8Array {
  const checksums = Buffer.allocUnsafe(writes.length * CHECKSUM_LENGTH);
  for (const [i, { key, record }] of writes.entries()) {
    if (record === undefined) checksums.writeUInt32LE(crc32(key), i * CHECKSUM_LENGTH);
    else checksums.set(record.subarray(-CHECKSUM_LENGTH), i * CHECKSUM_LENGTH);
  }
  return checksums;
}

/** A key as people can read it: printable ASCII as it is, other bytes as `\xNN`. */
function showKey(key: Uint8Array): string {
  let text = '';
  for (const byte of key) {
    text += byte > 0x20 && byte < 0x7f && byte !== 0x5c ? String.fromCharCode(byte) : `\\x${hexByte(byte)}`;
  }
  return text.length > SHOWN_KEY_LENGTH ? `${text.slice(0, SHOWN_KEY_LENGTH)}…` : text;
}

function hexByte(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}

function checksum(key: Uint8Array, value: Uint8Array): number {
  return crc32(value, crc32(key));
}

/** A write; `record` is undefined for a deletion. */
export interface PendingWrite {
  readonly key: Uint8Array;
  readonly record: Uint8Array | undefined;
}

/** Bytes of the first chunk of a batch, and of the largest; each chunk is twice as large as the one before. */
const FIRST_CHUNK = 2 * 1024;
const LARGEST_CHUNK = 256 * 1024;

/** Memory with the keys and records of consecutive writes. */
class Chunk {
  readonly #bytes: Buffer;
  /** Ends of each write: of its key, and of its record. A deletion has no record, so that both ends are the same. */
  readonly #ends: number[] = [];
  #taken = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  hasRoom(bytes: number): boolean {
    return this.#taken + bytes <= this.#bytes.length;
  }

  put(key: Uint8Array, value: Uint8Array): void {
    const at = this.#key(key);
    this.#bytes.set(value, at);
    this.#taken = this.#bytes.writeUInt32LE(checksum(key, value), at + value.length);
    this.#ends.push(this.#taken);
  }

  /** Adds a write like `put`, of a value given in parts, in pieces. */
  *putInPieces(key: Uint8Array, parts: readonly Uint8Array[]): Pieces<void> {
    let at = this.#key(key);
    let sum = crc32(key);
    for (const part of parts) {
      for (let from = 0; from < part.length; from += PIECE_BYTES) {
        if (at > key.length) yield;
        const piece = part.subarray(from, from + PIECE_BYTES);
        this.#bytes.set(piece, at);
        at += piece.length;
        sum = crc32(piece, sum);
      }
    }
    this.#taken = this.#bytes.writeUInt32LE(sum, at);
    this.#ends.push(this.#taken);
  }

  del(key: Uint8Array): void {
    this.#ends.push(this.#key(key));
  }

  /** The writes, as views of the chunk's memory. */
  *writes(): Generator<PendingWrite, void, undefined> {
    let begin = 0;
    for (let i = 0; i < this.#ends.length; i += 2) {
      const [keyEnd = 0, end = 0] = [this.#ends[i], this.#ends[i + 1]];
      const record = end > keyEnd ? this.#bytes.subarray(keyEnd, end) : undefined;
      yield { key: this.#bytes.subarray(begin, keyEnd), record };
      begin = end;
    }
  }

  /** Copies a key; returns where it ends. */
  #key(key: Uint8Array): number {
    this.#bytes.set(key, this.#taken);
    this.#taken += key.length;
    this.#ends.push(this.#taken);
    return this.#taken;
  }
}

/** The batch of our stores, copied into a few pieces of memory: as objects it took several times as much. */
export class PendingBatch implements KvBatch {
  readonly #chunks: Chunk[] = [];
  #nextChunk = FIRST_CHUNK;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  put(key: Uint8Array, value: Uint8Array): this {
    this.#chunkFor(key, key.length + value.length + CHECKSUM_LENGTH).put(key, value);
    this.#size++;
    return this;
  }

  *putInPieces(key: Uint8Array, parts: readonly Uint8Array[]): Pieces<void> {
    refuseReserved(key);
    const length = parts.reduce((sum, part) => sum + part.length, key.length + CHECKSUM_LENGTH);
    const chunk = new Chunk(Buffer.allocUnsafe(length));
    yield* chunk.putInPieces(key, parts);
    this.#chunks.push(chunk);
    this.#size++;
  }

  del(key: Uint8Array): this {
    this.#chunkFor(key, key.length).del(key);
    this.#size++;
    return this;
  }

  /** The writes in order, each a new object with views of the batch's memory. */
  *writes(): Generator<PendingWrite, void, undefined> {
    for (const chunk of this.#chunks) yield* chunk.writes();
  }

  #chunkFor(key: Uint8Array, bytes: number): Chunk {
    refuseReserved(key);
    const last = this.#chunks.at(-1);
    if (last?.hasRoom(bytes)) return last;
    const chunk = new Chunk(Buffer.allocUnsafe(Math.max(bytes, this.#nextChunk)));
    this.#nextChunk = Math.min(2 * this.#nextChunk, LARGEST_CHUNK);
    this.#chunks.push(chunk);
    return chunk;
  }
}

function refuseReserved(key: Uint8Array): void {
  if (key[0] === RESERVED_KEY) throw new TesseraError('internal_error', 'no key begins with the byte 0xff');
}

/** The batch, which must come from `batch()` of one of our stores. */
export function pendingBatch(batch: KvBatch): PendingBatch {
  if (batch instanceof PendingBatch) return batch;
  throw new TesseraError('internal_error', 'a batch must come from the batch() of a store');
}

/** The writes of a batch that came from `batch()` of one of our stores. */
export function writesOf(batch: KvBatch): readonly PendingWrite[] {
  return [...pendingBatch(batch).writes()];
}
