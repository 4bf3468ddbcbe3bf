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

/** True where the disk, or the share of it, has no room for what failed. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /no space left|disk quota|EDQUOT/i.test(error.message) || isDiskFull(error.cause);
}

/** The disk does not give back what is on it. Nothing says that it is damaged, but a node must not go on without it (rule P3). */
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

/** System calls on files; the error of such a call says which one it was. */
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
