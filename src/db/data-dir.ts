/**
 * The folder that a node keeps everything in: made private, marked with what it belongs to, locked to one process (rule
 * P5), brought to the current format, and the place where databases are opened.
 *
 *   tessera.json    the marker: format, role, network, and the databases that have been created
 *   lock/, lock.pid  who has the folder (`folder-lock.ts`)
 *   lock.url        where its API listens (`folder-lock.ts`)
 *   db/<name>/      one LevelDB per store; the log of a journal (`log-kv.ts`)
 *   db/<name>.seal  what that store must hold (`seal.ts`)
 *   segments/       blocks of a storage node (`storage/segments`)
 *   rehearsal/      a copy of all this, while something is tried in it
 *   damaged-<name>-<n>/  a database that was put aside (`put-aside.ts`)
 *   removed-<name>-<n>/  a database while it is removed
 *
 * A database that the marker lists is opened with `createIfMissing: false`: without that, LevelDB answers a lost CURRENT
 * file with an empty database.
 */

import { existsSync } from 'node:fs';
import { link, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Clock, systemClock } from '../lib/clock.js';
import { TesseraError } from '../lib/errors.js';
import { failpoint } from '../lib/failpoints.js';
import { Mutex } from '../lib/mutex.js';
import { ifMissing } from '../lib/system-error.js';
import { lockFolder } from './folder-lock.js';
import { folderOf } from './kept-files.js';
import type { Kv } from './kv.js';
import { LevelKv, type LevelKvOptions } from './level-kv.js';
import { LogKv } from './log-kv.js';
import { DATA_FORMAT, type Marker, readMarker, refuseHalfRestored, writeMarker } from './marker.js';
import { hasDamageNote, putAside, removeDatabase, removeLeftovers } from './put-aside.js';
import type { WriteMeasures } from './store-writes.js';
import { copySynced, makeFolder, makePrivate, syncFolder } from './write-file-durable.js';

const DATABASE_FOLDER = 'db';
const SEGMENTS_FOLDER = 'segments';
const COPY_FOLDER = 'rehearsal';
const DATABASE_NAME = /^[a-z][a-z0-9-]{0,31}$/;

/** Write buffers in MiB of databases to which each payment is written: the larger, the less often LevelDB merges tables. */
const WRITE_BUFFERS: Readonly<Record<string, number>> = { archive: 96, index: 64, 'index-check': 64, mempool: 16 };

/** Databases whose tables are not compressed: compression saves them no room, and takes a tenth of the time in which records are written. */
const UNCOMPRESSED: readonly string[] = ['mempool'];
/** Databases that are only appended to and cut off from the front. */
const LOGS: readonly string[] = ['journal'];

/** Advice after an error about lost or damaged data, by role: the end of its sentence. */
const WAY_BACK: Readonly<Record<string, string>> = {
  storage:
    'run tessera rebuild, which keeps the blocks that can be read, or restore the data directory from a backup; missing blocks then come from other storage nodes',
  mempool: 'run tessera rebuild, or restore the data directory from a backup',
};
const WAY_BACK_OF_WALLETS =
  "restore the data directory from a backup, and keep what is there: it may hold the only copy of the wallet's keys";

export interface DataDirOptions {
  readonly role: string;
  readonly networkName: string;
  readonly clock?: Clock;
  readonly measures?: WriteMeasures | undefined;
  /** The format that the program writes; for tests of migrations. */
  readonly format?: number;
  readonly migrations?: readonly Migration[];
}

/** A data directory that is open. */
export class DataDir {
  readonly path: string;
  readonly #unlock: () => Promise<void>;
  readonly #opened = new Map<string, Pick<LevelKv, 'problem' | 'recover' | 'close'>>();
  readonly #mutex = new Mutex();
  readonly #measures: WriteMeasures | undefined;
  #marker: Marker;
  #isClosed = false;

  private constructor(path: string, options: DataDirOptions, marker: Marker, unlock: () => Promise<void>) {
    this.path = path;
    this.#measures = options.measures;
    this.#marker = marker;
    this.#unlock = unlock;
  }

  /** Opens or creates the data directory. Throws `data_dir_locked`, `data_dir_invalid` for another node's, `data_corrupt`. */
  static async open(path: string, options: DataDirOptions): Promise<DataDir> {
    await makeFolder(path);
    await makePrivate(path);
    const unlock = await lockFolder(path);
    failpoint('folder.locked', options.role);
    try {
      const directory = new DataDir(path, options, await claim(path, options), unlock);
      await rm(join(path, COPY_FOLDER), { recursive: true, force: true });
      await directory.#migrate(options);
      return directory;
    } catch (error) {
      await unlock();
      throw error;
    }
  }

  /** Opens the database `name`; creates it the first time, or with `mayBeGone` when its folder is gone. Throws `data_lost`, `data_corrupt`. */
  async open(name: string, { mayBeGone = false } = {}): Promise<Kv> {
    return this.#mutex.run(async () => {
      const folder = join(this.path, DATABASE_FOLDER, name);
      const { role, databases } = this.#marker;
      const isKnown = databases.includes(name);
      const kv = await this.#openKv(name, {
        createIfMissing: !isKnown || (mayBeGone && !existsSync(folder)),
        wayBack: WAY_BACK[role] ?? WAY_BACK_OF_WALLETS,
        ...(hasDamageNote(this.path, name) ? { checkBytes: Number.POSITIVE_INFINITY } : {}),
      });
      if (!isKnown) {
        // The marker may only say what would still be true after a power loss.
        for (const one of [folder, dirname(folder), this.path]) await syncFolder(one);
        failpoint('folder.database.made', name);
        await this.#mark({ databases: [...databases, name].sort() });
      }
      return kv;
    });
  }

  /** Opens a database that can be made from others: it is not in the marker, and is begun anew when lost. Throws `data_corrupt`. */
  async openDerived(name: string): Promise<Kv> {
    return this.#mutex.run(async () => {
      await removeLeftovers(this.path, name);
      return this.#openKv(name, { createIfMissing: true, wayBack: 'it is made again' });
    });
  }

  /** Removes a derived database, open or not; false when there was none. The next `openDerived` ends an interrupted removal. */
  removeDerived(name: string): Promise<boolean> {
    return this.#mutex.run(async () => {
      await this.#opened.get(name)?.close();
      this.#opened.delete(name);
      return removeDatabase(this.path, join(this.path, DATABASE_FOLDER), name);
    });
  }

  /** True when there is a database of this name that can be made again. */
  hasDerived(name: string): boolean {
    return existsSync(join(this.path, DATABASE_FOLDER, name));
  }

  /** Puts a damaged, closed database aside, so that the next `open` makes a new one. After a crash, call it again. */
  putAside(name: string): Promise<void> {
    return this.#mutex.run(async () => {
      await this.#opened.get(name)?.close();
      this.#opened.delete(name);
      await putAside(this.path, join(this.path, DATABASE_FOLDER), name);
      await this.#mark({ databases: this.#marker.databases.filter((other) => other !== name) });
    });
  }

  /** Adds files that are written beside the databases, to be closed with them. */
  adopt(name: string, files: Pick<LevelKv, 'problem' | 'recover' | 'close'>): void {
    this.#opened.set(name, files);
  }

  /** Reasons why databases cannot be written now; empty when they can. */
  get problems(): readonly string[] {
    return [...this.#opened.values()].map(({ problem }) => problem).filter((problem) => problem !== null);
  }

  async recover(): Promise<void> {
    for (const kv of this.#opened.values()) await kv.recover();
  }

  /** Opens a copy of the folder, whose databases are closed, and removes it afterwards; files that never change are linked. */
  async withCopy<T>(options: DataDirOptions, use: (copy: DataDir) => Promise<T>): Promise<T> {
    const path = join(this.path, COPY_FOLDER);
    try {
      await copyAll(this.path, path);
      const copy = await DataDir.open(path, options);
      return await use(copy).finally(() => copy.close());
    } finally {
      await rm(path, { recursive: true, force: true });
    }
  }

  /** Closes the databases that are still open and releases the lock. */
  close(): Promise<void> {
    return this.#mutex.run(async () => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      for (const kv of this.#opened.values()) await kv.close();
      await this.#unlock();
    });
  }

  async #openKv(name: string, given: LevelKvOptions): Promise<LevelKv | LogKv> {
    if (this.#isClosed) throw new TesseraError('shutting_down', `the data directory ${this.path} is closed`);
    if (!DATABASE_NAME.test(name)) throw new TesseraError('internal_error', `"${name}" cannot name a database`);
    const path = join(this.path, DATABASE_FOLDER, name);
    const compression = !UNCOMPRESSED.includes(name);
    const options = { ...given, writeBufferMib: WRITE_BUFFERS[name], compression, measures: this.#measures };
    const kv = await (LOGS.includes(name) ? LogKv.open(path, options) : LevelKv.open(path, options));
    this.#opened.set(name, kv);
    return kv;
  }

  async #mark(change: Partial<Marker>): Promise<void> {
    this.#marker = { ...this.#marker, ...change };
    await writeMarker(this.path, this.#marker);
  }

  /** Brings the directory to the format of the program, step by step; a copy from before a step is kept, unless the step declines. */
  async #migrate({ format = DATA_FORMAT, migrations = MIGRATIONS }: DataDirOptions): Promise<void> {
    for (let to = this.#marker.format + 1; to <= format; to++) {
      const migration = migrations.find((candidate) => candidate.to === to);
      if (migration === undefined) {
        throw new TesseraError('data_dir_invalid', `the data directory ${this.path} cannot be brought to format ${to}`);
      }
      if (migration.keepsCopy !== false) await keepCopy(this.path, to);
      await this.#runMigration(migration);
      await this.#mark({ format: to });
    }
  }

  async #runMigration(migration: Migration): Promise<void> {
    const opened: Kv[] = [];
    const open = async (name: string): Promise<Kv> => {
      const kv = await this.open(name);
      opened.push(kv);
      return kv;
    };
    try {
      await migration.run({ path: this.path, open });
    } finally {
      for (const kv of opened) await kv.close();
    }
  }
}

async function claim(path: string, options: DataDirOptions): Promise<Marker> {
  const { role, networkName, clock = systemClock, format = DATA_FORMAT } = options;
  await refuseHalfRestored(path);
  const found = await readMarker(path);
  if (found === undefined) {
    await refuseUnmarked(path);
    const current = { format, role, network: networkName, created: clock.now(), databases: [] };
    await writeMarker(path, current);
    return current;
  }
  const wrong =
    (found.role !== role && `belongs to a ${found.role} node, not to a ${role} node`) ||
    (found.network !== networkName && `belongs to the network "${found.network}", not to "${networkName}"`) ||
    (found.format > format && `has format ${found.format}, and this program knows formats up to ${format}`);
  if (wrong) throw new TesseraError('data_dir_invalid', `the data directory ${path} ${wrong}`);
  return found;
}

/** Refuses databases without a marker: nobody can know whose they are and whether all are there. */
async function refuseUnmarked(path: string): Promise<void> {
  const databases = await readdir(join(path, DATABASE_FOLDER)).catch(() => []);
  if (databases.length === 0) return;
  throw new TesseraError(
    'data_dir_invalid',
    `the data directory ${path} holds databases but no marker file: restore the marker from a backup, or name another directory`,
  );
}

/** A step from the format before `to` to `to`. It runs again after a crash in the middle, so it must tolerate that. */
export interface Migration {
  readonly to: number;
  /** False when no copy of the folder is kept beside it. */
  readonly keepsCopy?: false;
  run(directory: { readonly path: string; open(name: string): Promise<Kv> }): Promise<void>;
}

const MIGRATIONS: readonly Migration[] = [
  // Format 2 has commands and archive records that an older program would take for damage: the step only names the format.
  { to: 2, run: async () => undefined },
  // Blocks of an archive move to segments while the node serves: a copy would take the room for both.
  { to: 3, keepsCopy: false, run: async () => undefined },
];

const FOLDER_MODE = 0o700;
const UNCHANGING = /\.(ldb|sst|blocks)$/;
/** Files that are in use or half written while the folder is open. */
const LEFT_OUT = /^lock\.pid$|\.tmp$|^LOCK$/;

/** Copies the folder to `before-format-N`; an interrupted copy is made again. */
async function keepCopy(path: string, format: number): Promise<void> {
  const target = join(path, `before-format-${format}`);
  if ((await stat(target).catch(() => undefined)) !== undefined) return;
  const unfinished = `${target}.tmp`;
  await rm(unfinished, { recursive: true, force: true });
  await copyAll(path, unfinished);
  await rename(unfinished, target);
  await syncFolder(path);
}

/** Copies marker, keys, segments and closed databases. */
async function copyAll(path: string, target: string): Promise<void> {
  const databases = await readdir(join(path, DATABASE_FOLDER), { withFileTypes: true }).catch(() => []);
  const names = databases.flatMap((entry) => (entry.isDirectory() ? [join(DATABASE_FOLDER, entry.name)] : []));
  for (const name of ['', SEGMENTS_FOLDER, DATABASE_FOLDER, ...names])
    await copyFiles(await folderOf(join(path, name)), join(target, name));
}

/** Copies the files of a folder, without those in subfolders; a missing folder counts as empty. */
async function copyFiles(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: FOLDER_MODE });
  for (const entry of (await readdir(from, { withFileTypes: true }).catch(ifMissing)) ?? []) {
    if (!entry.isFile() || LEFT_OUT.test(entry.name)) continue;
    const files = [join(from, entry.name), join(to, entry.name)] as const;
    // Not every file system has links.
    const isLinked = UNCHANGING.test(entry.name) && (await link(...files).catch(() => false)) !== false;
    if (!isLinked) await copySynced(...files);
  }
  await syncFolder(to);
  await syncFolder(dirname(to));
}
