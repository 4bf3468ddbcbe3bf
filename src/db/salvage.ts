/**
 * What can still be read of a damaged database that was put aside. LevelDB gets to see only files whose every checksum is
 * right: logs are cut where they break, damaged tables are taken away, and LevelDB's own repair makes a MANIFEST for the
 * rest. What the damaged tables hold in sound blocks is put back then.
 *
 * The result is the state of no moment: a deletion may be lost, and an older value may have come back. So it is good only
 * for records that are written once and that prove themselves, such as blocks under their hashes.
 */

import { existsSync } from 'node:fs';
import { readdir, readFile, rename, truncate } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { isTesseraError } from '../lib/errors.js';
import { failpoint } from '../lib/failpoints.js';
import { bringBackFiles } from './kept-files.js';
import type { Kv, KvEntry, KvRange } from './kv.js';
import { openError, readError } from './level-errors.js';
import { readLog } from './level-files/log.js';
import { checkBlocks, soundValues } from './level-files/table.js';
import { BINARY, type BinaryLevel, LevelReader, type Operation } from './level-reader.js';
import { writeFileDurable } from './write-file-durable.js';

const TABLE = /^\d+\.(ldb|sst)$/;
const LOG = /^\d+\.log$/;
/** What a damaged table is called, so that LevelDB takes it for none of its own. */
const DAMAGED = '.damaged';
/** In the folder, once it has been repaired. */
const REPAIRED_FILE = 'repaired';
const WAY_BACK = 'this is a copy that was put aside';
/** Bytes of records in one write. */
const WRITE_BYTES = 4 * 1024 * 1024;

export class Salvage implements Pick<Kv, 'get' | 'getMany' | 'entries' | 'close'> {
  readonly #level: BinaryLevel;
  readonly #reader: LevelReader;

  private constructor(path: string, level: BinaryLevel) {
    this.#level = level;
    this.#reader = new LevelReader(basename(path), async (work) => {
      try {
        return await work(level);
      } catch (error) {
        throw readError(path, WAY_BACK, error);
      }
    });
  }

  /**
   * Opens what was put aside in `path`, and repairs it first; undefined when there is nothing that LevelDB can use. Throws
   * `database_failed` when the system refuses.
   */
  static async open(path: string): Promise<Salvage | undefined> {
    if (existsSync(join(path, REPAIRED_FILE))) {
      const level = await openLevel(path).catch(ifDamaged);
      if (level !== undefined) return new Salvage(path, level);
      // Its removal was interrupted: what is left is repaired once more.
    }
    if (!(await repair(path))) return undefined;
    return new Salvage(path, await openLevel(path));
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

  close(): Promise<void> {
    return this.#level.close();
  }
}

async function openLevel(path: string): Promise<BinaryLevel> {
  const level = new ClassicLevel<Uint8Array, Uint8Array>(path, { ...BINARY, createIfMissing: false });
  await level.open().catch((error: unknown) => {
    throw openError(path, WAY_BACK, error);
  });
  return level;
}

/** False when nothing is left that LevelDB can use. Interrupted at any moment, it is done again. */
async function repair(path: string): Promise<boolean> {
  const name = basename(path);
  await bringBackFiles(path);
  await keepSoundFiles(path);
  failpoint('salvage.sound', name);
  const isRepaired = await ClassicLevel.repair(path).then(
    () => true,
    (error: unknown) => ifDamaged(openError(path, WAY_BACK, error)),
  );
  if (isRepaired !== true) return false;
  failpoint('salvage.repaired', name);
  await putBack(path);
  await writeFileDurable(join(path, REPAIRED_FILE), new Uint8Array(), 0o600);
  failpoint('salvage.ready', name);
  return true;
}

function ifDamaged(error: unknown): undefined {
  if (!isTesseraError(error, 'data_lost') && !isTesseraError(error, 'data_corrupt')) throw error;
}

async function keepSoundFiles(path: string): Promise<void> {
  for (const name of await readdir(path)) {
    const file = join(path, name);
    if (LOG.test(name)) {
      const { records, fault } = readLog(await readFile(file));
      if (fault !== null) await truncate(file, records.at(-1)?.end ?? 0);
    } else if (TABLE.test(name) && !isSound(await readFile(file))) {
      await rename(file, file + DAMAGED);
    }
  }
}

function isSound(table: Buffer): boolean {
  try {
    checkBlocks(table);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Writes what the damaged tables still hold, where the sound ones have nothing. */
async function putBack(path: string): Promise<void> {
  const damaged = (await readdir(path)).filter((name) => name.endsWith(DAMAGED));
  if (damaged.length === 0) return;
  const level = await openLevel(path);
  try {
    for (const name of damaged) {
      let batch: Operation[] = [];
      let bytes = 0;
      for (const { key, value } of soundValues(await readFile(join(path, name)))) {
        if ((await level.get(key, BINARY)) !== undefined) continue;
        batch.push({ type: 'put', key, value });
        bytes += key.length + value.length;
        if (bytes < WRITE_BYTES) continue;
        await level.batch(batch, { ...BINARY, sync: false });
        batch = [];
        bytes = 0;
      }
      await level.batch(batch, { ...BINARY, sync: true });
    }
  } finally {
    await level.close();
  }
}
