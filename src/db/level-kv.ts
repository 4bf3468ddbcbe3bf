/**
 * The key-value store on disk: LevelDB with a checksum around every value, its files checked before opening, and its errors
 * turned into ours. LevelDB hides damage; this file is what makes it visible (rule P3).
 */

import { basename } from 'node:path';
import { Level } from 'level';
import { errorMessage, TesseraError } from '../lib/errors.js';
import type { Kv, KvEntry } from './kv.js';
import { checkLevelLogs } from './level-files/log-check.js';
import { checkLevelTables } from './level-files/table-check.js';
import { openRecord, PendingBatch, writesOf } from './record.js';

/** Entries that an iteration takes from LevelDB at once, and the bytes that end a chunk earlier. */
const CHUNK_ENTRIES = 1_000;
const CHUNK_BYTES = 256 * 1024;
/** Bytes of tables that are checked before opening: under a second. The archive's `verify` reads the rest. */
const DEFAULT_CHECK_BYTES = 256 * 1024 * 1024;
const BINARY = { keyEncoding: 'view', valueEncoding: 'view' } as const;

export interface LevelKvOptions {
  /** False for a database that must be there already: if it is not, that is `data_corrupt`. */
  readonly createIfMissing: boolean;
  /** Bytes of LevelDB's cache of uncompressed blocks; 8 MiB by default. */
  readonly cacheBytes?: number;
  /** Bytes of tables whose checksums are read before opening, the newest first; 256 MiB by default. */
  readonly checkBytes?: number;
}

type Binary = Level<Uint8Array, Uint8Array>;

/**
 * Opens the database in the folder `path`. Throws `data_dir_locked` when it is open elsewhere, `data_corrupt` when it is
 * missing or damaged, `database_failed` when the system refuses (permissions, full disk, too many files).
 */
export async function openLevelKv(path: string, options: LevelKvOptions): Promise<Kv> {
  const cache = options.cacheBytes === undefined ? {} : { cacheSize: options.cacheBytes };
  try {
    await checkLevelLogs(path);
    await checkLevelTables(path, options.checkBytes ?? DEFAULT_CHECK_BYTES);
    // The constructor begins to open: it must come after the checks.
    const level: Binary = new Level(path, { ...BINARY, ...cache, createIfMissing: options.createIfMissing });
    await level.open();
    return levelKv(level, path);
  } catch (error) {
    throw openError(path, error);
  }
}

function levelKv(level: Binary, path: string): Kv {
  const name = basename(path);
  const guard = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw useError(path, error);
    }
  };

  return {
    async get(key) {
      const record = await guard(() => level.get(key));
      return record && openRecord(name, key, record);
    },
    async getMany(keys) {
      const records = await guard(() => level.getMany([...keys]));
      return records.map((record, i) => {
        const key = keys[i];
        return record && key && openRecord(name, key, record);
      });
    },
    batch: () => new PendingBatch(),
    async write(batch, { sync }) {
      const operations = writesOf(batch).map(({ key, record }) =>
        record === undefined ? ({ type: 'del', key } as const) : ({ type: 'put', key, value: record } as const),
      );
      await guard(() => level.batch(operations, { ...BINARY, sync }));
    },
    async *entries(range): AsyncGenerator<KvEntry> {
      const { gte, lt, reverse = false, limit = -1 } = range;
      const options = { gte, lt, reverse, limit, ...BINARY, highWaterMarkBytes: CHUNK_BYTES };
      const iterator = await guard(async () => level.iterator(options));
      try {
        for (;;) {
          const chunk = await guard(() => iterator.nextv(CHUNK_ENTRIES));
          if (chunk.length === 0) return;
          for (const [key, record] of chunk) yield [key, openRecord(name, key, record)];
        }
      } finally {
        await iterator.close();
      }
    },
    close: () => guard(() => level.close()),
  };
}

/** What LevelDB says lies in the cause of abstract-level's error. */
function levelCode(error: unknown): { readonly code: string; readonly message: string } {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return { code, message: errorMessage(cause) };
}

function openError(path: string, error: unknown): TesseraError {
  if (error instanceof TesseraError) return error;
  const { code, message } = levelCode(error);
  if (code === 'LEVEL_LOCKED') {
    return new TesseraError('data_dir_locked', `the database ${path} is open already, here or in another process`, {
      cause: error,
    });
  }
  // A missing CURRENT has no code of its own; a missing table or manifest is an I/O error of this text.
  const missing = message.includes('does not exist') || message.includes('No such file');
  if (code === 'LEVEL_CORRUPTION' || missing) return corrupt(path, message, error);
  return new TesseraError('database_failed', `the database ${path} cannot be opened: ${message}`, { cause: error });
}

function useError(path: string, error: unknown): unknown {
  if (error instanceof TesseraError) return error;
  const { code, message } = levelCode(error);
  if (code === 'LEVEL_CORRUPTION') return corrupt(path, message, error);
  if (code === 'LEVEL_DATABASE_NOT_OPEN' || code === 'LEVEL_ITERATOR_NOT_OPEN') {
    return new TesseraError('shutting_down', `the database ${path} is closed`, { cause: error });
  }
  if (code.startsWith('LEVEL_')) {
    return new TesseraError('database_failed', `the database ${path} failed: ${message}`, { cause: error });
  }
  return error;
}

function corrupt(path: string, message: string, cause: unknown): TesseraError {
  return new TesseraError(
    'data_corrupt',
    `the database ${path} is damaged (${message}): restore it from a backup, or remove the data directory and let the node catch up`,
    { cause, details: { database: basename(path) } },
  );
}
