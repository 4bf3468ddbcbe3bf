/** Damaged databases: their notes, and folders put aside (`damaged-archive-1`) or being removed (`removed-archive-1`). */

import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sealPath } from './seal.js';
import { syncFolder, writeFileDurable } from './write-file-durable.js';

const NOTE_MODE = 0o600;
/** Prefix of folders that are being removed. */
const REMOVED = 'removed-';

const notePath = (path: string, name: string): string => join(path, `damaged-${name}`);

/** Notes damage: the next start reads every byte of the database's files, and not only the newest. */
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

/** Moves the database `name` out of `databases`, and removes its seal, which would name batches that the next one does not have. */
export async function putAside(path: string, databases: string, name: string): Promise<void> {
  const folder = join(databases, name);
  if (existsSync(folder)) {
    const [newest = '-0'] = await damagedFolders(path, name);
    await rename(folder, join(path, `damaged-${name}-${Number(newest.slice(newest.lastIndexOf('-') + 1)) + 1}`));
    await syncFolder(path);
  }
  await rm(sealPath(folder), { force: true });
  await syncFolder(databases);
  await forgetDamage(path, name);
}

/** Removes the database `name` out of `databases`; false when it is not there. `removeLeftovers` ends an interrupted removal. */
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

/** Removes the remains of an interrupted `removeDatabase` of the database `name`, and no other folder of such a name. */
export async function removeLeftovers(path: string, name: string): Promise<void> {
  const form = new RegExp(`^${REMOVED}${name}-\\d+$`);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (!entry.isDirectory() || !form.test(entry.name)) continue;
    await rm(join(path, entry.name), { recursive: true, force: true });
  }
}
