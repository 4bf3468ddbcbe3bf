/** Gives what a database threw a name: a caller always gets an error of the catalogue, whatever went wrong below. */

import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';

/** The error itself when it already has a name, else `database_failed`; `what` opens the sentence ("the journal"). */
export function databaseError(what: string, error: unknown): TesseraError {
  if (isTesseraError(error)) return error;
  return new TesseraError('database_failed', `${what} cannot be read or written: ${errorMessage(error)}`, {
    cause: error,
  });
}
