/** Reads from a database of the abstract-level family: each record is checked, and the caller names errors. */

import type { KvEntry, KvRange } from './kv.js';
import { openRecord } from './record.js';

/** Entries that an iteration takes from LevelDB at once, and the bytes that end a chunk earlier. */
const CHUNK_ENTRIES = 1_000;
const CHUNK_BYTES = 256 * 1024;

export const BINARY = { keyEncoding: 'view', valueEncoding: 'view' } as const;

type Entry = [key: Uint8Array, record: Uint8Array];

/** The part of an abstract-level database that is used here. */
export interface BinaryLevel {
  get(key: Uint8Array, options: typeof BINARY): Promise<Uint8Array | undefined>;
  getMany(keys: Uint8Array[], options: typeof BINARY): Promise<(Uint8Array | undefined)[]>;
  /** A batch that is handed over write by write. */
  batch(): LevelBatch;
  iterator(options: typeof BINARY & KvRange & { readonly highWaterMarkBytes: number }): LevelIterator;
  close(): Promise<void>;
}

export interface LevelBatch {
  put(key: Uint8Array, value: Uint8Array, options: typeof BINARY): LevelBatch;
  write(options: { readonly sync: boolean }): Promise<void>;
  close(): Promise<void>;
}

interface LevelIterator {
  nextv(size: number): Promise<Entry[]>;
  close(): Promise<void>;
}

/** Runs a read on the open database, and once more if the database was reopened meanwhile. */
export type UseLevel = <T>(work: (level: BinaryLevel) => Promise<T>) => Promise<T>;

export class LevelReader {
  readonly #name: string;
  readonly #use: UseLevel;

  constructor(name: string, use: UseLevel) {
    this.#name = name;
    this.#use = use;
  }

  async get(key: Uint8Array): Promise<Uint8Array | undefined> {
    const record = await this.#use((level) => level.get(key, BINARY));
    return record && openRecord(this.#name, key, record);
  }

  async getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    const records = await this.#use((level) => level.getMany([...keys], BINARY));
    return records.map((record, i) => {
      const key = keys[i];
      return record && key && openRecord(this.#name, key, record);
    });
  }

  async *entries(range: KvRange): AsyncGenerator<KvEntry> {
    const cursor = new Cursor(range);
    try {
      for (;;) {
        const chunk = await this.#use((level) => cursor.next(level));
        if (chunk.length === 0) return;
        for (const [key, record] of chunk) yield [key, openRecord(this.#name, key, record)];
      }
    } finally {
      await cursor.close();
    }
  }
}

/** A place in a range, which outlives the database that it was opened on. */
class Cursor {
  #range: KvRange;
  #level: BinaryLevel | undefined;
  #iterator: LevelIterator | undefined;

  constructor(range: KvRange) {
    this.#range = range;
  }

  async next(level: BinaryLevel): Promise<Entry[]> {
    if (this.#iterator === undefined || this.#level !== level) {
      await this.close();
      const { gte, lt, reverse = false, limit = -1 } = this.#range;
      this.#level = level;
      this.#iterator = level.iterator({ gte, lt, reverse, limit, ...BINARY, highWaterMarkBytes: CHUNK_BYTES });
    }
    const chunk = await this.#iterator.nextv(CHUNK_ENTRIES);
    this.#advance(chunk);
    return chunk;
  }

  async close(): Promise<void> {
    await this.#iterator?.close();
    this.#iterator = undefined;
  }

  /** Remembers the rest of the range, in case the range must be opened again. */
  #advance(chunk: readonly Entry[]): void {
    const last = chunk.at(-1)?.[0];
    if (last === undefined) return;
    const { gte, lt, reverse = false, limit } = this.#range;
    this.#range = {
      gte: reverse ? gte : Buffer.concat([last, Uint8Array.of(0)]),
      lt: reverse ? last : lt,
      reverse,
      ...(limit === undefined || limit < 0 ? {} : { limit: limit - chunk.length }),
    };
  }
}
