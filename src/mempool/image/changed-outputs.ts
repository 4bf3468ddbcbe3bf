/**
 * Which outputs a command has added or removed: the record `U` of its batch. An image and all such records since it was begun
 * tell which records of the database have to be read for the outputs as they are now.
 */

import { decodeTxOut } from '../../chain/codec.js';
import type { Kv, KvBatch } from '../../db/kv.js';
import { writesOf } from '../../db/record.js';
import type { UtxoTable } from '../../ledger/utxo/utxo-table.js';
import { asBuffer } from '../../lib/bytes.js';
import type { Pieces } from '../../lib/pieces.js';
import { isUtxoKey, keys, outPointOfKey, ranges } from '../state/layout.js';

const LENGTH_BYTES = 2;
/** Writes of a batch that one piece looks at. */
const PIECE_WRITES = 2_048;
/** Outputs that one read of the database takes. */
const READ_CHUNK = 500;

/** Puts the record of the outputs that a batch changes into it, in pieces; returns how many they are. */
export function* noteChanged(batch: KvBatch, seq: number): Pieces<number> {
  const changed: Uint8Array[] = [];
  let bytes = 0;
  for (const [i, { key }] of writesOf(batch).entries()) {
    if (i % PIECE_WRITES === PIECE_WRITES - 1) yield;
    if (!isUtxoKey(key)) continue;
    changed.push(key);
    bytes += LENGTH_BYTES + key.length;
  }
  if (changed.length === 0) return 0;
  const record = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const [i, key] of changed.entries()) {
    if (i % PIECE_WRITES === PIECE_WRITES - 1) yield;
    at = record.writeUInt16LE(key.length, at);
    record.set(key, at);
    at += key.length;
  }
  batch.put(keys.changed(seq), record);
  return changed.length;
}

/**
 * Brings a table from where it was after command `seq`, or any time later, to what the records say now. Returns how many outputs were
 * looked at.
 */
export async function takeChanged(kv: Pick<Kv, 'entries' | 'getMany'>, seq: number, table: UtxoTable): Promise<number> {
  const changed = new Set<string>();
  for await (const [, record] of kv.entries(ranges.changedSince(seq))) {
    for (const key of keysIn(asBuffer(record))) changed.add(key.toString('latin1'));
  }
  const all = [...changed];
  for (let from = 0; from < all.length; from += READ_CHUNK) {
    const chunk = all.slice(from, from + READ_CHUNK).map((key) => Buffer.from(key, 'latin1'));
    const records = await kv.getMany(chunk);
    for (const [i, key] of chunk.entries()) take(table, key, records[i]);
  }
  return all.length;
}

function take(table: UtxoTable, key: Uint8Array, record: Uint8Array | undefined): void {
  const outPoint = outPointOfKey(key);
  const slot = table.find(outPoint);
  if (record === undefined && slot !== 0) table.remove(slot);
  if (record !== undefined && slot === 0) table.insert(outPoint, decodeTxOut(record));
}

function* keysIn(record: Buffer): Generator<Buffer> {
  for (let at = 0; at < record.length; ) {
    const end = at + LENGTH_BYTES + record.readUInt16LE(at);
    const key = record.subarray(at + LENGTH_BYTES, end);
    if (end > record.length || !isUtxoKey(key)) throw new RangeError('a list of changed outputs is not one');
    yield key;
    at = end;
  }
}
