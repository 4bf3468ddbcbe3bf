/**
 * Reads what is left of a damaged database that was put aside. Its folder is repaired first (`salvage-repair.ts`), and
 * once more when it cannot be opened later.
 *
 * The result is the state of no moment: a deletion may be lost, and an older value may have come back. So it is good only
 * for records that are written once and that prove themselves, such as blocks under their hashes.
 */

import { basename } from 'node:path';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import { isUnreadable } from './database-error.js';
import type { Kv, KvEntry, KvRange } from './kv.js';
import { openError, readError } from './level-errors.js';
import { BINARY, type BinaryLevel, LevelReader } from './level-reader.js';
import { unsealRecord } from './record.js';
import { readFacts, type SalvageFacts } from './salvage-facts.js';
import { isRepaired, openLevel, repairAgain, repairFolder } from './salvage-repair.js';

const WAY_BACK = 'this is a copy that was put aside';
/** Entries that are looked at together for one that is whole. */
const CHUNK_ENTRIES = 100;
const CHUNK_BYTES = 64 * 1024;
const NOTHING_KNOWN: SalvageFacts = { acknowledged: 0, lost: null, bytes: 1 };

interface Opened {
  /** Undefined when there is nothing that LevelDB can open. */
  readonly level: BinaryLevel | undefined;
  readonly facts: SalvageFacts;
}

export class Salvage implements Pick<Kv, 'get' | 'getMany' | 'entries' | 'close'> {
  readonly path: string;
  /** Facts about the database. */
  readonly facts: SalvageFacts;
  readonly #level: BinaryLevel | undefined;
  readonly #reader: LevelReader;

  private constructor(path: string, { level, facts }: Opened) {
    this.path = path;
    this.facts = facts;
    this.#level = level;
    this.#reader = new LevelReader(basename(path), (work) => this.#use(work));
  }

  /**
   * Opens what was put aside in `path`, and repairs it first if need be. When a repair does not help, nothing can be read.
   * Throws `database_failed` when the system refuses: that says nothing of the data, and a later call may succeed.
   */
  static async open(path: string): Promise<Salvage> {
    const open = async (): Promise<Opened> => {
      const facts = isRepaired(path) ? await readFacts(path) : undefined;
      return openRepaired(path, facts ?? (await repairFolder(path)));
    };
    const again = async (): Promise<Opened> => openRepaired(path, await repairAgain(path));
    const opened = (await ifUsable(path, open)) ?? (await ifUsable(path, again));
    return new Salvage(path, opened ?? { level: undefined, facts: (await readFacts(path)) ?? NOTHING_KNOWN });
  }

  /** False when no record can be read. */
  get isReadable(): boolean {
    return this.#level !== undefined;
  }

  /** Throws `data_corrupt` when the record is damaged. */
  get(key: Uint8Array): Promise<Uint8Array | undefined> {
    return this.#reader.get(key);
  }

  getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    return this.#reader.getMany(keys);
  }

  entries(range: KvRange): AsyncIterable<KvEntry> {
    return this.#reader.entries(range);
  }

  /** The last key of the range whose record is not damaged. */
  async lastKey(range: KvRange): Promise<Uint8Array | undefined> {
    if (this.#level === undefined) return undefined;
    return this.#use(async (level) => {
      const iterator = level.iterator({ ...range, reverse: true, ...BINARY, highWaterMarkBytes: CHUNK_BYTES });
      try {
        for (let chunk = await iterator.nextv(CHUNK_ENTRIES); chunk.length > 0; ) {
          const found = chunk.find(([key, record]) => isWhole(key, record));
          if (found !== undefined) return found[0];
          chunk = await iterator.nextv(CHUNK_ENTRIES);
        }
        return undefined;
      } finally {
        await iterator.close();
      }
    });
  }

  async close(): Promise<void> {
    await this.#level?.close();
  }

  async #use<T>(work: (level: BinaryLevel) => Promise<T>): Promise<T> {
    if (this.#level === undefined) throw new TesseraError('data_corrupt', `nothing of ${this.path} can be read`);
    try {
      return await work(this.#level);
    } catch (error) {
      const named = readError(this.path, WAY_BACK, error);
      // What this disk does not give back may come from elsewhere.
      if (isUnreadable(named)) throw new TesseraError('data_corrupt', named.message, { cause: error });
      throw named;
    }
  }
}

async function openRepaired(path: string, facts: SalvageFacts): Promise<Opened> {
  return { level: facts.bytes === 0 ? undefined : await openLevel(path), facts };
}

/** Undefined when the files are missing or damaged. */
async function ifUsable<T>(path: string, open: () => Promise<T>): Promise<T | undefined> {
  try {
    return await open();
  } catch (thrown) {
    const error = openError(path, WAY_BACK, thrown);
    if (isTesseraError(error, 'data_corrupt') || isTesseraError(error, 'data_lost')) return undefined;
    throw error;
  }
}

function isWhole(key: Uint8Array, record: Uint8Array): boolean {
  try {
    unsealRecord(key, record);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
