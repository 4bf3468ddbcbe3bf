/**
 * Damaged databases of a data directory: the note that one was found to be damaged while its node ran, and the folders of
 * those that were put aside, `damaged-archive-1` and so on. What can be read of these is taken from them by `salvage.ts`.
 */

import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { failpoint } from '../lib/failpoints.js';
import { sealPath } from './seal.js';
import { syncFolder, writeFileDurable } from './write-file-durable.js';

const NOTE_MODE = 0o600;

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

/** Moves the database `name` out of `databases`; does nothing more when it is not there. */
export async function putAside(path: string, databases: string, name: string): Promise<void> {
  const folder = join(databases, name);
  if (existsSync(folder)) {
    const [newest] = await damagedFolders(path, name);
    const number = newest === undefined ? 1 : Number(newest.slice(newest.lastIndexOf('-') + 1)) + 1;
    await rename(folder, join(path, `damaged-${name}-${number}`));
    await syncFolder(path);
    failpoint('aside.moved', name);
  }
  await rm(sealPath(folder), { force: true });
  await syncFolder(databases);
  failpoint('aside.seal', name);
  await forgetDamage(path, name);
}
