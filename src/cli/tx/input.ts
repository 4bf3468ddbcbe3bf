/** Reading the files of `tessera tx`, and standard input where none is named. */

import { text as readAll } from 'node:stream/consumers';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { MAX_DOCUMENT_FILE, readBoundedText } from '../../lib/read-bounded.js';
import { type CliContext, UsageError } from '../command.js';
import { isInteractive } from '../wallet/prompt.js';

export const STDIN = '-';

/** The text of the file, or of standard input for `-`. A terminal is no file. */
export async function readInput(file: string, context: CliContext): Promise<string> {
  if (file === STDIN) {
    if (isInteractive(context)) throw new UsageError('name a FILE, or give the transaction on standard input');
    return readAll(context.stdin);
  }
  try {
    return readBoundedText(file, MAX_DOCUMENT_FILE);
  } catch (cause) {
    throw new TesseraError('invalid_request', `${file} cannot be read: ${errorMessage(cause)}`, { cause });
  }
}

/** Name of the file in messages. */
export function nameOf(file: string): string {
  return file === STDIN ? 'the standard input' : file;
}
