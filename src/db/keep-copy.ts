/**
 * A copy of a data folder inside it, made before its format is changed: what an older program needs to continue from there.
 * The tables of its databases are linked, not copied: LevelDB never changes one.
 */

import { link, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifMissing } from '../lib/system-error.js';
import { folderOf } from './kept-files.js';
import { copySynced, syncFolder } from './write-file-durable.js';

const FOLDER_MODE = 0o700;
const DATABASES = 'db';
const TABLE = /\.(ldb|sst)$/;
/** Files that are in use or half written while the folder is open. */
const LEFT_OUT = /^lock\.pid$|\.tmp$|^LOCK$/;

/** The folder of the copy: `before-format-2`. */
function copyName(format: number): string {
  return `before-format-${format}`;
}

/**
 * Copies marker, keys and databases, which are closed, into `before-format-N`. A copy that is whole is left as it is; what
 * an interrupted one left is made again.
 */
export async function keepCopy(path: string, format: number): Promise<void> {
  const target = join(path, copyName(format));
  if ((await stat(target).catch(() => undefined)) !== undefined) return;
  const unfinished = `${target}.tmp`;
  await rm(unfinished, { recursive: true, force: true });
  await copyFiles(path, unfinished);
  await mkdir(join(unfinished, DATABASES), { mode: FOLDER_MODE });
  const databases = await readdir(join(path, DATABASES), { withFileTypes: true }).catch(() => []);
  for (const { name } of databases.filter((entry) => entry.isDirectory())) {
    await copyFiles(await folderOf(join(path, DATABASES, name)), join(unfinished, DATABASES, name));
  }
  await copyInto(join(path, DATABASES), join(unfinished, DATABASES)).catch(ifMissing);
  await syncFolder(join(unfinished, DATABASES));
  await syncFolder(unfinished);
  await rename(unfinished, target);
  await syncFolder(path);
}

async function copyFiles(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: FOLDER_MODE });
  await copyInto(from, to);
  await syncFolder(to);
}

/** The files of a folder, without those in subfolders. */
async function copyInto(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (!entry.isFile() || LEFT_OUT.test(entry.name)) continue;
    if (TABLE.test(entry.name)) await link(join(from, entry.name), join(to, entry.name));
    else await copySynced(join(from, entry.name), join(to, entry.name));
  }
}
