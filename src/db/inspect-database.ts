/** A look at a database that changes nothing, while its node runs or not: the check that the node makes at its start. */

import { join } from 'node:path';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import { checkFiles } from './level-files/check-files.js';
import { FolderFiles } from './level-files/database-files.js';
import { readSeal, sealPath } from './seal.js';

/** How many looks are taken: files of a running database come and go. */
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
      return (await checkFiles(name, new LookedAt(path), options))?.number ?? 0;
    } catch (error) {
      const isDamage = isTesseraError(error, 'data_lost') || isTesseraError(error, 'data_corrupt');
      if (!isDamage || attempt === ATTEMPTS) throw error;
    }
  }
}

/** What a crash has left after the last write is cut off by the node, not here. */
class LookedAt extends FolderFiles {
  override async cut(name: string): Promise<void> {
    if (!name.endsWith('.log')) throw new TesseraError('internal_error', `${name} is not to be cut`);
  }
}
