/**
 * The folder that a node keeps everything in: made private, marked with what it belongs to, locked to one process (rule
 * P5), brought to the current format, and the place where databases are opened. The lock is one that the kernel releases
 * when the process ends, however it ends (rule P7).
 *
 *   tessera.json    the marker: format, role, network, and the databases that have been created
 *   lock/           a LevelDB without content; its kernel lock is the lock of the folder
 *   lock.pid        process id of the owner, for the message that others get
 *   db/<name>/      one LevelDB per store
 *   db/<name>.seal  what that store must hold (`seal.ts`)
 *
 * A database that the marker lists is opened with `createIfMissing: false`: without that, LevelDB answers to a lost CURRENT
 * file with an empty database.
 */

import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Level } from 'level';
import { type Clock, systemClock } from '../lib/clock.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { createMutex } from '../lib/mutex.js';
import type { Kv } from './kv.js';
import { openLevelKv } from './level-kv.js';
import { DATA_FORMAT, type Marker, readMarker, writeMarker } from './marker.js';
import { ObservedKv, type WriteMeasures } from './observed-kv.js';
import { syncFolder } from './write-file-durable.js';

const LOCK_FOLDER = 'lock';
const PID_FILE = 'lock.pid';
const DATABASE_FOLDER = 'db';
const DATABASE_NAME = /^[a-z][a-z0-9-]{0,31}$/;
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** What the group and everybody may do. */
const OTHERS = 0o077;

/** What the reader of an error about lost or damaged data can do, by role: the end of its sentence. */
const WAY_BACK: Readonly<Record<string, string>> = {
  storage:
    'restore the data directory from a backup, or move it away and let the node fetch the blocks from other storage nodes',
  mempool: 'restore the data directory from a backup',
};
const WAY_BACK_OF_WALLETS =
  "restore the data directory from a backup, and keep what is there: it may hold the only copy of the wallet's keys";

/** One step from the format before `to` to `to`. It runs again after a crash in the middle, so it must bear that. */
export interface Migration {
  readonly to: number;
  run(directory: Pick<DataDir, 'path' | 'open'>): Promise<void>;
}

export interface DataDirOptions {
  readonly role: string;
  readonly networkName: string;
  readonly clock?: Clock;
  /** Measures the writes to its databases. */
  readonly measures?: WriteMeasures | undefined;
  /** The format that the program writes; for tests of migrations. */
  readonly format?: number;
  readonly migrations?: readonly Migration[];
}

/** A data directory that is open. */
export class DataDir {
  readonly path: string;
  readonly #unlock: () => Promise<void>;
  readonly #opened = new Map<string, Kv>();
  readonly #mutex = createMutex();
  readonly #measures: WriteMeasures | undefined;
  #marker: Marker;
  #isClosed = false;

  private constructor(path: string, options: DataDirOptions, marker: Marker, unlock: () => Promise<void>) {
    this.path = path;
    this.#measures = options.measures;
    this.#marker = marker;
    this.#unlock = unlock;
  }

  /**
   * Opens or creates the data directory `path`. Throws `data_dir_locked` naming the process that has it, `data_dir_invalid`
   * when it belongs to another role, network or a newer program, `data_corrupt` when its marker is damaged.
   */
  static async open(path: string, options: DataDirOptions): Promise<DataDir> {
    await makeFolder(path);
    await makePrivate(path);
    const unlock = await lock(path);
    try {
      const directory = new DataDir(path, options, await claim(path, options), unlock);
      await directory.#migrate(options);
      return directory;
    } catch (error) {
      await unlock();
      throw error;
    }
  }

  /**
   * Opens the database `name` (lower case, digits, hyphens), creating it the first time. Throws `data_lost` or
   * `data_corrupt` when it was created before and is not whole.
   */
  async open(name: string): Promise<Kv> {
    const kv = await this.#mutex.run(() => this.#open(name));
    return this.#measures === undefined ? kv : new ObservedKv(kv, this.#measures);
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

  async #open(name: string): Promise<Kv> {
    if (this.#isClosed) throw new TesseraError('shutting_down', `the data directory ${this.path} is closed`);
    if (!DATABASE_NAME.test(name)) throw new TesseraError('internal_error', `"${name}" cannot name a database`);
    const folder = join(this.path, DATABASE_FOLDER, name);
    const { role, databases } = this.#marker;
    const isKnown = databases.includes(name);
    const kv = await openLevelKv(folder, { createIfMissing: !isKnown, wayBack: WAY_BACK[role] ?? WAY_BACK_OF_WALLETS });
    this.#opened.set(name, kv);
    if (!isKnown) {
      // The marker may only say what would still be true after a power loss.
      await syncFolder(folder);
      await syncFolder(dirname(folder));
      await syncFolder(this.path);
      await this.#mark({ databases: [...databases, name].sort() });
    }
    return kv;
  }

  async #mark(change: Partial<Marker>): Promise<void> {
    this.#marker = { ...this.#marker, ...change };
    await writeMarker(this.path, this.#marker);
  }

  /** Brings the directory to the format of the program, one step after the other. */
  async #migrate({ format = DATA_FORMAT, migrations = [] }: DataDirOptions): Promise<void> {
    for (let to = this.#marker.format + 1; to <= format; to++) {
      const migration = migrations.find((candidate) => candidate.to === to);
      if (migration === undefined) {
        throw new TesseraError('data_dir_invalid', `the data directory ${this.path} cannot be brought to format ${to}`);
      }
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

/** Makes the folder and those above it; each survives power loss. */
async function makeFolder(path: string): Promise<void> {
  try {
    const first = await mkdir(path, { recursive: true, mode: FOLDER_MODE });
    if (first === undefined) return;
    for (let folder = resolve(path); folder.length >= resolve(first).length; folder = dirname(folder)) {
      await syncFolder(dirname(folder));
    }
  } catch (error) {
    throw invalid(`the data directory ${path} cannot be made: ${errorMessage(error)}`, error);
  }
}

/**
 * Takes the rights of others away, which a copy, a restore or an older version may have left: keys are in the folder. Throws
 * `data_dir_invalid` when the folder belongs to another user.
 */
async function makePrivate(path: string): Promise<void> {
  try {
    await tighten(path, FOLDER_MODE);
    for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
      if (entry.isDirectory()) await tighten(join(entry.parentPath, entry.name), FOLDER_MODE);
      else if (entry.isFile()) await tighten(join(entry.parentPath, entry.name), FILE_MODE);
    }
  } catch (error) {
    const user = userInfo().username;
    throw invalid(
      `the data directory ${path} cannot be used by the user ${user} (${errorMessage(error)}): run the node as the owner of the directory, or give it to ${user}`,
      error,
    );
  }
}

async function tighten(path: string, mode: number): Promise<void> {
  const stats = await stat(path).catch((error: unknown) => {
    // The owner of the lock removes its files while it runs.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (stats !== undefined && (stats.mode & OTHERS) !== 0) await chmod(path, mode);
}

function invalid(message: string, cause: unknown): TesseraError {
  return new TesseraError('data_dir_invalid', message, { cause });
}

/** Takes the lock; the result releases it. */
async function lock(path: string): Promise<() => Promise<void>> {
  const holder = await openLock(path);
  const pidFile = join(path, PID_FILE);
  await writeFile(pidFile, `${process.pid}\n`, { mode: FILE_MODE });
  return async () => {
    await rm(pidFile, { force: true });
    await holder.close();
  };
}

async function openLock(path: string): Promise<Level> {
  const location = join(path, LOCK_FOLDER);
  const attempt = async (): Promise<Level> => {
    const level = new Level(location);
    await level.open();
    return level;
  };
  try {
    return await attempt();
  } catch (error) {
    await throwIfLocked(path, error);
  }
  // The lock holds no data: what a crash or a full disk did to it must not keep the node from starting (rule P7).
  await rm(location, { recursive: true, force: true });
  try {
    return await attempt();
  } catch (error) {
    await throwIfLocked(path, error);
    throw new TesseraError('data_dir_invalid', `the data directory ${path} cannot be locked: ${causeMessage(error)}`, {
      cause: error,
    });
  }
}

async function throwIfLocked(path: string, error: unknown): Promise<void> {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error && 'code' in cause && cause.code === 'LEVEL_LOCKED')) return;
  const pid = await readFile(join(path, PID_FILE), 'utf8').then(
    (text) => text.trim(),
    () => 'of unknown id',
  );
  throw new TesseraError(
    'data_dir_locked',
    `process ${pid} uses the data directory ${path}: stop it, or give this node another directory`,
    { cause: error, details: { pid } },
  );
}

function causeMessage(error: unknown): string {
  return errorMessage(error instanceof Error && error.cause !== undefined ? error.cause : error);
}

/** Reads the marker and holds it against what the node is, or writes the first one. */
async function claim(path: string, options: DataDirOptions): Promise<Marker> {
  const { role, networkName, clock = systemClock, format = DATA_FORMAT } = options;
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

/** Databases without a marker: whose they are and whether all are there cannot be known. */
async function refuseUnmarked(path: string): Promise<void> {
  const databases = await readdir(join(path, DATABASE_FOLDER)).catch(() => []);
  if (databases.length === 0) return;
  throw new TesseraError(
    'data_dir_invalid',
    `the data directory ${path} holds databases but no marker file: restore the marker from a backup, or name another directory`,
  );
}
