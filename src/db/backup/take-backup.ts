/**
 * Takes a backup of a data folder, whether its node runs or not, without a change or lock in it. The backup has every
 * write acknowledged before it began. If it is interrupted, earlier backups stay as they are, and the next one goes on.
 */

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TesseraError } from '../../lib/errors.js';
import { readWhole } from '../../lib/read-bounded.js';
import { ifMissing } from '../../lib/system-error.js';
import { readMarker, refuseHalfRestored } from '../marker.js';
import type { BackupStore } from './backup-store.js';
import { checkBackedUp } from './check-backup.js';
import { DatabaseCopy } from './database-copy.js';
import { BACKUP_FORMAT, type BackedUpFile, encodeListing, type Listing } from './listing.js';

/** The folder of a storage node's blocks, and files in it that are not needed. */
const SEGMENTS = 'segments';
const UNUSED_SEGMENT = /\.(?:tmp|unused)$/;
/** Files beside the databases that a backup leaves out: those of the lock, and what is being written. */
const LEFT_OUT = /^lock\.(?:pid|url)$|\.tmp$|^keystore-format-\d+-[^/]*\.json$/;

export interface TakeBackupOptions {
  readonly dataDir: string;
  readonly role: string;
  readonly networkName: string;
  /** The database that is copied last: if it is newer than the others, it can bring them up to its own state. */
  readonly lastDatabase: string | undefined;
  readonly program: string;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number) => void;
}

/** Takes the backup. Throws `data_dir_invalid`, `data_corrupt`, `data_lost`, `aborted`. */
export async function takeBackup(options: TakeBackupOptions, store: BackupStore) {
  const { dataDir, role, networkName, program } = options;
  await refuseHalfRestored(dataDir);
  const marker = await readMarker(dataDir);
  if (marker === undefined) throw invalid(dataDir, 'is no data directory of a node: its marker is not there');
  if (marker.role !== role) throw invalid(dataDir, `belongs to a ${marker.role} node, not to a ${role} node`);
  if (marker.network !== networkName) throw invalid(dataDir, `belongs to the network "${marker.network}"`);
  const taking = new Taking(options, store, await newestListing(store));
  const databases = await taking.databases(marker.databases);
  const files = [...databases, ...(await taking.segments()), ...(await taking.others())];
  const name = await nextName(store, options.now);
  const listing: Listing = {
    format: BACKUP_FORMAT,
    created: options.now,
    program,
    role,
    network: networkName,
    databases: [...marker.databases],
    files,
  };
  await taking.check(listing);
  await store.add(name, encodeListing(listing));
  const fresh = new Map(files.filter(({ content }) => taking.written.has(content)).map((file) => [file.content, file]));
  return {
    name,
    files: files.length,
    bytes: sizeOf(files),
    /** Files that earlier backups did not hold. */
    newFiles: fresh.size,
    newBytes: sizeOf([...fresh.values()]),
  };
}

class Taking {
  /** Names of contents that were not there before. */
  readonly written = new Set<string>();
  readonly #options: TakeBackupOptions;
  readonly #store: BackupStore;
  readonly #known: ReadonlyMap<string, BackedUpFile>;
  #done = 0;
  #total = 0;

  constructor(options: TakeBackupOptions, store: BackupStore, before: Listing | undefined) {
    this.#options = options;
    this.#store = store;
    this.#known = new Map(before?.files.map((file) => [file.path, file]));
  }

  /**
   * Copies most of each database first, which takes time, then quickly the rest of all: the moments they show are close together.
   */
  async databases(names: readonly string[]): Promise<readonly BackedUpFile[]> {
    const { dataDir, lastDatabase, signal } = this.#options;
    const ordered = [...names].sort((a, b) => Number(a === lastDatabase) - Number(b === lastDatabase));
    const copies = ordered.map(
      (name) =>
        new DatabaseCopy(dataDir, name, {
          store: this.#store,
          known: this.#known,
          signal,
          written: this.written,
          onFile: (bytes) => this.#report(bytes),
        }),
    );
    for (const copy of copies) this.#total += await copy.size();
    for (const copy of copies) await copy.copyTables();
    const files: BackedUpFile[] = [];
    for (const copy of copies) files.push(...(await copy.finish()));
    return files;
  }

  /** Copies the files of blocks, after the databases, so that every block they name is there. Later blocks are taken in after a restore. */
  async segments(): Promise<readonly BackedUpFile[]> {
    for (;;) {
      const all = (await readdir(join(this.#options.dataDir, SEGMENTS)).catch(ifMissing)) ?? [];
      const names = all.filter((name) => !UNUSED_SEGMENT.test(name)).sort();
      const files: (BackedUpFile | undefined)[] = [];
      for (const name of names) files.push(await this.#segment(`${SEGMENTS}/${name}`));
      const found = files.filter((file) => file !== undefined);
      // A file that has gone was closed meanwhile, and has another name.
      if (found.length === names.length) return found;
    }
  }

  async #segment(path: string): Promise<BackedUpFile | undefined> {
    const { dataDir, signal } = this.#options;
    if (signal.aborted) throw new TesseraError('aborted', 'the backup was interrupted: nothing has changed');
    const place = join(dataDir, path);
    const stats = await stat(place, { bigint: true }).catch(ifMissing);
    if (stats === undefined) return undefined;
    const changed = String(stats.mtimeNs);
    const before = this.#known.get(path);
    const isSame = before?.changed === changed && before.bytes === Number(stats.size);
    if (isSame && (await this.#store.has(before.content, before.bytes))) return before;
    const bytes = await readWhole(place).catch(ifMissing);
    if (bytes === undefined) return undefined;
    const { name: content, isNew } = await this.#store.put(bytes);
    if (isNew) this.written.add(content);
    this.#report(bytes.length);
    return { path, bytes: bytes.length, content, changed };
  }

  /** Copies marker, keystore and keys: small files that are replaced as a whole. */
  async others(): Promise<readonly BackedUpFile[]> {
    const { dataDir } = this.#options;
    const entries = await readdir(dataDir, { withFileTypes: true });
    const names = entries.filter((entry) => entry.isFile() && !LEFT_OUT.test(entry.name)).map(({ name }) => name);
    const files: BackedUpFile[] = [];
    for (const name of names.sort()) {
      const bytes = await readWhole(join(dataDir, name));
      const { name: content, isNew } = await this.#store.put(bytes);
      if (isNew) this.written.add(content);
      files.push({ path: name, bytes: bytes.length, content, changed: '0' });
    }
    return files;
  }

  /** Reads back what was written, and makes the checks on each database that a node makes. */
  async check({ databases, files }: Listing): Promise<void> {
    for (const content of this.written) await this.#store.read(content);
    for (const name of databases) await checkBackedUp(name, files, this.#store);
  }

  #report(bytes: number): void {
    this.#done += bytes;
    this.#options.onProgress(this.#done, Math.max(this.#done, this.#total));
  }
}

async function newestListing(store: BackupStore): Promise<Listing | undefined> {
  const newest = (await store.names()).at(-1);
  return newest === undefined ? undefined : store.listing(newest);
}

/** The name of a backup at the time `now`; later than that of every existing backup, whatever the clock says. */
async function nextName(store: BackupStore, now: number): Promise<string> {
  const newest = (await store.names()).at(-1);
  const name = nameOf(now);
  return newest === undefined || name > newest ? name : nameOf(timeOf(newest) + 1);
}

function nameOf(time: number): string {
  return new Date(time).toISOString().replaceAll(/[-:.]/g, '');
}

/** The time that a backup is named by, in milliseconds since the Unix epoch. */
function timeOf(name: string): number {
  return Date.parse(name.replace(/^(....)(..)(..T..)(..)(..)(...Z)$/, '$1-$2-$3:$4:$5.$6'));
}

function sizeOf(files: readonly BackedUpFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

function invalid(path: string, what: string): TesseraError {
  return new TesseraError('data_dir_invalid', `${path} ${what}`);
}
