/**
 * The binary encoding of the chain: bincode 1.x (docs/chain.md#encoding): little-endian integers, lengths as u64, one
 * tag byte per option, variants as u32. The reader checks lengths before it allocates.
 */

import { readable, readUtf8, writeUtf8 } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import { U64_MAX } from './constants.js';

const INITIAL_CAPACITY = 4_096;
/** Length up to which a loop is faster than a native copy. */
const LOOP_LIMIT = 96;
/** UTF-8 bytes that one UTF-16 unit can need. */
const MAX_UTF8_PER_UNIT = 3;
const I64_MIN = -0x8000_0000_0000_0000n;
const I64_MAX = 0x7fff_ffff_ffff_ffffn;
const U32_MAX = 0xffff_ffff;

function malformed(message: string): TesseraError {
  return new TesseraError('malformed_transaction', message);
}

/** A copy in memory of its own: a slice of a Buffer would be a Buffer, and often a part of Node's shared pool. */
function copyOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const copy = new Uint8Array(end - start);
  copy.set(bytes.subarray(start, end));
  return copy;
}

/** Writes bincode into one buffer that grows. Values out of range throw `malformed_transaction`. */
export class BincodeWriter {
  #buffer = readable(new Uint8Array(INITIAL_CAPACITY));
  #view = new DataView(this.#buffer.buffer);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Forgets the bytes written and keeps the memory. */
  reset(): this {
    this.#length = 0;
    return this;
  }

  /** The bytes written, in the writer's own memory: valid until the next write. */
  view(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  toBytes(): Uint8Array {
    return copyOf(this.#buffer, 0, this.#length);
  }

  u8(value: number): void {
    const at = this.#take(1);
    this.#buffer[at] = value;
  }

  u32(value: number): void {
    if (!Number.isInteger(value) || value < 0 || value > U32_MAX) throw malformed(`${value} is not a u32`);
    const at = this.#take(4);
    this.#view.setUint32(at, value, true);
  }

  i32(value: number): void {
    if ((value | 0) !== value) throw malformed(`${value} is not an i32`);
    const at = this.#take(4);
    this.#view.setInt32(at, value, true);
  }

  u64(value: bigint): void {
    if (value < 0n || value > U64_MAX) throw malformed(`${value} is not a u64`);
    const at = this.#take(8);
    this.#view.setBigUint64(at, value, true);
  }

  i64(value: bigint): void {
    if (value < I64_MIN || value > I64_MAX) throw malformed(`${value} is not an i64`);
    const at = this.#take(8);
    this.#view.setBigInt64(at, value, true);
  }

  /** Writes a length or count, which is a u64. */
  length64(value: number): void {
    const at = this.#take(8);
    this.#view.setUint32(at, value, true);
    this.#view.setUint32(at + 4, Math.floor(value / 0x1_0000_0000), true);
  }

  /** Writes a `Vec<u8>`, or a fixed key array, which is written as a slice. */
  bytes(value: Uint8Array): void {
    this.length64(value.length);
    const at = this.#take(value.length);
    this.#buffer.set(value, at);
  }

  string(value: string): void {
    const start = this.#take(8);
    const room = value.length * MAX_UTF8_PER_UNIT;
    this.#reserve(room);
    const written = this.#writeText(value);
    this.#view.setUint32(start, written, true);
    this.#view.setUint32(start + 4, 0, true);
    this.#length += written;
  }

  optionalString(value: string | null): void {
    if (value === null) {
      this.u8(0);
      return;
    }
    this.u8(1);
    this.string(value);
  }

  #writeText(value: string): number {
    const buffer = this.#buffer;
    const start = this.#length;
    if (value.length <= LOOP_LIMIT) {
      let i = 0;
      for (; i < value.length; i++) {
        const code = value.charCodeAt(i);
        if (code > 0x7f) break;
        buffer[start + i] = code;
      }
      if (i === value.length) return i;
    }
    return writeUtf8(value, buffer, start);
  }

  /** The position of the next `bytes` bytes. Call this before using the buffer, which it may replace by a larger one. */
  #take(bytes: number): number {
    this.#reserve(bytes);
    const at = this.#length;
    this.#length = at + bytes;
    return at;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = readable(new Uint8Array(Math.max(needed, this.#buffer.length * 2)));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
    this.#view = new DataView(grown.buffer);
  }
}

/** Reads bincode. Anything but the encoding of a value throws `malformed_transaction`. */
export class BincodeReader {
  readonly #buffer: Uint8Array;
  readonly #view: DataView;
  #at = 0;
  /** Position at which reading ends: the end of the bytes, or the limit of `within`. */
  #end: number;

  constructor(bytes: Uint8Array) {
    this.#end = bytes.length;
    this.#buffer = readable(bytes);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get remaining(): number {
    return this.#end - this.#at;
  }

  u8(): number {
    return this.#view.getUint8(this.#take(1));
  }

  u32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  i32(): number {
    return this.#view.getInt32(this.#take(4), true);
  }

  u64(): bigint {
    return this.#view.getBigUint64(this.#take(8), true);
  }

  /** Reads a u64 that must be a safe integer. */
  number64(): number {
    const value = this.u64();
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw malformed(`${value} is too large a number`);
    return Number(value);
  }

  i64(): bigint {
    return this.#view.getBigInt64(this.#take(8), true);
  }

  /** Reads a length. Refuses one whose elements, of at least `minimumElementSize` bytes each, cannot all be there. */
  length64(minimumElementSize: number): number {
    const at = this.#take(8);
    const low = this.#view.getUint32(at, true);
    const high = this.#view.getUint32(at + 4, true);
    if (high !== 0 || low * minimumElementSize > this.remaining) {
      throw malformed('a length is larger than the bytes that follow');
    }
    return low;
  }

  /** Reads a `Vec<u8>` into a copy. */
  bytes(): Uint8Array {
    return this.#copy(this.length64(1));
  }

  /** Reads a key array that is written as a slice, whose length must be `length`. */
  fixedBytes(length: number): Uint8Array {
    if (this.length64(1) !== length) throw malformed(`a key or signature does not have ${length} bytes`);
    return this.#copy(length);
  }

  string(): string {
    const length = this.length64(1);
    const at = this.#take(length);
    const text = readUtf8(this.#buffer, at, at + length);
    if (text === undefined) throw malformed('a text is not valid UTF-8');
    return text;
  }

  optionalString(): string | null {
    return this.option() ? this.string() : null;
  }

  /** Reads the tag of an option: true when a value follows. */
  option(): boolean {
    const tag = this.u8();
    if (tag > 1) throw malformed(`${tag} is not the tag of an option`);
    return tag === 1;
  }

  /** Reads a count and as many elements, of at least `minimumElementSize` bytes each. */
  list<T>(minimumElementSize: number, read: () => T): T[] {
    const count = this.length64(minimumElementSize);
    const items: T[] = [];
    for (let i = 0; i < count; i++) items.push(read());
    return items;
  }

  /** Reads a value of at most `bytes` bytes; a longer value is refused as if the bytes ended there. */
  within<T>(bytes: number, read: () => T): T {
    const end = this.#end;
    this.#end = Math.min(end, this.#at + bytes);
    try {
      return read();
    } finally {
      this.#end = end;
    }
  }

  /** Goes back, or on, to where this many bytes remain. */
  seek(remaining: number): void {
    this.#at = this.#end - remaining;
  }

  /** Reads all bytes that are left. */
  rest(): Uint8Array {
    return this.#copy(this.remaining);
  }

  /** Throws unless all bytes were read. */
  end(): void {
    if (this.remaining !== 0) throw malformed(`${this.remaining} bytes follow the value`);
  }

  #copy(length: number): Uint8Array {
    const at = this.#take(length);
    return copyOf(this.#buffer, at, at + length);
  }

  #take(bytes: number): number {
    const at = this.#at;
    if (this.#end - at < bytes) throw malformed('the bytes end inside a value');
    this.#at = at + bytes;
    return at;
  }
}
