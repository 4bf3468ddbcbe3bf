/** Replaces a small file atomically: the new one is written beside it, synced, renamed over it, and the folder synced. Also makes private folders. */

import { chmod, copyFile, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { failpoint } from '../lib/failpoints.js';
import { ifMissing, isSystemError } from '../lib/system-error.js';

let counter = 0;

/** The error when the new content is in place but a power loss may bring back the old one: the folder could not be synced. */
export class NotSyncedError extends Error {
  override readonly name = 'NotSyncedError';
}

/** Writes `bytes` with the permissions `mode`, durably; on an error the old file is there, but for a `NotSyncedError`. */
export async function writeFileDurable(
  path: string,
  bytes: Uint8Array,
  mode: number,
  sync: (folder: string) => Promise<void> = syncFolder,
): Promise<void> {
  counter += 1;
  const name = basename(path);
  const temporary = `${path}.${process.pid}-${counter}.tmp`;
  try {
    // A file left behind by a killed process with the same id may have other permissions.
    await rm(temporary, { force: true });
    failpoint('file.create.before', name);
    const file = await open(temporary, 'wx', mode);
    try {
      // The umask may have taken bits from the mode.
      await file.chmod(mode);
      failpoint('file.write.before', name);
      await file.writeFile(bytes);
      failpoint('file.write.after', name);
      await file.sync();
      failpoint('file.sync.after', name);
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    failpoint('file.rename.after', name);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  try {
    await sync(dirname(path));
    failpoint('file.folder-sync.after', name);
  } catch (cause) {
    throw new NotSyncedError(`the folder of ${path} could not be synced: ${errorMessage(cause)}`, { cause });
  }
}

/** Makes created, renamed and removed files of a folder survive power loss. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Copies a file, so that the copy survives power loss once its folder is synced. */
export async function copySynced(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  await syncFolder(to);
}

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

/** Removes the permissions of others. Throws `data_dir_invalid` when the folder belongs to another user. */
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

/** Tightens a file. One on a read-only mount, such as the secret of a container, stays as it is. */
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
