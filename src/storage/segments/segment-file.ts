/** Reads and writes the files of segments: the system may take or give less at once than it is asked for. */

import { constants } from 'node:fs';
import { chmod, type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { unreadable } from '../../db/database-error.js';
import { syncFolder } from '../../db/write-file-durable.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { isSystemError } from '../../lib/system-error.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { recordPieces, type SegmentBlock } from './record.js';
import { encodeFooter, type Footer, footerLength, type Range, summarize } from './scan.js';

/** File mode of the open segment. */
export const OPEN_MODE = 0o600;
/** The most files that are kept open for reading. */
const OPEN_FILES = 64;

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    if (bytesWritten === 0) throw new Error('the system takes no more bytes');
    done += bytesWritten;
  }
}

/** Writes a record, each piece in its turn; gives its end. */
export async function writeRecord(
  file: FileHandle,
  block: SegmentBlock,
  position: number,
  slices?: TimeSlices,
): Promise<number> {
  let at = position;
  for (const piece of recordPieces(block)) {
    if (slices?.isUsedUp) await slices.turn();
    await writeAll(file, piece, at);
    at += piece.length;
  }
  return at;
}

/** Writes the footer of a segment whose records end at `end`, or with the file, and syncs it; undefined while one of them is damaged. */
export async function writeFooter(
  file: FileHandle,
  range: Range,
  end: number,
  path: string,
): Promise<Footer | undefined> {
  const read = (offset: number, length: number) => readAll(file, offset, length, path);
  const footer = await summarize(read, range, end);
  if (footer === undefined) return undefined;
  await writeAll(file, encodeFooter(footer), footer.end);
  await file.truncate(footer.end + footerLength(range.last - range.first + 1));
  await file.datasync();
  return footer;
}

/** Opens a segment to append to it; undefined when there is no such file and `create` is false. */
export async function openToAppend(folder: string, name: string, create: boolean): Promise<FileHandle | undefined> {
  const path = join(folder, name);
  const isThere = (await readdir(folder)).includes(name);
  if (!isThere && !create) return undefined;
  // The file still has the mode of a closed segment when the process ended in between.
  if (isThere) await chmod(path, OPEN_MODE);
  const file = await open(path, constants.O_RDWR | constants.O_CREAT, OPEN_MODE);
  if (create) {
    await syncFolder(folder).catch(async (error: unknown) => {
      await file.close();
      throw error;
    });
  }
  return file;
}

/** Reads `length` bytes, fewer at the end of the file. A disk may give less at once; only nothing means the end. */
export async function readAll(file: FileHandle, offset: number, length: number, path: string): Promise<Buffer> {
  // The block gets memory of its own: a cached part would keep a whole pool alive.
  const bytes = Buffer.allocUnsafeSlow(length);
  let done = 0;
  try {
    while (done < length) {
      const { bytesRead } = await file.read(bytes, done, length - done, offset + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
  } catch (error) {
    if (isSystemError(error, 'EIO')) throw unreadable(path, errorMessage(error), error);
    throw error;
  }
  return bytes.subarray(0, done);
}

/** The error of an operation that the system refuses. */
export function refusal(path: string, error: unknown): unknown {
  if (error instanceof TesseraError) return error;
  const message = `the segments in ${path} cannot be used: ${errorMessage(error)}`;
  return new TesseraError('database_failed', message, { cause: error });
}

export function lost(what: string): TesseraError {
  const wayBack =
    'run tessera rebuild, which keeps the blocks that can be read, or restore the data directory from a backup; missing blocks then come from other storage nodes';
  return new TesseraError('data_lost', `archive: ${what}: ${wayBack}`);
}

/** The error that names a damaged segment. */
export function damagedIn(name: string, height: number, cause: unknown): TesseraError {
  return new TesseraError(
    'data_corrupt',
    `archive: block ${height} is damaged in the segment ${name}. Start the node again: with another one in peers.storage it heals by itself; else run tessera rebuild, or restore the data directory from a backup`,
    { cause, details: { segment: name, height } },
  );
}

/** Closed segments that are open for reading. */
export class SegmentHandles {
  readonly #path: string;
  readonly #files = new LRUCache<number, Promise<FileHandle>>({
    max: OPEN_FILES,
    // Closing waits for the reads that are under way.
    dispose: (handle) => void handle.then((file) => file.close()).catch(() => undefined),
  });

  constructor(path: string) {
    this.#path = path;
  }

  get({ first, name }: { readonly first: number; readonly name: string }): Promise<FileHandle> {
    const known = this.#files.get(first);
    if (known !== undefined) return known;
    const opened = open(join(this.#path, name), 'r').catch((error: unknown) => {
      this.#files.delete(first);
      if (isSystemError(error, 'ENOENT')) throw lost(`the segment ${name} is not there any more`);
      throw refusal(this.#path, error);
    });
    this.#files.set(first, opened);
    return opened;
  }

  keep(first: number, file: FileHandle): void {
    this.#files.set(first, Promise.resolve(file));
  }

  drop(first: number): void {
    this.#files.delete(first);
  }

  close(): void {
    this.#files.clear();
  }
}
