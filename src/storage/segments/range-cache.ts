/** Cache of pieces of segments on disk: those read last. Each has a checksum, for a crash may cut it; on a full disk nothing is kept. */

import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { nextCrc32c } from '../../db/level-files/log.js';

const SUM_LENGTH = 4;
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const PIECE_NAME = /^\d{10}-[0-9a-f]{16}-\d+$/;

export class RangeCache {
  readonly #path: string;
  readonly #sizes: LRUCache<string, number>;

  private constructor(path: string, maxBytes: number) {
    this.#path = path;
    this.#sizes = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: (size) => size,
      dispose: (_size, name, reason) => {
        if (reason !== 'set') rm(join(path, name), { force: true }).catch(() => undefined);
      },
    });
  }

  /** Opens the folder, or makes it, and removes files that do not belong there any more. */
  static async open(path: string, maxBytes: number): Promise<RangeCache> {
    const cache = new RangeCache(path, Math.max(maxBytes, 1));
    await mkdir(path, { recursive: true, mode: FOLDER_MODE }).catch(() => undefined);
    for (const name of await readdir(path).catch(() => [])) {
      const size = PIECE_NAME.test(name) ? await stat(join(path, name)).catch(() => undefined) : undefined;
      if (size === undefined) await rm(join(path, name), { recursive: true, force: true }).catch(() => undefined);
      else cache.#sizes.set(name, size.size + 1);
    }
    return cache;
  }

  async get(name: string): Promise<Buffer | undefined> {
    if (this.#sizes.get(name) === undefined) return undefined;
    const file = await readFile(join(this.#path, name)).catch(() => undefined);
    const bytes = file?.subarray(SUM_LENGTH);
    if (file !== undefined && bytes !== undefined && file.length > SUM_LENGTH) {
      if (file.readUInt32LE(0) === nextCrc32c(bytes, 0)) return bytes;
    }
    this.#sizes.delete(name);
    return undefined;
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    const sum = Buffer.alloc(SUM_LENGTH);
    sum.writeUInt32LE(nextCrc32c(bytes, 0));
    try {
      await writeFile(join(this.#path, name), Buffer.concat([sum, bytes]), { mode: FILE_MODE });
      this.#sizes.set(name, bytes.length + SUM_LENGTH);
    } catch {
      await rm(join(this.#path, name), { force: true }).catch(() => undefined);
    }
  }

  /** Removes the pieces whose names begin with `prefix`. */
  forget(prefix: string): void {
    for (const name of [...this.#sizes.keys()]) if (name.startsWith(prefix)) this.#sizes.delete(name);
  }
}
