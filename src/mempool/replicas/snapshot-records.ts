/** Records of a snapshot as bytes: lengths of key and value (u32, big endian), key, value. And the note that a snapshot is being taken. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Kv, KvRange } from '../../db/kv.js';
import { asBuffer } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { keys } from '../state/layout.js';

const HEAD_BYTES = 8;
const MAX_KEY_BYTES = 4_096;
/** The most bytes of a value: a kept block is the largest. */
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

  /** Bytes of the first record, as far as its length is known: parts are not joined before they hold a whole record. */
  #wanted(): number {
    const [first] = this.#parts;
    return first === undefined ? 0 : (sizeAt(asBuffer(first), 0) ?? 0);
  }
}

/** Bytes of the record that begins at `at`; undefined when its lengths are not there yet. */
function sizeAt(bytes: Buffer, at: number): number | undefined {
  if (bytes.length - at < HEAD_BYTES) return undefined;
  const [key, value] = [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)];
  if (key > 0 && key <= MAX_KEY_BYTES && value <= MAX_VALUE_BYTES) return HEAD_BYTES + key + value;
  throw new TesseraError('protocol_violation', `a record of a snapshot has ${key} bytes of key and ${value} of value`);
}

const DELETED_AT_ONCE = 5_000;

/** Range of all records; those that the store keeps for itself are behind it. */
export const WHOLE: KvRange = { gte: Uint8Array.of(0), lt: Uint8Array.of(0xff) };

/** True for records that a snapshot has; transactions of an older folder and the image of the outputs stay with their node. */
export function isCopied(key: Uint8Array): boolean {
  return key[0] !== keys.carried(0)[0] && !isOfImage(key) && !isNote(key);
}

function isOfImage(key: Uint8Array): boolean {
  return key[0] === keys.image[0] || key[0] === keys.changed(0)[0];
}

export async function isBeingTaken(kv: Kv): Promise<boolean> {
  return (await kv.get(keys.taking)) !== undefined;
}

/** Empties the database and notes that a state is being taken into it. */
export async function beginTaking(kv: Kv): Promise<void> {
  await kv.write(kv.batch().put(keys.taking, new Uint8Array()), { sync: true });
  let batch = kv.batch();
  for await (const [key] of kv.entries(WHOLE)) {
    if (isCopied(key) || isOfImage(key)) batch.del(Uint8Array.from(key));
    if (batch.size < DELETED_AT_ONCE) continue;
    await kv.write(batch, { sync: false });
    batch = kv.batch();
    await nextTurn();
  }
  await kv.write(batch, { sync: true });
}

/** Removes the note: the state is whole. */
export function endTaking(kv: Kv): Promise<void> {
  return kv.write(kv.batch().del(keys.taking), { sync: true });
}

function isNote(key: Uint8Array): boolean {
  return asBuffer(key).equals(keys.taking);
}
