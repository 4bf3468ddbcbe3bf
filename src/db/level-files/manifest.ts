/** The files of a database. CURRENT names the MANIFEST, a log of edits, which names the tables and the oldest log. */

import { readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { utf8 } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { atOnce } from '../../lib/pieces.js';
import { readWhole } from '../../lib/read-bounded.js';
import { isSystemError } from '../../lib/system-error.js';
import { encodeRecord, readLog } from './log.js';
import { encodeSlice, VarintReader, varint } from './varints.js';

export interface DatabaseFiles {
  list(): Promise<readonly string[]>;
  /** The content of a file; undefined when it is not there. */
  read(name: string): Promise<Buffer | undefined>;
  /** Bytes of a file; undefined when it is not there. */
  size(name: string): Promise<number | undefined>;
  /** Cuts off what follows the first `length` bytes. */
  cut(name: string, length: number): Promise<void>;
}

/** The files in a folder. */
export class FolderFiles implements DatabaseFiles {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async list(): Promise<readonly string[]> {
    return (await readdir(this.#path).catch(ifMissing)) ?? [];
  }

  read(name: string): Promise<Buffer | undefined> {
    return readWhole(join(this.#path, name)).catch(ifMissing);
  }

  async size(name: string): Promise<number | undefined> {
    return (await stat(join(this.#path, name)).catch(ifMissing))?.size;
  }

  cut(name: string, length: number): Promise<void> {
    return truncate(join(this.#path, name), length);
  }
}

/** The files in a folder that is only looked at: nothing is cut, as a node cuts off what a crash has left after the last write. */
export class LookedAtFiles extends FolderFiles {
  override async cut(name: string): Promise<void> {
    if (!name.endsWith('.log')) throw new TesseraError('internal_error', `${name} is not to be cut`);
  }
}

function ifMissing(error: unknown): undefined {
  if (!isSystemError(error, 'ENOENT', 'ENOTDIR')) throw error;
}

export const CURRENT = 'CURRENT';
const MANIFEST_NAME = /^(MANIFEST-\d+)\n$/;

export interface TableFile {
  readonly number: number;
  readonly size: number;
  /** Lowest and highest internal key: the user's key and 8 bytes of sequence and kind. */
  readonly smallest: Uint8Array;
  readonly largest: Uint8Array;
}

export interface Manifest {
  readonly tables: readonly TableFile[];
  /** Number of the oldest log whose writes are in no table; 0 before the first one. */
  readonly logNumber: number;
}

/** The error of a file that the database needs and that is not there. */
export class MissingFile extends RangeError {}

/** Name of a table's file; old versions of LevelDB have written `sst`. */
export function tableName({ number }: Pick<TableFile, 'number'>, ending: 'ldb' | 'sst' = 'ldb'): string {
  return `${String(number).padStart(6, '0')}.${ending}`;
}

/** Name of the file of a log. */
export const logName = (number: number): string => `${String(number).padStart(6, '0')}.log`;

/** The tables among the files of a database that the MANIFEST names. */
export function tablesOf({ tables }: Manifest, files: readonly string[]): string[] {
  const names = new Set(tables.flatMap((table) => [tableName(table), tableName(table, 'sst')]));
  return files.filter((name) => names.has(name));
}

/** The logs among the files of a database that hold what is in no table, oldest first. */
export function logsFrom(logNumber: number, files: readonly string[]): string[] {
  return files
    .filter((name) => /^\d+\.log$/.test(name) && Number.parseInt(name, 10) >= logNumber)
    .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
}

/** The MANIFEST that CURRENT names; undefined when there is no CURRENT. */
export async function manifestName(files: DatabaseFiles): Promise<string | undefined> {
  const current = await files.read(CURRENT);
  if (current === undefined) return undefined;
  const name = MANIFEST_NAME.exec(current.toString('latin1'))?.[1];
  if (name === undefined) throw new RangeError('CURRENT names no MANIFEST');
  return name;
}

/** The content of the MANIFEST; undefined when there is no database yet. A `RangeError` says that files are missing or damaged. */
export async function readManifest(files: DatabaseFiles): Promise<Manifest | undefined> {
  const name = await manifestName(files);
  if (name === undefined) return undefined;
  const file = await files.read(name);
  if (file === undefined) throw new MissingFile(`${name} is missing`);
  const { records, fault } = readLog(file);
  // An edit that a crash cut short was not in effect yet: nothing was deleted because of it.
  if (fault?.kind === 'damaged') throw new RangeError(`${name} is damaged at byte ${fault.at}`);
  if (records.length === 0) throw new RangeError(`${name} is empty`);
  const edits = new Edits();
  for (const { data } of records) edits.apply(data);
  return edits.result();
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

/** The MANIFEST of a database that has logs only, from `logNumber` on; no file has the number `next` yet. */
export function encodeManifest(logNumber: number, next: number): Uint8Array {
  const comparator = encodeSlice(utf8('leveldb.BytewiseComparator'));
  const edit = [1, ...comparator, 2, ...varint(logNumber), 3, ...varint(next), 4, 0];
  return atOnce(encodeRecord(Uint8Array.from(edit), 0));
}
