/** Meaning of LevelDB's errors. */

import { basename } from 'node:path';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { unreadable } from './database-error.js';

/** The system could not do it now: that does not mean that data is damaged. */
const OF_THE_SYSTEM = /Too many open files|Cannot allocate memory|No space left|File too large|Disk quota|Read-only/i;

/** The disk does not give back what is on it: the next time it may. */
const OF_THE_DISK = /Input\/output error/i;

/** LevelDB's own message is in the cause of abstract-level's error. */
function levelCode(error: unknown): { readonly code: string; readonly message: string } {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return { code, message: errorMessage(cause) };
}

/** The error of opening the database in the folder `path`. */
export function openError(path: string, wayBack: string, error: unknown): TesseraError {
  if (error instanceof TesseraError) return error;
  const { code, message } = levelCode(error);
  if (code === 'LEVEL_LOCKED') {
    return new TesseraError('data_dir_locked', `the database ${path} is open already, here or in another process`, {
      cause: error,
    });
  }
  // A missing CURRENT has no code of its own; a missing table or manifest is an I/O error of this text.
  if (message.includes('does not exist') || message.includes('No such file')) {
    return new TesseraError('data_lost', `the database ${path} is not there any more (${message}): ${wayBack}`, {
      cause: error,
      details: { database: basename(path) },
    });
  }
  if (code === 'LEVEL_CORRUPTION') return corrupt(path, wayBack, message, error);
  return new TesseraError('database_failed', `the database ${path} cannot be opened: ${message}`, { cause: error });
}

/** The error of a write. */
export function writeError(path: string, wayBack: string, error: unknown): unknown {
  if (error instanceof TesseraError) return error;
  const { code, message } = levelCode(error);
  if (code === 'LEVEL_CORRUPTION') return corrupt(path, wayBack, message, error);
  if (isClosed(error)) return closedError(path, error);
  if (code === '' && !(error instanceof Error && 'code' in error)) return error;
  return new TesseraError('database_failed', `the database ${path} cannot be written: ${message}`, { cause: error });
}

/** The error of a read: a file that is not there or is too short is damage, whatever LevelDB calls it (rule P3). */
export function readError(path: string, wayBack: string, error: unknown): unknown {
  if (error instanceof TesseraError) return error;
  const { code, message } = levelCode(error);
  if (isClosed(error)) return closedError(path, error);
  if (code === 'LEVEL_IO_ERROR' && OF_THE_DISK.test(message)) return unreadable(path, message, error);
  if (code === 'LEVEL_CORRUPTION' || (code === 'LEVEL_IO_ERROR' && !OF_THE_SYSTEM.test(message))) {
    return corrupt(path, wayBack, message, error);
  }
  if (!code.startsWith('LEVEL_')) return error;
  return new TesseraError('database_failed', `the database ${path} cannot be read: ${message}`, { cause: error });
}

/** True for an operation on a database, or an iterator, that was closed. */
export function isClosed(error: unknown): boolean {
  const { code } = levelCode(error);
  const own = error instanceof Error && 'code' in error ? error.code : '';
  return [code, own].some((one) => one === 'LEVEL_DATABASE_NOT_OPEN' || one === 'LEVEL_ITERATOR_NOT_OPEN');
}

export function closedError(path: string, cause?: unknown): TesseraError {
  return new TesseraError('shutting_down', `the database ${path} is closed`, { cause });
}

function corrupt(path: string, wayBack: string, message: string, cause: unknown): TesseraError {
  return new TesseraError('data_corrupt', `the database ${path} is damaged (${message}): ${wayBack}`, {
    cause,
    details: { database: basename(path) },
  });
}
