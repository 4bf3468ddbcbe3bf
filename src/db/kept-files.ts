/**
 * The files of a database as they were before LevelDB opened it, kept until LevelDB was seen to hold all of their content.
 * Opening removes logs and replaces the MANIFEST, also when the system let LevelDB read only a part of them
 * (`level-files/README.md`); then the next opening puts them back from here.
 *
 *   db/<name>/before-open       links to CURRENT, the MANIFEST, and the tables and logs that it needs
 *   db/<name>/before-open.tmp   being made
 *   db/<name>/before-open.old   not needed any more, being removed
 *
 * LevelDB never changes a file of an earlier opening, so links are enough; a file system without links gets copies of all
 * but the tables. No write is acknowledged between `keepFiles` and `forgetFiles`, so the kept files hold every acknowledged
 * write.
 */

import type { BigIntStats } from 'node:fs';
import { link, mkdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import { failpoint } from '../lib/failpoints.js';
import { isSystemError } from '../lib/system-error.js';
import { checkFiles } from './level-files/check-files.js';
import {
  CURRENT,
  type DatabaseFiles,
  FolderFiles,
  LookedAtFiles,
  logsFrom,
  manifestName,
  readManifest,
  tablesOf,
} from './level-files/manifest.js';
import { isSameDatabase, type Mark, readSeal, sealPath } from './seal.js';
import { copySynced, syncFolder, writeFileDurable } from './write-file-durable.js';

const FOLDER = 'before-open';
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const AT_ONCE = 64;
/** Errors of link(2) on file systems without links. */
const NO_LINKS: readonly string[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];
const TABLE = /\.(?:ldb|sst)$/;
/** Files of LevelDB that hold data. */
const DATA_FILE = /^(?:\d+\.(?:log|ldb|sst|dbtmp)|MANIFEST-\d+)$/;

const keptFolder = (path: string): string => join(path, FOLDER);

/** The folder to read the files of the database in `path` from: that of the kept files, if an opening has not ended well. */
export async function folderOf(path: string): Promise<string> {
  return (await isThere(keptFolder(path))) ? keptFolder(path) : path;
}

/** Keeps the files before LevelDB opens the database, after they were checked. Undefined when there is no database yet. */
export async function keepFiles(path: string, name: string): Promise<DatabaseFiles | undefined> {
  const files = new FolderFiles(path);
  const [manifest, manifestFile] = [await readManifest(files), await manifestName(files)];
  if (manifest === undefined || manifestFile === undefined) return undefined;
  const list = await files.list();
  // Files that are kept already have been put back by `putBackFiles`.
  await forgetFiles(path, name);
  const unfinished = `${keptFolder(path)}.tmp`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: FOLDER_MODE });
  const needed = [...tablesOf(manifest, list), ...logsFrom(manifest.logNumber, list)];
  await linkAll(path, unfinished, [CURRENT, manifestFile, ...needed]);
  await syncFolder(unfinished);
  await rename(unfinished, keptFolder(path));
  await syncFolder(path);
  failpoint('db.open.kept', name);
  return new FolderFiles(keptFolder(path));
}

/** Removes the kept files once LevelDB holds all of them, before the first write. */
export async function forgetFiles(path: string, name: string): Promise<void> {
  const old = `${keptFolder(path)}.old`;
  await rm(old, { recursive: true, force: true });
  if (!(await isThere(keptFolder(path)))) return;
  await rename(keptFolder(path), old);
  await syncFolder(path);
  failpoint('db.open.forgotten', name);
  await rm(old, { recursive: true });
}

/**
 * Puts the kept files back before the check of a database whose opening was interrupted or did not find all of their
 * content. If this is interrupted, the next opening does it again. `sealed`: the last batch acknowledged as synced.
 */
export async function putBackFiles(path: string, name: string, sealed: Mark | undefined): Promise<void> {
  if (!(await isThere(keptFolder(path)))) return;
  if (await isOutdated(path, name, sealed)) return forgetFiles(path, name);
  const [kept, now] = [new FolderFiles(keptFolder(path)), new FolderFiles(path)];
  const wanted = await kept.list();
  await bringBackFiles(path);
  failpoint('db.put-back.files', name);
  const current = await kept.read(CURRENT);
  if (current === undefined) throw new TesseraError('data_lost', `the file ${name}/${FOLDER}/${CURRENT} is missing`);
  await writeFileDurable(join(path, CURRENT), current, FILE_MODE);
  failpoint('db.put-back.current', name);
  // On a file system without links, the tables are only in this folder.
  const manifest = await readManifest(now);
  const list = await now.list();
  const needed = new Set([...wanted, ...(manifest === undefined ? [] : tablesOf(manifest, list))]);
  for (const file of list) if (DATA_FILE.test(file) && !needed.has(file)) await rm(join(path, file));
  await syncFolder(path);
  failpoint('db.put-back.after', name);
}

/** Links the kept files, except CURRENT, into the database's folder again; other files there stay. */
async function bringBackFiles(path: string): Promise<void> {
  const missing: string[] = [];
  for (const file of await new FolderFiles(keptFolder(path)).list()) {
    const isHere = file === CURRENT || (await isSameFile(join(path, file), join(keptFolder(path), file)));
    if (!isHere) missing.push(file);
  }
  for (const file of missing) await rm(join(path, file), { force: true });
  await linkAll(keptFolder(path), path, missing);
  await syncFolder(path);
}

/** True if the database has batches that the kept files lack: somebody has put another copy of the database there since. */
async function isOutdated(path: string, name: string, sealed: Mark | undefined): Promise<boolean> {
  const options = { tableBytes: 0, wayBack: '' };
  try {
    const now = await checkFiles(name, new LookedAtFiles(path), { ...options, sealed });
    const kept = await checkFiles(name, new LookedAtFiles(keptFolder(path)), { ...options, sealed: undefined });
    return now !== undefined && kept !== undefined && isSameDatabase(now, kept) && now.number > kept.number;
  } catch (error) {
    if (isTesseraError(error, 'data_lost') || isTesseraError(error, 'data_corrupt')) return false;
    throw error;
  }
}

async function linkAll(from: string, to: string, names: readonly string[]): Promise<void> {
  for (let i = 0; i < names.length; i += AT_ONCE) {
    await Promise.all(names.slice(i, i + AT_ONCE).map((name) => linkOrCopy(join(from, name), join(to, name))));
  }
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (!isSystemError(error, ...NO_LINKS)) throw error;
    if (!TABLE.test(from)) await copySynced(from, to);
  }
}

async function isSameFile(a: string, b: string): Promise<boolean> {
  const [one, other] = [await statOf(a), await statOf(b)];
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}

async function isThere(path: string): Promise<boolean> {
  return (await statOf(path)) !== undefined;
}

async function statOf(path: string): Promise<BigIntStats | undefined> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    if (!isSystemError(error, 'ENOENT', 'ENOTDIR')) throw error;
    return undefined;
  }
}

/** Most attempts at a look: files of a running database come and go. */
const ATTEMPTS = 5;

/** Number of batches in the database. The newest tables are read, up to `tableBytes`. Throws `data_lost`, `data_corrupt`. */
export async function inspectDatabase(dataDir: string, name: string, tableBytes: number): Promise<number> {
  const path = join(dataDir, 'db', name);
  for (let attempt = 1; ; attempt++) {
    try {
      // The seal is read first: the logs that are read after it have every batch that it names.
      const sealed = await readSeal(sealPath(path));
      const options = { tableBytes, sealed, wayBack: 'see docs/operations.md, "Backup and restore"' };
      return (await checkFiles(name, new LookedAtFiles(await folderOf(path)), options))?.number ?? 0;
    } catch (error) {
      const isDamage = isTesseraError(error, 'data_lost') || isTesseraError(error, 'data_corrupt');
      if (!isDamage || attempt === ATTEMPTS) throw error;
    }
  }
}
