/**
 * What a value looks like inside a store: the value and the CRC-32 of key and value. A record that was moved to another
 * key, cut or changed by one bit does not check. Also the batch of pending writes.
 */

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

/** The same of a value that stands in parts, in pieces: to copy and check the largest takes longer than a turn may. */
function* sealInPieces(key: Uint8Array, parts: readonly Uint8Array[]): Pieces<Uint8Array> {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const record = Buffer.allocUnsafe(length + CHECKSUM_LENGTH);
  let at = 0;
  let sum = crc32(key);
  for (const part of parts) {
    for (let from = 0; from < part.length; from += PIECE_BYTES) {
      if (at > 0) yield;
      const piece = part.subarray(from, from + PIECE_BYTES);
      record.set(piece, at);
      at += piece.length;
      sum = crc32(piece, sum);
    }
  }
  record.writeUInt32LE(sum, length);
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

/** 4 bytes for each write: the checksum of its record, or that of the key for a deletion. */
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

/** One write; `record` is undefined for a deletion. */
export interface PendingWrite {
  readonly key: Uint8Array;
  readonly record: Uint8Array | undefined;
}

/** The batch of our stores. A value may be changed after `put`; a key must not until the batch is written. */
export class PendingBatch implements KvBatch {
  readonly writes: PendingWrite[] = [];

  get size(): number {
    return this.writes.length;
  }

  put(key: Uint8Array, value: Uint8Array): this {
    this.#push(key, sealRecord(key, value));
    return this;
  }

  *putInPieces(key: Uint8Array, parts: readonly Uint8Array[]): Pieces<void> {
    this.#push(key, yield* sealInPieces(key, parts));
  }

  del(key: Uint8Array): this {
    this.#push(key, undefined);
    return this;
  }

  #push(key: Uint8Array, record: Uint8Array | undefined): void {
    if (key[0] === RESERVED_KEY) throw new TesseraError('internal_error', 'no key begins with the byte 0xff');
    this.writes.push({ key, record });
  }
}

/** The writes of a batch that came from `batch()` of one of our stores. */
export function writesOf(batch: KvBatch): readonly PendingWrite[] {
  if (batch instanceof PendingBatch) return batch.writes;
  throw new TesseraError('internal_error', 'a batch must come from the batch() of a store');
}
