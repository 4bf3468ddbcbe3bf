/**
 * Damaged databases of a data directory: the note that one was found to be damaged while its node ran, and the folders of
 * those that were put aside, `damaged-archive-1` and so on. One that is removed is called `removed-archive-1` meanwhile.
 */

import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sealPath } from './seal.js';
import { syncFolder, writeFileDurable } from './write-file-durable.js';

const NOTE_MODE = 0o600;
const FOLDER_MODE = 0o700;
/** Name of a database's seal in the folder that it was put aside in. */
const SEAL_ASIDE = 'seal';
/** Prefix of folders that are being removed. */
const REMOVED = 'removed-';

const notePath = (path: string, name: string): string => join(path, `damaged-${name}`);

/** The next start reads every byte of the database's files, and not only the newest. */
export async function noteDamage(path: string, name: string): Promise<void> {
  await writeFileDurable(notePath(path, name), new Uint8Array(), NOTE_MODE);
}

export function hasDamageNote(path: string, name: string): boolean {
  return existsSync(notePath(path, name));
}

export async function forgetDamage(path: string, name: string): Promise<void> {
  await rm(notePath(path, name), { force: true });
}

/** The folders of the database `name` that were put aside, the newest first. */
export async function damagedFolders(path: string, name: string): Promise<string[]> {
  const form = new RegExp(`^damaged-${name}-(\\d+)$`);
  const numbers = (await readdir(path)).flatMap((entry) => form.exec(entry)?.[1] ?? []).map(Number);
  return numbers.sort((a, b) => b - a).map((number) => join(path, `damaged-${name}-${number}`));
}

/**
 * Moves the database `name` out of `databases`, with its seal, which says how much was acknowledged. One whose files are all
 * gone leaves a folder with its seal alone. Does nothing more when neither is there.
 */
export async function putAside(path: string, databases: string, name: string): Promise<void> {
  const folder = join(databases, name);
  const seal = sealPath(folder);
  const [newest] = await damagedFolders(path, name);
  let aside = newest;
  if (existsSync(folder)) {
    aside = nextFolder(path, name, newest);
    await rename(folder, aside);
    await syncFolder(path);
  } else if (existsSync(seal) && (aside === undefined || existsSync(join(aside, SEAL_ASIDE)))) {
    // A folder without a seal is one whose move was interrupted here.
    aside = nextFolder(path, name, newest);
    await mkdir(aside, { mode: FOLDER_MODE });
    await syncFolder(path);
  }
  if (aside !== undefined && existsSync(seal)) {
    await rename(seal, join(aside, SEAL_ASIDE));
    await syncFolder(aside);
  }
  await syncFolder(databases);
  await forgetDamage(path, name);
}

function nextFolder(path: string, name: string, newest: string | undefined): string {
  const number = newest === undefined ? 1 : Number(newest.slice(newest.lastIndexOf('-') + 1)) + 1;
  return join(path, `damaged-${name}-${number}`);
}

/** Removes the database `name` out of `databases`; false when it is not there. `removeLeftovers` ends what was begun. */
export async function removeDatabase(path: string, databases: string, name: string): Promise<boolean> {
  const folder = join(databases, name);
  await rm(sealPath(folder), { force: true });
  if (!existsSync(folder)) return false;
  const removed = join(path, `${REMOVED}${name}-1`);
  await rm(removed, { recursive: true, force: true });
  await rename(folder, removed);
  await syncFolder(path);
  await rm(removed, { recursive: true, force: true });
  return true;
}

/** Removes what an interrupted `removeDatabase` has left of the database `name`, and nothing else that is called so by chance. */
export async function removeLeftovers(path: string, name: string): Promise<void> {
  const form = new RegExp(`^${REMOVED}${name}-\\d+$`);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (!entry.isDirectory() || !form.test(entry.name)) continue;
    await rm(join(path, entry.name), { recursive: true, force: true });
  }
}
