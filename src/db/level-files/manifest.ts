/**
 * What LevelDB says about its own files. CURRENT names the MANIFEST, a log of edits; together they give the tables that
 * must be there with their sizes and first and last keys, and the number of the oldest log that must be there.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readLog } from './log.js';
import { VarintReader } from './varints.js';

const CURRENT = 'CURRENT';
const MANIFEST_NAME = /^(MANIFEST-\d+)\n$/;

export interface TableFile {
  readonly number: number;
  readonly size: number;
  /** Internal keys: the user's key and 8 bytes of sequence and kind. */
  readonly smallest: Uint8Array;
  readonly largest: Uint8Array;
}

export interface Manifest {
  readonly tables: readonly TableFile[];
  /** Logs from this number on hold what is in no table; 0 before the first one. */
  readonly logNumber: number;
}

/** A file that the database needs is not there. */
export class MissingFile extends RangeError {}

/** Undefined when there is no database yet; a `RangeError` says that the files are missing or damaged. */
export async function readManifest(path: string): Promise<Manifest | undefined> {
  const current = await readFile(join(path, CURRENT), 'latin1').catch(ifMissing);
  if (current === undefined) return undefined;
  const name = MANIFEST_NAME.exec(current)?.[1];
  if (name === undefined) throw new RangeError('CURRENT names no MANIFEST');
  const file = await readFile(join(path, name)).catch(ifMissing);
  if (file === undefined) throw new MissingFile(`${name} is missing`);
  const { records, fault } = readLog(file);
  // An edit that a crash cut was not in effect yet: nothing was deleted on the strength of it.
  if (fault?.kind === 'damaged') throw new RangeError(`${name} is damaged at byte ${fault.at}`);
  if (records.length === 0) throw new RangeError(`${name} is empty`);
  const edits = new Edits();
  for (const { data } of records) edits.apply(data);
  return edits.result();
}

function ifMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return;
  throw error;
}

class Edits {
  readonly #tables = new Map<number, TableFile>();
  #logNumber = 0;

  result(): Manifest {
    return { tables: [...this.#tables.values()], logNumber: this.#logNumber };
  }

  apply(edit: Uint8Array): void {
    const reader = new VarintReader(edit);
    const added: TableFile[] = [];
    while (!reader.isAtEnd) this.#field(reader, added);
    // A table may move to another level: deleted there and added here in one edit.
    for (const table of added) this.#tables.set(table.number, table);
  }

  #field(reader: VarintReader, added: TableFile[]): void {
    switch (reader.varint()) {
      case 1: // the comparator's name
        reader.slice();
        return;
      case 2:
        this.#logNumber = reader.varint();
        return;
      case 3: // the next file number
      case 4: // the last sequence
      case 9: // the previous log, which is no longer used
        reader.varint();
        return;
      case 5: // level and key of the next compaction
        reader.varint();
        reader.slice();
        return;
      case 6:
        reader.varint();
        this.#tables.delete(reader.varint());
        return;
      case 7:
        reader.varint();
        added.push({
          number: reader.varint(),
          size: reader.varint(),
          smallest: reader.slice(),
          largest: reader.slice(),
        });
        return;
      default:
        throw new RangeError('unknown field');
    }
  }
}
