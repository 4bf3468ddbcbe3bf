/** Reading and writing the files of segments: a system may take or give less at once than it is asked for. */

import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { unreadable } from '../../db/database-error.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { isSystemError } from '../../lib/system-error.js';

/** Files that are kept open for reading. */
const OPEN_FILES = 64;

export async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    if (bytesWritten === 0) throw new Error('the system takes no more bytes');
    done += bytesWritten;
  }
}

/** A disk may give less at once than is asked for; only nothing means the end. */
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

/** The error for what the system refuses. */
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
