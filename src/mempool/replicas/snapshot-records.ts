/**
 * The records of a database as one stream of bytes, cut anywhere: for each record the lengths of key and value (u32, big
 * endian), the key, the value.
 */

import { asBuffer } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';

const HEAD_BYTES = 8;
const MAX_KEY_BYTES = 4_096;
/** Bytes of a value: a kept block is the largest. */
const MAX_VALUE_BYTES = 80 * 1024 * 1024;

export function writeRecord(key: Uint8Array, value: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + key.length + value.length);
  bytes.writeUInt32BE(key.length, 0);
  bytes.writeUInt32BE(value.length, 4);
  bytes.set(key, HEAD_BYTES);
  bytes.set(value, HEAD_BYTES + key.length);
  return bytes;
}

/** Reads what `writeRecord` wrote; keeps the beginning of a record until the rest of it is there. */
export class RecordReader {
  #parts: Uint8Array[] = [];
  #bytes = 0;

  /** True between two records. */
  get isAtEnd(): boolean {
    return this.#bytes === 0;
  }

  /** The records that end in these bytes. Throws `protocol_violation`. */
  *read(bytes: Uint8Array): Generator<readonly [key: Uint8Array, value: Uint8Array]> {
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes < this.#wanted()) return;
    const all = asBuffer(this.#parts.length === 1 ? bytes : Buffer.concat(this.#parts));
    let at = 0;
    for (let size = sizeAt(all, at); size !== undefined && at + size <= all.length; size = sizeAt(all, at)) {
      const end = at + HEAD_BYTES + all.readUInt32BE(at);
      yield [all.subarray(at + HEAD_BYTES, end), all.subarray(end, at + size)];
      at += size;
    }
    this.#parts = at < all.length ? [all.subarray(at)] : [];
    this.#bytes = all.length - at;
  }

  /** Bytes until the first record is whole, as far as its length is known: what is not is not joined in vain. */
  #wanted(): number {
    const [first] = this.#parts;
    return first === undefined ? 0 : (sizeAt(asBuffer(first), 0) ?? 0);
  }
}

/** Bytes of the record that begins there; undefined when its lengths are not there yet. */
function sizeAt(bytes: Buffer, at: number): number | undefined {
  if (bytes.length - at < HEAD_BYTES) return undefined;
  const [key, value] = [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)];
  if (key > 0 && key <= MAX_KEY_BYTES && value <= MAX_VALUE_BYTES) return HEAD_BYTES + key + value;
  throw new TesseraError('protocol_violation', `a record of a snapshot has ${key} bytes of key and ${value} of value`);
}
