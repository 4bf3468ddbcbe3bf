/**
 * A copy of a LevelDB database that may be open in another process, without that process taking part. It relies on this:
 * tables and logs are never changed, only appended to (the newest log), removed (what a compaction has replaced) and added;
 * MANIFEST grows by whole edits; no number is used twice. So the tables and logs that one state of MANIFEST names are, all
 * together, what kill -9 would have left at some moment of the copying. If one of these files is gone, a newer state is
 * taken, until all are there.
 *
 * The seal is read before the logs, so that it names no batch that the copy lacks. Every backup must pass the check that a
 * node makes when it starts.
 */

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TesseraError } from '../../lib/errors.js';
import { readWhole } from '../../lib/read-bounded.js';
import { ifMissing } from '../../lib/system-error.js';
import { folderOf } from '../kept-files.js';
import {
  type DatabaseFiles,
  FolderFiles,
  logName,
  logsFrom,
  type Manifest,
  readManifest,
  type TableFile,
  tableName,
} from '../level-files/manifest.js';
import { checkTable } from '../level-files/table.js';
import { sealPath } from '../seal.js';
import type { BackupStore } from './backup-store.js';
import type { BackedUpFile } from './listing.js';

const DATABASES = 'db';
/** Number of states of a database that are tried until all files of one state are there. Each try copies what earlier ones missed. */
const MAX_PASSES = 100;

export interface DatabaseCopyModules {
  readonly store: BackupStore;
  /** Files of the previous backup, by path. */
  readonly known: ReadonlyMap<string, BackedUpFile>;
  readonly signal: AbortSignal;
  readonly written: Set<string>;
  /** Called with the size of each file that is done. */
  readonly onFile: (bytes: number) => void;
}

interface SmallFile {
  /** Path below the folder of databases. */
  readonly path: string;
  readonly bytes: Buffer;
}

export class DatabaseCopy {
  readonly name: string;
  readonly #folder: string;
  readonly #modules: DatabaseCopyModules;
  readonly #tables = new Map<number, BackedUpFile>();

  constructor(dataDir: string, name: string, modules: DatabaseCopyModules) {
    this.name = name;
    this.#folder = join(dataDir, DATABASES, name);
    this.#modules = modules;
  }

  /** Bytes in tables now: nearly all that there is to copy. */
  async size(): Promise<number> {
    return ((await this.#manifest())?.tables ?? []).reduce((sum, { size }) => sum + size, 0);
  }

  /** Copies the tables that are there now, so that `finish` has little left to do. */
  async copyTables(): Promise<void> {
    for (const table of (await this.#manifest())?.tables ?? []) await this.#table(table);
  }

  /**
   * Copies what is missing; returns the files of one moment. Throws `data_corrupt` or `data_lost` when the database is not whole.
   */
  async finish(): Promise<readonly BackedUpFile[]> {
    for (let pass = 0; pass < MAX_PASSES; pass++) {
      const files = await this.#capture();
      if (files !== undefined) return files;
    }
    throw new TesseraError(
      'data_lost',
      `files of the database ${this.name} are missing: stop the node and check it with tessera verify`,
    );
  }

  async #manifest(): Promise<Manifest | undefined> {
    try {
      return await readManifest(new FolderFiles(await folderOf(this.#folder)));
    } catch (error) {
      // The node may have begun a new MANIFEST at this moment; `finish` tells that from damage.
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  /** The files of the database as it is now; undefined when one has disappeared meanwhile. */
  async #capture(): Promise<readonly BackedUpFile[] | undefined> {
    const small: SmallFile[] = [];
    const seal = await readWhole(sealPath(this.#folder)).catch(ifMissing);
    if (seal !== undefined) small.push({ path: `${this.name}.seal`, bytes: seal });
    const captured = new Captured(await folderOf(this.#folder));
    const manifest = await readManifest(captured).catch(ifDamaged);
    // A database that was never written to has a seal at most; the check tells it from a database whose files are gone.
    if (manifest === undefined) return captured.files.size === 0 ? this.#keepAll(small) : undefined;
    const tables: BackedUpFile[] = [];
    for (const table of manifest.tables) {
      const file = await this.#table(table);
      if (file === undefined) return undefined;
      tables.push(file);
    }
    const logs = logsFrom(manifest.logNumber, await captured.list());
    if (manifest.logNumber > 0 && logs[0] !== logName(manifest.logNumber)) return undefined;
    for (const log of logs) if ((await captured.read(log)) === undefined) return undefined;
    for (const [name, bytes] of captured.files) small.push({ path: `${this.name}/${name}`, bytes });
    return [...tables, ...(await this.#keepAll(small))];
  }

  async #keepAll(files: readonly SmallFile[]): Promise<BackedUpFile[]> {
    const kept: BackedUpFile[] = [];
    for (const { path, bytes } of files) kept.push(await this.#keep(path, bytes));
    return kept;
  }

  /** Copies a table once; undefined when it is gone. */
  async #table(table: TableFile): Promise<BackedUpFile | undefined> {
    const { signal, onFile } = this.#modules;
    if (signal.aborted) throw new TesseraError('aborted', 'the backup was interrupted: nothing has changed');
    const done = this.#tables.get(table.number);
    if (done !== undefined) return done;
    for (const name of [tableName(table), tableName(table, 'sst')]) {
      const file = await this.#copyTable(name, table);
      if (file === undefined) continue;
      this.#tables.set(table.number, file);
      onFile(file.bytes);
      return file;
    }
    return undefined;
  }

  async #copyTable(name: string, table: TableFile): Promise<BackedUpFile | undefined> {
    const { store, known } = this.#modules;
    const place = join(await folderOf(this.#folder), name);
    const stats = await stat(place, { bigint: true }).catch(ifMissing);
    if (stats === undefined) return undefined;
    const path = `${DATABASES}/${this.name}/${name}`;
    const before = known.get(path);
    const isSame = before?.changed === String(stats.mtimeNs) && before.bytes === Number(stats.size);
    if (isSame && (await store.has(before.content, before.bytes))) return before;
    const bytes = await readWhole(place).catch(ifMissing);
    if (bytes === undefined) return undefined;
    try {
      checkTable(bytes, table);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new TesseraError(
        'data_corrupt',
        `the table ${this.name}/${name} is damaged (${error.message}) and is not backed up: see tessera verify`,
      );
    }
    return this.#keep(`${this.name}/${name}`, bytes, stats.mtimeNs);
  }

  async #keep(path: string, bytes: Buffer, changed = 0n): Promise<BackedUpFile> {
    const { store, written } = this.#modules;
    const { name: content, isNew } = await store.put(bytes);
    if (isNew) written.add(content);
    return { path: `${DATABASES}/${path}`, bytes: bytes.length, content, changed: String(changed) };
  }
}

/** Files of a folder; the contents that were read are kept. */
class Captured implements DatabaseFiles {
  readonly files = new Map<string, Buffer>();
  readonly #folder: FolderFiles;

  constructor(path: string) {
    this.#folder = new FolderFiles(path);
  }

  list(): Promise<readonly string[]> {
    return this.#folder.list();
  }

  async read(name: string): Promise<Buffer | undefined> {
    const bytes = await this.#folder.read(name);
    if (bytes !== undefined) this.files.set(name, bytes);
    return bytes;
  }

  size(name: string): Promise<number | undefined> {
    return this.#folder.size(name);
  }

  async cut(): Promise<void> {
    throw new TesseraError('internal_error', 'a backup changes nothing in the data directory');
  }
}

function ifDamaged(error: unknown): undefined {
  if (error instanceof RangeError) return;
  throw error;
}
