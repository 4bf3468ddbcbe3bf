/**
 * LevelDB's log format, which its write-ahead logs and its MANIFEST share. A log is a row of 32 KiB blocks. A block holds
 * fragments of `crc32c(type ‖ data), masked (4) ‖ length (2) ‖ type (1) ‖ data`, little-endian; fewer than 7 bytes at its
 * end are padding. A record is one full fragment, or a first, any number of middle, and a last one.
 */

import { crc32c } from '@node-rs/crc32';
import { asBuffer } from '../../lib/bytes.js';
import type { Pieces } from '../../lib/pieces.js';

const MASK_DELTA = 0xa282ead8;

export function maskedCrc32c(bytes: Uint8Array): number {
  return masked(nextCrc32c(bytes, 0));
}

/** The CRC-32C of the bytes with the CRC-32C `before`, followed by `bytes`; not masked. */
export function nextCrc32c(bytes: Uint8Array, before: number): number {
  return crc32c(asBuffer(bytes), before);
}

function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;
}

const BLOCK_LENGTH = 32 * 1024;
const HEADER_LENGTH = 7;
const PIECE_BYTES = 1024 * 1024;
const LENGTH_OFFSET = 4;
const TYPE_OFFSET = 6;
const FULL = 1;
const FIRST = 2;
const MIDDLE = 3;
const LAST = 4;
/** Number of zero bytes that shows that the end of a file was never written: the smallest unit of a disk. */
const UNWRITTEN = 512;

export interface LogRecord {
  readonly data: Uint8Array;
  /** Start of the record's first fragment in the file, and end of its last one. */
  readonly start: number;
  readonly end: number;
}

/** End of the usable part of a log: inside a record (a crash), in zeros (a power loss), or at wrong bytes. */
export interface LogFault {
  readonly kind: 'cut' | 'unwritten' | 'damaged';
  /** The first byte that is not trusted. */
  readonly at: number;
  /** Whole records that were found after the fault. */
  readonly later: readonly LogRecord[];
}

export interface LogContent {
  readonly records: readonly LogRecord[];
  readonly fault: LogFault | null;
}

/** The records of a log up to the first fault, and the fault with the records after it. */
export function readLog(file: Buffer): LogContent {
  const scan = new LogScan(file);
  const records: LogRecord[] = [];
  for (let record = scan.next(); record !== null; record = scan.next()) records.push(record);
  if (scan.at >= file.length && !scan.isBroken) return { records, fault: null };
  const at = records.at(-1)?.end ?? 0;
  if (!scan.isBroken) return { records, fault: { kind: 'cut', at, later: [] } };
  const later: LogRecord[] = [];
  while (scan.resync()) {
    for (let record = scan.next(); record !== null; record = scan.next()) later.push(record);
  }
  const kind = later.length === 0 && endsUnwritten(file, at) ? 'unwritten' : 'damaged';
  return { records, fault: { kind, at, later } };
}

class LogScan {
  readonly #file: Buffer;
  at = 0;
  /** True when a fragment has failed its check, or did not follow the one before it. */
  isBroken = false;

  constructor(file: Buffer) {
    this.#file = file;
  }

  /** The next whole record; null at the end of the file, at a cut, and at a fault. */
  next(): LogRecord | null {
    const parts: Uint8Array[] = [];
    let start = -1;
    for (;;) {
      this.#skipPadding();
      const type = this.#fragmentType();
      if (type === null) return null;
      const opens = type === FULL || type === FIRST;
      if (opens !== (parts.length === 0)) return this.#break();
      if (opens) start = this.at;
      const length = this.#file.readUInt16LE(this.at + LENGTH_OFFSET);
      parts.push(this.#file.subarray(this.at + HEADER_LENGTH, this.at + HEADER_LENGTH + length));
      this.at += HEADER_LENGTH + length;
      if (type === FULL || type === LAST) {
        const [only] = parts;
        const data = parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
        return { data, start, end: this.at };
      }
    }
  }

  /** Goes to the next place after a fault where a record may begin; false at the end of the file. */
  resync(): boolean {
    if (!this.isBroken) return false;
    this.isBroken = false;
    if (!this.#checks(this.at)) {
      const block = this.#blockEnd();
      const end = this.at + HEADER_LENGTH + this.#lengthAt(this.at);
      // The length may be right and only the data wrong; if it is not, the next block is the next certain place.
      this.at = end < block && this.#checks(end) ? end : block;
    }
    while (this.at < this.#file.length) {
      const type = this.#checks(this.at) ? this.#file[this.at + TYPE_OFFSET] : undefined;
      if (type === FULL || type === FIRST) return true;
      this.at = type === undefined ? this.#blockEnd() : this.at + HEADER_LENGTH + this.#lengthAt(this.at);
      this.#skipPadding();
    }
    return false;
  }

  #fragmentType(): number | null {
    if (this.at + HEADER_LENGTH > this.#file.length) return null;
    const end = this.at + HEADER_LENGTH + this.#lengthAt(this.at);
    // A fragment never leaves its block; only the file's end may cut one.
    if (end > this.#blockEnd()) return this.#break();
    if (end > this.#file.length) return null;
    if (!this.#checks(this.at)) return this.#break();
    const type = this.#file[this.at + TYPE_OFFSET] ?? 0;
    return type >= FULL && type <= LAST ? type : this.#break();
  }

  #checks(at: number): boolean {
    if (at + HEADER_LENGTH > this.#file.length) return false;
    const end = at + HEADER_LENGTH + this.#lengthAt(at);
    if (end > this.#file.length || end > at - (at % BLOCK_LENGTH) + BLOCK_LENGTH) return false;
    return maskedCrc32c(this.#file.subarray(at + TYPE_OFFSET, end)) === this.#file.readUInt32LE(at);
  }

  #lengthAt(at: number): number {
    return at + HEADER_LENGTH <= this.#file.length ? this.#file.readUInt16LE(at + LENGTH_OFFSET) : 0;
  }

  #blockEnd(): number {
    return this.at - (this.at % BLOCK_LENGTH) + BLOCK_LENGTH;
  }

  #skipPadding(): void {
    const end = this.#blockEnd();
    if (end - this.at < HEADER_LENGTH) this.at = end;
  }

  #break(): null {
    this.isBroken = true;
    return null;
  }
}

/** True when the file ends in zeros, at least a disk sector of them or all there is behind `from`. */
function endsUnwritten(file: Buffer, from: number): boolean {
  const length = Math.min(UNWRITTEN, file.length - from);
  return file.subarray(file.length - length).every((byte) => byte === 0);
}

/** The bytes of a record that is written at byte `at` of a log, in pieces of a millisecond. */
export function* encodeRecord(data: Uint8Array, at: number): Pieces<Buffer> {
  const fragments = 2 + Math.ceil(data.length / (BLOCK_LENGTH - HEADER_LENGTH));
  const bytes = Buffer.allocUnsafe(data.length + 2 * fragments * HEADER_LENGTH);
  let end = 0;
  for (let from = 0, isFirst = true; isFirst || from < data.length; ) {
    const room = BLOCK_LENGTH - ((at + end) % BLOCK_LENGTH);
    if (room < HEADER_LENGTH) {
      bytes.fill(0, end, end + room);
      end += room;
      continue;
    }
    const begin = end;
    const length = Math.min(room - HEADER_LENGTH, data.length - from);
    const isLast = from + length === data.length;
    end += HEADER_LENGTH + length;
    bytes.writeUInt16LE(length, begin + LENGTH_OFFSET);
    bytes[begin + TYPE_OFFSET] = isFirst ? (isLast ? FULL : FIRST) : isLast ? LAST : MIDDLE;
    bytes.set(data.subarray(from, from + length), begin + HEADER_LENGTH);
    bytes.writeUInt32LE(maskedCrc32c(bytes.subarray(begin + TYPE_OFFSET, end)), begin);
    from += length;
    isFirst = false;
    if (from % PIECE_BYTES < length) yield;
  }
  return bytes.subarray(0, end);
}
