/** Source of the files of a database: its folder, or a backup of it. */

import { readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { TesseraError } from '../../lib/errors.js';
import { readWhole } from '../../lib/read-whole.js';
import { isSystemError } from '../../lib/system-error.js';

export interface DatabaseFiles {
  /** Names of all files. */
  list(): Promise<readonly string[]>;
  /** The content of a file; undefined when it is not there. */
  read(name: string): Promise<Buffer | undefined>;
  /** Bytes of a file; undefined when it is not there. */
  size(name: string): Promise<number | undefined>;
  /** Cuts off what follows the first `length` bytes. */
  cut(name: string, length: number): Promise<void>;
}

/** The files in a folder. */
export class FolderFiles implements DatabaseFiles {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async list(): Promise<readonly string[]> {
    return (await readdir(this.#path).catch(ifMissing)) ?? [];
  }

  read(name: string): Promise<Buffer | undefined> {
    return readWhole(join(this.#path, name)).catch(ifMissing);
  }

  async size(name: string): Promise<number | undefined> {
    return (await stat(join(this.#path, name)).catch(ifMissing))?.size;
  }

  cut(name: string, length: number): Promise<void> {
    return truncate(join(this.#path, name), length);
  }
}

/** The files in a folder that is only looked at: what a crash has left after the last write is cut off by the node. */
export class LookedAtFiles extends FolderFiles {
  override async cut(name: string): Promise<void> {
    if (!name.endsWith('.log')) throw new TesseraError('internal_error', `${name} is not to be cut`);
  }
}

function ifMissing(error: unknown): undefined {
  if (!isSystemError(error, 'ENOENT', 'ENOTDIR')) throw error;
}
