/** Turns what a database, or the system about a file of the data directory, has thrown into an error of the catalogue. */

import { basename } from 'node:path';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';

/** The error itself when it already has a name, else `database_failed`; `what` opens the sentence ("the journal"). */
export function databaseError(what: string, error: unknown): TesseraError {
  if (isTesseraError(error)) return error;
  return new TesseraError('database_failed', `${what} cannot be read or written: ${errorMessage(error)}`, {
    cause: error,
  });
}

/** True for an error of a full disk, or of a used-up quota. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /no space left|disk quota|EDQUOT/i.test(error.message) || isDiskFull(error.cause);
}

/** The error of a disk that does not give back its data. Nothing shows damage, but a node must not go on without the data (rule P3). */
export function unreadable(path: string, reason: string, cause: unknown): TesseraError {
  const message = `the disk does not let the database ${path} be read (${reason}): check the disk, and start again; nothing is known to be lost`;
  return new TesseraError('database_failed', message, {
    cause,
    details: { database: basename(path), unreadable: true },
  });
}

/** True for an error of `unreadable`. */
export function isUnreadable(error: unknown): error is TesseraError {
  return isTesseraError(error, 'database_failed') && error.details.unreadable === true;
}

/** System calls on files; the error of a system call names the call. */
const FILE_CALLS = new Set(['open', 'read', 'write', 'fsync', 'fdatasync', 'ftruncate', 'stat', 'lstat', 'fstat']);

/** The error itself, unless the system refused to read or write a file: then `database_failed` with what it said. */
export function fileError(error: unknown): unknown {
  if (isTesseraError(error) || !(error instanceof Error)) return error;
  // A file that could not be synced has the refusal as its cause.
  const refusal = error.cause instanceof Error ? error.cause : error;
  const { syscall, path } = refusal as NodeJS.ErrnoException;
  if (syscall === undefined || !(path !== undefined || FILE_CALLS.has(syscall))) return error;
  return new TesseraError('database_failed', `a file of the node cannot be read or written: ${errorMessage(error)}`, {
    cause: error,
  });
}

/** Messages of a system that could not do something now: they do not mean that data is damaged. */
const OF_THE_SYSTEM = /Too many open files|Cannot allocate memory|No space left|File too large|Disk quota|Read-only/i;

/** Message of a disk that does not give back its data: the next time it may. */
const OF_THE_DISK = /Input\/output error/i;

/** LevelDB's own code and message, which are in the cause of abstract-level's error. */
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

/** The error to throw for a failed write. */
export function writeError(path: string, wayBack: string, error: unknown): unknown {
  if (error instanceof TesseraError) return error;
  const { code, message } = levelCode(error);
  if (code === 'LEVEL_CORRUPTION') return corrupt(path, wayBack, message, error);
  if (isClosed(error)) return closedError(path, error);
  if (code === '' && !(error instanceof Error && 'code' in error)) return error;
  return new TesseraError('database_failed', `the database ${path} cannot be written: ${message}`, { cause: error });
}

/** The error to throw for a failed read: a missing or short file is damage, whatever LevelDB calls it (rule P3). */
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
