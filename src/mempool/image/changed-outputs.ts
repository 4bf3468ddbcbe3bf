/**
 * Outputs that a command has added or removed: the record `U` of its batch. An image and all such records since it was begun
 * tell which records of the database have to be read for the outputs as they are now.
 *
 *   U    for each output: 1 added or 0 removed (u8) ‖ length (u16) ‖ key of its record
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { decodeTxOut } from '../../chain/codec.js';
import type { Kv, KvBatch } from '../../db/kv.js';
import { type PendingWrite, pendingBatch } from '../../db/record.js';
import type { UtxoTable } from '../../ledger/utxo/utxo-table.js';
import { asBuffer } from '../../lib/bytes.js';
import type { Pieces } from '../../lib/pieces.js';
import { isUtxoKey, keys, outPointOfKey, ranges } from '../state/layout.js';

const HEAD_BYTES = 3;
const REMOVED = 0;
const ADDED = 1;
const PIECE_WRITES = 2_048;
/** Outputs that are read from the database at once, which takes about a millisecond of the main thread. */
const READ_CHUNK = 500;
/** Outputs whose records are read before there is a table to add them to: some 20 MB. */
const READ_AHEAD = 100_000;

/** Adds to a batch the record of the outputs that it changes, in pieces; returns their number. */
export function* noteChanged(batch: KvBatch, seq: number): Pieces<number> {
  const changed: PendingWrite[] = [];
  let bytes = 0;
  let seen = 0;
  for (const write of pendingBatch(batch).writes()) {
    if (++seen % PIECE_WRITES === 0) yield;
    if (!isUtxoKey(write.key)) continue;
    changed.push(write);
    bytes += HEAD_BYTES + write.key.length;
  }
  if (changed.length === 0) return 0;
  const buffer = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const [i, { key, record }] of changed.entries()) {
    if (i % PIECE_WRITES === PIECE_WRITES - 1) yield;
    at = buffer.writeUInt8(record === undefined ? REMOVED : ADDED, at);
    at = buffer.writeUInt16LE(key.length, at);
    buffer.set(key, at);
    at += key.length;
  }
  batch.put(keys.changed(seq), buffer);
  return changed.length;
}

/** Outputs that were changed between a command and the last one, with the first of their records. */
export class ChangedOutputs {
  readonly #kv: Pick<Kv, 'getMany'>;
  readonly #removed: readonly Uint8Array[];
  readonly #added: readonly Uint8Array[];
  /** Records of the first outputs in `#added`. */
  readonly #records: (Uint8Array | undefined)[] = [];

  private constructor(kv: Pick<Kv, 'getMany'>, removed: readonly Uint8Array[], added: readonly Uint8Array[]) {
    this.#kv = kv;
    this.#removed = removed;
    this.#added = added;
  }

  /** Reads what has changed since command `seq`. Most of its time is spent waiting for the database, so other work can go on. */
  static async read(kv: Pick<Kv, 'entries' | 'getMany'>, seq: number): Promise<ChangedOutputs> {
    const isAdded = new Map<string, boolean>();
    for await (const [, record] of kv.entries(ranges.changedSince(seq))) {
      // The last change of an output counts.
      for (const { key, added } of changesIn(asBuffer(record))) isAdded.set(key.toString('latin1'), added);
    }
    const names = (added: boolean): Uint8Array[] =>
      [...isAdded].flatMap(([name, one]) => (one === added ? [Buffer.from(name, 'latin1')] : []));
    const changed = new ChangedOutputs(kv, names(false), names(true));
    await changed.#readAhead();
    return changed;
  }

  get size(): number {
    return this.#removed.length + this.#added.length;
  }

  /** Applies the changes to a table that is in the state after the command or any later one. */
  async take(table: UtxoTable): Promise<void> {
    for (let from = 0; from < this.#removed.length; from += READ_CHUNK) {
      const chunk = this.#removed.slice(from, from + READ_CHUNK);
      take(table, chunk, []);
      await nextTurn();
    }
    for (let from = 0; from < this.#added.length; from += READ_CHUNK) {
      const chunk = this.#added.slice(from, from + READ_CHUNK);
      const isRead = from < this.#records.length;
      const records = isRead ? this.#records.slice(from, from + READ_CHUNK) : await this.#kv.getMany(chunk);
      take(table, chunk, records);
      await nextTurn();
    }
  }

  async #readAhead(): Promise<void> {
    for (let from = 0; from < Math.min(this.#added.length, READ_AHEAD); from += READ_CHUNK) {
      this.#records.push(...(await this.#kv.getMany(this.#added.slice(from, from + READ_CHUNK))));
    }
  }
}

function take(table: UtxoTable, chunk: readonly Uint8Array[], records: readonly (Uint8Array | undefined)[]): void {
  const outPoints = chunk.map(outPointOfKey);
  table.approach(outPoints);
  for (const [i, outPoint] of outPoints.entries()) {
    const record = records[i];
    const slot = table.find(outPoint);
    if (record === undefined && slot !== 0) table.remove(slot);
    if (record !== undefined && slot === 0) table.insert(outPoint, decodeTxOut(record));
  }
}

function* changesIn(record: Buffer): Generator<{ readonly key: Buffer; readonly added: boolean }> {
  for (let at = 0; at < record.length; ) {
    const begin = at + HEAD_BYTES;
    const end = begin + record.readUInt16LE(at + 1);
    const key = record.subarray(begin, end);
    const kind = record.readUInt8(at);
    if (end > record.length || kind > ADDED || !isUtxoKey(key))
      throw new RangeError('a list of changed outputs is not one');
    yield { key, added: kind === ADDED };
    at = end;
  }
}
