/**
 * Replacing a small file so that a crash or a power loss leaves the old content or the new one, never a mixture: written
 * beside it, synced, renamed over it, and the folder synced.
 */

import { copyFile, open, rename, rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { errorMessage } from '../lib/errors.js';
import { failpoint } from '../lib/failpoints.js';

let counter = 0;

/** The new content is in its place, but a power loss may bring back the old one: the folder could not be synced. */
export class NotSyncedError extends Error {
  override readonly name = 'NotSyncedError';
}

/**
 * Writes `bytes` to `path` with exactly the permissions `mode` (for example 0o600). When the promise resolves the content
 * survives power loss; when it rejects the old file is as it was, unless the error is a `NotSyncedError`. Two writes of one
 * path at once end in one of the two. `sync`: how a folder is synced; tests make it fail.
 */
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

/** Makes the creation, renaming and removal of files in a folder survive power loss. */
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
