/**
 * Closed segments in the object store: ranges of them, through a cache on disk, and whole ones. Nothing from there is believed: a
 * whole segment must have the digest of its name, and whoever reads a range checks its contents by their hashes.
 */

import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TesseraError } from '../../lib/errors.js';
import type { ObjectStore } from './object-store.js';
import { RangeCache } from './range-cache.js';
import type { ReadSegment } from './scan.js';
import { SegmentCheck } from './segment-check.js';
import { readAll } from './segment-file.js';

/** Bytes of a cached piece: more than a transaction takes, so that its neighbours come with it. */
const PIECE_BYTES = 256 * 1024;
/** Digits of the segment's digest in the name of a piece. */
const DIGEST_DIGITS = 16;
const FILE_MODE = 0o600;

export interface FarSegmentsOptions {
  /** Folder for fetched segments and pieces. */
  readonly path: string;
  readonly cacheBytes: number;
}

/** A whole segment in a local file, until `close`. */
export interface Fetched {
  readonly size: number;
  readonly read: ReadSegment;
  close(): Promise<void>;
}

export class FarSegments {
  readonly store: ObjectStore;
  readonly #options: FarSegmentsOptions;
  readonly #coming = new Map<string, Promise<Buffer>>();
  #cache: Promise<RangeCache> | undefined;
  #fetches = 0;

  constructor(options: FarSegmentsOptions, store: ObjectStore) {
    this.#options = options;
    this.store = store;
  }

  /** Bytes of a segment; fewer at its end. Throws `archive_incomplete` when the store does not give them. */
  async read(name: string, offset: number, length: number): Promise<Buffer> {
    const first = Math.floor(offset / PIECE_BYTES);
    const last = Math.floor((offset + Math.max(length, 1) - 1) / PIECE_BYTES);
    const cache = await this.#opened();
    const pieces: Promise<Buffer>[] = [];
    for (let from = first; from <= last; ) {
      const known = this.#coming.get(pieceName(name, from)) ?? (await cache.get(pieceName(name, from)));
      if (known !== undefined) {
        pieces.push(Promise.resolve(known));
        from += 1;
        continue;
      }
      let to = from + 1;
      while (to <= last && !this.#coming.has(pieceName(name, to)) && !(await cache.get(pieceName(name, to)))) to += 1;
      pieces.push(...this.#fetchPieces(cache, name, from, to));
      from = to;
    }
    const bytes = Buffer.concat(await Promise.all(pieces));
    const start = offset - first * PIECE_BYTES;
    return bytes.subarray(start, start + length);
  }

  /** Fetches a whole segment into a file. Throws `archive_incomplete`, also when its digest is not that of its name. */
  async fetch(name: string): Promise<Fetched> {
    await this.#opened();
    const size = await this.store.sizeOf(name);
    if (size === undefined) throw this.#wrong(`has no segment ${name}`);
    const path = join(this.#options.path, `${this.#fetches++}.fetched`);
    const file = await open(path, 'w+', FILE_MODE);
    const close = async (): Promise<void> => {
      await file.close();
      await rm(path, { force: true });
    };
    try {
      const check = new SegmentCheck(name, size);
      await this.store.read(name, async (chunk) => {
        check.update(chunk);
        await file.writeFile(chunk);
      });
      if (!(await check.isRight())) throw this.#wrong(`gave other bytes for the segment ${name} than it was given`);
      return { size, read: (offset, length) => readAll(file, offset, length, path), close };
    } catch (error) {
      await close();
      throw error;
    }
  }

  /** True when the store has the segment, and all of it, read again, has the digest of its name. */
  async has(name: string): Promise<boolean> {
    const size = await this.store.sizeOf(name);
    if (size === undefined) return false;
    const check = new SegmentCheck(name, size);
    await this.store.read(name, (chunk) => check.update(chunk));
    return check.isRight();
  }

  /** The error for wrong bytes of a range; the cache forgets the segment, so that it is fetched again. */
  damaged(name: string, height: number): TesseraError {
    const forgotten = this.#opened().then((cache) => cache.forget(pieceName(name)));
    // A cache that cannot be opened now has nothing to forget.
    forgotten.catch(() => undefined);
    return this.#wrong(`gave other bytes for block ${height}, in the segment ${name}, than it was given`);
  }

  close(): void {
    this.store.close();
  }

  #opened(): Promise<RangeCache> {
    this.#cache ??= RangeCache.open(this.#options.path, this.#options.cacheBytes);
    return this.#cache;
  }

  /** Fetches successive pieces by one request. */
  #fetchPieces(cache: RangeCache, name: string, from: number, to: number): Promise<Buffer>[] {
    const range = this.#fetchRange(name, from * PIECE_BYTES, to * PIECE_BYTES);
    return Array.from({ length: to - from }, (_, i) => {
      const key = pieceName(name, from + i);
      const piece = range.then(async (bytes) => {
        const part = bytes.subarray(i * PIECE_BYTES, (i + 1) * PIECE_BYTES);
        if (part.length > 0) await cache.put(key, part);
        return part;
      });
      this.#coming.set(key, piece);
      const end = (): boolean => this.#coming.delete(key);
      piece.then(end, end);
      return piece;
    });
  }

  async #fetchRange(name: string, from: number, to: number): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    const take = (chunk: Uint8Array): void => {
      length += chunk.length;
      if (length > to - from) throw this.#wrong(`gave more of the segment ${name} than it was asked for`);
      chunks.push(chunk);
    };
    await this.store.read(name, take, [from, to]);
    return Buffer.concat(chunks);
  }

  #wrong(what: string): TesseraError {
    return new TesseraError('archive_incomplete', `the object store ${what}. Try again later.`);
  }
}

function pieceName(name: string, index?: number): string {
  const [first = '', , digest = ''] = name.split('-');
  return `${first}-${digest.slice(0, DIGEST_DIGITS)}-${index ?? ''}`;
}
