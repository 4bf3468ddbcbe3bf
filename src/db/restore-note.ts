/** The note that a restore leaves in a data folder until all is there. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TesseraError } from '../lib/errors.js';

export const RESTORE_NOTE = 'restoring';

/** Throws `data_dir_invalid` while the restore of the folder is not finished: a node would mistake a part for the whole. */
export async function refuseHalfRestored(path: string): Promise<void> {
  const note = await readFile(join(path, RESTORE_NOTE), 'utf8').catch(() => undefined);
  if (note === undefined) return;
  throw new TesseraError(
    'data_dir_invalid',
    `the data directory ${path} is being restored, or a restore was interrupted (${note.trimEnd()}): run tessera restore again`,
  );
}
