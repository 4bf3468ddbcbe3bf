/** Files that the command line names: to read, or to write where none is yet. */

import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { syncFolder } from '../db/write-file-durable.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { MAX_DOCUMENT_FILE, readBoundedText } from '../lib/read-bounded.js';
import type { Input } from './command.js';

export const STANDARD = '-';

export function readNamed(file: string): string {
  try {
    return readBoundedText(file, MAX_DOCUMENT_FILE);
  } catch (cause) {
    throw new TesseraError('invalid_request', `${file} cannot be read: ${errorMessage(cause)}`, { cause });
  }
}

export async function readNamedOrInput(file: string, stdin: Input): Promise<string> {
  return file === STANDARD ? readAll(stdin) : readNamed(file);
}

/** Makes a durable file with exactly the permissions `mode`. Throws `invalid_request` when it cannot, or the file exists. */
export async function writeNewFile(file: string, text: string, mode: number): Promise<void> {
  try {
    const handle = await open(file, 'wx', mode);
    try {
      // The umask may have cleared bits of the mode.
      await handle.chmod(mode);
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await syncFolder(dirname(file));
  } catch (cause) {
    throw new TesseraError('invalid_request', `${file} cannot be written: ${errorMessage(cause)}`, { cause });
  }
}
