/**
 * Makes what was put aside readable for LevelDB again. Nothing is thrown away: a damaged table and every log are only taken
 * out of LevelDB's sight, its own repair makes a MANIFEST for the sound tables, and then all that the others hold in sound
 * blocks and records is put back. A repair that is interrupted, or refused by the system, is begun again.
 *
 * LevelDB's repair reads no log here: it does not look at checksums, and drops a log that it cannot convert.
 */

import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { failpoint } from '../lib/failpoints.js';
import { bringBackFiles } from './kept-files.js';
import { readBatch } from './level-files/batch.js';
import type { LogRecord } from './level-files/log.js';
import { soundValues, type TableEntry } from './level-files/table.js';
import { BINARY, type BinaryLevel, type Operation } from './level-reader.js';
import {
  byNumber,
  examine,
  LOG,
  ownRecords,
  readFacts,
  readWhatCan,
  type SalvageFacts,
  TABLE,
  writeFacts,
} from './salvage-facts.js';
import { syncFolder, writeFileDurable } from './write-file-durable.js';

/** A file out of LevelDB's sight: its own name and a number, for LevelDB may use the name again. */
const ASIDE = /^(\d+\.(?:ldb|sst|log))\.\d+\.damaged$/;
/** Folder where LevelDB's repair puts what it does not use. */
const LOST_FOLDER = 'lost';
/** Marker in the folder, once it has been repaired. */
const REPAIRED_FILE = 'repaired';
const FILE_MODE = 0o600;
/** Bytes of records in one write. */
const WRITE_BYTES = 4 * 1024 * 1024;

export function isRepaired(path: string): boolean {
  return existsSync(join(path, REPAIRED_FILE));
}

/** The same for one that was repaired and is damaged again: how much is lost in all cannot be told any more. */
export async function repairAgain(path: string): Promise<SalvageFacts> {
  const known = (await readFacts(path)) ?? (await examine(path)).facts;
  await writeFacts(path, { ...known, lost: null });
  await rm(join(path, REPAIRED_FILE), { force: true });
  await syncFolder(path);
  return repairFolder(path);
}

/** Repairs the database in the folder, whatever state it is in. Reads every byte of it. */
export async function repairFolder(path: string): Promise<SalvageFacts> {
  const known = await readFacts(path);
  // Later its numbers may be those of other files.
  if (known === undefined) await bringBackFiles(path);
  const { facts: found, damaged } = await examine(path);
  const facts = known ?? found;
  await writeFacts(path, facts);
  for (const name of damaged) await setAside(path, path, name);
  await setLogsAside(path);
  await setLostAside(path);
  failpoint('salvage.sound', basename(path));
  if (facts.bytes > 0) {
    await ClassicLevel.repair(path);
    failpoint('salvage.repaired', basename(path));
    // A table that the system did not let it read.
    await setLostAside(path);
    await putBack(path);
  }
  await writeFileDurable(join(path, REPAIRED_FILE), new Uint8Array(), FILE_MODE);
  failpoint('salvage.ready', basename(path));
  return facts;
}

export async function openLevel(path: string): Promise<BinaryLevel> {
  const level = new ClassicLevel<Uint8Array, Uint8Array>(path, { ...BINARY, createIfMissing: false });
  await level.open();
  return level;
}

async function setLogsAside(path: string): Promise<void> {
  for (const name of await readdir(path)) if (LOG.test(name)) await setAside(path, path, name);
  await syncFolder(path);
}

async function setLostAside(path: string): Promise<void> {
  const lost = join(path, LOST_FOLDER);
  if (!existsSync(lost)) return;
  for (const name of await readdir(lost)) if (TABLE.test(name) || LOG.test(name)) await setAside(path, lost, name);
  await syncFolder(path);
}

async function setAside(path: string, from: string, name: string): Promise<void> {
  let number = 1;
  while (existsSync(join(path, `${name}.${number}.damaged`))) number++;
  await rename(join(from, name), join(path, `${name}.${number}.damaged`));
}

/** Writes what was set aside: of tables what is nowhere else, then of logs all, for they are the newer ones. */
async function putBack(path: string): Promise<void> {
  const aside = byNumber((await readdir(path)).filter((name) => ASIDE.test(name)));
  if (aside.length === 0) return;
  const level = await openLevel(path);
  try {
    const logs = aside.filter((name) => LOG.test(ASIDE.exec(name)?.[1] ?? ''));
    for (const name of aside.filter((other) => !logs.includes(other))) {
      const missing = new Writes(level);
      for (const entry of newestOf(soundValues((await readWhatCan(join(path, name))).content))) {
        if ((await level.get(entry.key, BINARY)) === undefined) await missing.add(entry);
      }
      await missing.end();
    }
    for (const name of logs) {
      const writes = new Writes(level);
      for (const entry of putsIn(await ownRecords(path, name))) await writes.add(entry);
      await writes.end();
    }
  } finally {
    await level.close();
  }
}

/** Gathers writes, and hands them over now and then. */
class Writes {
  readonly #level: BinaryLevel;
  #batch: Operation[] = [];
  #bytes = 0;

  constructor(level: BinaryLevel) {
    this.#level = level;
  }

  async add({ key, value }: TableEntry): Promise<void> {
    this.#batch.push({ type: 'put', key, value });
    this.#bytes += key.length + value.length;
    if (this.#bytes >= WRITE_BYTES) await this.#write(false);
  }

  async end(): Promise<void> {
    await this.#write(true);
  }

  async #write(sync: boolean): Promise<void> {
    await this.#level.batch(this.#batch, { ...BINARY, sync });
    this.#batch = [];
    this.#bytes = 0;
  }
}

/** A table has the versions of a key side by side, the newest first. */
function* newestOf(entries: Iterable<TableEntry>): Generator<TableEntry, undefined> {
  let last: Uint8Array | undefined;
  for (const entry of entries) {
    if (last === undefined || Buffer.compare(last, entry.key) !== 0) yield entry;
    last = entry.key;
  }
}

function* putsIn(records: readonly LogRecord[]): Generator<TableEntry, undefined> {
  for (const { data } of records) {
    for (const { key, value } of writesIn(data)) if (value !== undefined) yield { key, value };
  }
}

function writesIn(record: Uint8Array): ReturnType<typeof readBatch> {
  try {
    return readBatch(record);
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}
