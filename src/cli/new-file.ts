/** Writes a file that must not exist yet. */

import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from '../db/write-file-durable.js';
import { errorMessage, TesseraError } from '../lib/errors.js';

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
