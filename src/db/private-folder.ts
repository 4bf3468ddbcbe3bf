/** Folders that only their owner can read: they contain keys. */

import { chmod, mkdir, readdir, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { ifMissing, isSystemError } from '../lib/system-error.js';
import { syncFolder } from './write-file-durable.js';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** The permission bits of group and others. */
const OTHERS = 0o077;

/** Makes the folder and those above it; each survives power loss. */
export async function makeFolder(path: string): Promise<void> {
  try {
    const first = await mkdir(path, { recursive: true, mode: FOLDER_MODE });
    if (first === undefined) return;
    for (let folder = resolve(path); folder.length >= resolve(first).length; folder = dirname(folder)) {
      await syncFolder(dirname(folder));
    }
  } catch (error) {
    throw invalid(`the folder ${path} cannot be made: ${errorMessage(error)}`, error);
  }
}

/**
 * Removes the permissions of others, which a copy, a restore or an older version may have left. Throws
 * `data_dir_invalid` when the folder belongs to another user.
 */
export async function makePrivate(path: string): Promise<void> {
  try {
    await tighten(path, FOLDER_MODE);
    for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
      if (entry.isDirectory()) await tighten(join(entry.parentPath, entry.name), FOLDER_MODE);
      else if (entry.isFile()) await tightenFile(join(entry.parentPath, entry.name));
    }
  } catch (error) {
    const user = userInfo().username;
    throw invalid(
      `the data directory ${path} cannot be used by the user ${user} (${errorMessage(error)}): run the node as the owner of the directory, or give it to ${user}`,
      error,
    );
  }
}

/** Does for a file what `tighten` does. A file on a read-only mount, such as the secret of a container, is not changed. */
async function tightenFile(path: string): Promise<void> {
  await tighten(path, FILE_MODE).catch((error: unknown) => {
    if (!isSystemError(error, 'EROFS')) throw error;
  });
}

async function tighten(path: string, mode: number): Promise<void> {
  // The owner of the lock removes its files while it runs.
  const stats = await stat(path).catch(ifMissing);
  if (stats !== undefined && (stats.mode & OTHERS) !== 0) await chmod(path, mode);
}

function invalid(message: string, cause: unknown): TesseraError {
  return new TesseraError('data_dir_invalid', message, { cause });
}
