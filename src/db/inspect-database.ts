/** A look at a database that changes nothing, while its node runs or not: the check that the node makes at its start. */

import { join } from 'node:path';
import { isTesseraError } from '../lib/errors.js';
import { folderOf } from './kept-files.js';
import { checkFiles } from './level-files/check-files.js';
import { LookedAtFiles } from './level-files/database-files.js';
import { readSeal, sealPath } from './seal.js';

/** Number of looks: files of a running database come and go. */
const ATTEMPTS = 5;

/**
 * Writes that the database holds. Of its tables the newest are read, up to `tableBytes`. Throws `data_lost` or
 * `data_corrupt` when the node would not start on it.
 */
export async function inspectDatabase(dataDir: string, name: string, tableBytes: number): Promise<number> {
  const path = join(dataDir, 'db', name);
  for (let attempt = 1; ; attempt++) {
    try {
      // The seal first: the logs that are read after it hold what it names.
      const sealed = await readSeal(sealPath(path));
      const options = { tableBytes, sealed, wayBack: 'see docs/operations.md, "Backup and restore"' };
      return (await checkFiles(name, new LookedAtFiles(await folderOf(path)), options))?.number ?? 0;
    } catch (error) {
      const isDamage = isTesseraError(error, 'data_lost') || isTesseraError(error, 'data_corrupt');
      if (!isDamage || attempt === ATTEMPTS) throw error;
    }
  }
}
