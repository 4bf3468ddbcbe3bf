/**
 * Restores a backup into an empty folder. While the restore's note is there, no node starts on the folder, and the same
 * restore goes on where it stopped. The marker is written last.
 */

import { open, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { utf8 } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { MARKER_FILE, RESTORE_NOTE } from '../marker.js';
import { makeFolder, syncFolder, writeFileDurable } from '../write-file-durable.js';
import type { BackupStore } from './backup-store.js';
import { checkRestored } from './check-backup.js';
import type { BackedUpFile, Listing } from './listing.js';

const FILE_MODE = 0o600;

export interface RestoreOptions {
  readonly backup: string;
  readonly dataDir: string;
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number) => void;
}

/** Restores the backup. Throws `data_dir_invalid` when the folder is not empty, `data_corrupt`, `data_lost`, `aborted`. */
export async function restoreBackup(options: RestoreOptions, store: BackupStore) {
  const { backup, dataDir, signal, onProgress } = options;
  const listing = await store.listing(backup);
  await claim(dataDir, `${store.path} ${backup}\n`);
  const total = listing.files.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  for (const file of listing.files.filter(({ path }) => path !== MARKER_FILE)) {
    if (signal.aborted) {
      throw new TesseraError('aborted', 'the restore was interrupted: the same command goes on where it stopped');
    }
    await restoreFile(file, dataDir, store);
    done += file.bytes;
    onProgress(done, total);
  }
  await finish(listing, dataDir, store);
  return { files: listing.files.length, bytes: total };
}

/** Claims the folder, which must be empty or begun by this same restore. */
async function claim(dataDir: string, note: string): Promise<void> {
  await makeFolder(dataDir);
  const entries = (await readdir(dataDir)).filter((name) => name !== 'lost+found');
  const found = entries.includes(RESTORE_NOTE) ? await readFile(join(dataDir, RESTORE_NOTE), 'utf8') : undefined;
  if (found === note) return;
  if (entries.length > 0) {
    const why = found === undefined ? 'is not empty' : `was begun with another backup (${found.trimEnd()})`;
    throw new TesseraError('data_dir_invalid', `${dataDir} ${why}: nothing is written over; name an empty folder`);
  }
  await writeFileDurable(join(dataDir, RESTORE_NOTE), utf8(note), FILE_MODE);
}

async function restoreFile(file: BackedUpFile, dataDir: string, store: BackupStore): Promise<void> {
  const content = await store.read(file.content);
  const place = join(dataDir, file.path);
  const there = await readFile(place).catch(() => undefined);
  if (there?.equals(content)) return;
  await makeFolder(dirname(place));
  const handle = await open(place, 'w', FILE_MODE);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function finish({ databases, files }: Listing, dataDir: string, store: BackupStore): Promise<void> {
  const folders = new Set(files.map(({ path }) => dirname(join(dataDir, path))));
  for (const folder of folders) await syncFolder(folder);
  for (const name of databases) await checkRestored(join(dataDir, 'db', name), name);
  const marker = files.find(({ path }) => path === MARKER_FILE);
  if (marker === undefined) throw new TesseraError('backup_invalid', 'the backup holds no marker of a data directory');
  await writeFileDurable(join(dataDir, MARKER_FILE), await store.read(marker.content), FILE_MODE);
  await rm(join(dataDir, RESTORE_NOTE));
  await syncFolder(dataDir);
}
