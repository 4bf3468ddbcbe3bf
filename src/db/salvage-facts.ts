/**
 * Facts about a database that was put aside: what it held, and which of its files are damaged. They are found before anything
 * is changed there, and kept in the folder: a repair that was interrupted must not take what it has moved for lost.
 */

import { type FileHandle, open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { utf8 } from '../lib/bytes.js';
import { isSystemError } from '../lib/system-error.js';
import { marksOf } from './level-files/check-files.js';
import { FolderFiles } from './level-files/database-files.js';
import { type LogRecord, readLog } from './level-files/log.js';
import { type Manifest, readManifest, tableName } from './level-files/manifest.js';
import { checkBlocks, newestOfLastKey } from './level-files/table.js';
import { SEAL_ASIDE } from './put-aside.js';
import { unsealRecord } from './record.js';
import { decodeMark, isSameDatabase, MARK_KEY, type Mark, readSeal } from './seal.js';
import { writeFileDurable } from './write-file-durable.js';

export const TABLE = /^\d+\.(ldb|sst)$/;
export const LOG = /^\d+\.log$/;
const FACTS_FILE = 'facts.json';
const FILE_MODE = 0o600;
/** Bytes that are read at once of a file that cannot be read whole. */
const PIECE_BYTES = 4096;

const SalvageFacts = Type.Object({
  /** Number of writes that were acknowledged, as the seal says; 0 when there is none of this database. */
  acknowledged: Type.Integer({ minimum: 0 }),
  /** Number of the last ones that are in no file; null when it cannot be told which is the last one that is there. */
  lost: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
  /** Bytes of its tables and logs. */
  bytes: Type.Integer({ minimum: 0 }),
});
export type SalvageFacts = Static<typeof SalvageFacts>;

export interface Examined {
  readonly facts: SalvageFacts;
  /** Tables that are not whole. */
  readonly damaged: readonly string[];
}

/** Facts of an earlier examination; undefined before the first one. */
export async function readFacts(path: string): Promise<SalvageFacts | undefined> {
  try {
    const content: unknown = JSON.parse(await readFile(join(path, FACTS_FILE), 'utf8'));
    return Value.Check(SalvageFacts, content) ? content : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || isSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

export async function writeFacts(path: string, facts: SalvageFacts): Promise<void> {
  await writeFileDurable(join(path, FACTS_FILE), utf8(JSON.stringify(facts)), FILE_MODE);
}

/** Reads every byte of the tables and logs in the folder, with `read`. */
export async function examine(path: string, read = readWhatCan): Promise<Examined> {
  const names = await readdir(path);
  const sealed = await readSeal(join(path, SEAL_ASIDE));
  const damaged: string[] = [];
  const marks: Mark[] = [];
  let bytes = 0;
  let isAllRead = true;
  for (const name of names.filter((other) => TABLE.test(other))) {
    const { content: table, isWhole } = await read(join(path, name));
    isAllRead &&= isWhole;
    bytes += table.length;
    if (!isSound(table)) damaged.push(name);
    const mark = markIn(table);
    if (isOf(sealed, mark)) marks.push(mark);
  }
  let hasNewest = false;
  for (const name of byNumber(names.filter((other) => LOG.test(other)))) {
    const { content: log, isWhole } = await read(join(path, name));
    isAllRead &&= isWhole;
    bytes += log.length;
    const { records, fault } = readLog(log);
    const inLog = marksOf([...records, ...(fault?.later ?? [])]).filter((mark) => isOf(sealed, mark));
    marks.push(...inLog);
    // The newest log has what came after all tables.
    hasNewest = inLog.length > 0;
  }
  const whole = names.filter((name) => !damaged.includes(name));
  // What the disk did not give back now, it may give back to the repair.
  const isKnown = isAllRead && (hasNewest || (await hasAllTables(path, whole)));
  const acknowledged = sealed?.number ?? 0;
  const last = Math.max(0, ...marks.map(({ number }) => number));
  return { facts: { acknowledged, lost: isKnown ? Math.max(0, acknowledged - last) : null, bytes }, damaged };
}

/** Tells whether a mark is of the database of that seal: a file of another database may have been put there. */
function isOf(sealed: Mark | undefined, mark: Mark | undefined): mark is Mark {
  return mark !== undefined && (sealed === undefined || isSameDatabase(mark, sealed));
}

/** The whole records of a log that was put aside, those behind a fault included, and those of another database left out. */
export async function ownRecords(path: string, name: string): Promise<LogRecord[]> {
  const sealed = await readSeal(join(path, SEAL_ASIDE));
  const { records, fault } = readLog((await readWhatCan(join(path, name))).content);
  return [...records, ...(fault?.later ?? [])].filter((record) => {
    const [mark] = marksOf([record]);
    return mark === undefined || isOf(sealed, mark);
  });
}

async function hasAllTables(path: string, whole: readonly string[]): Promise<boolean> {
  const manifest = await unlessDamaged(() => readManifest(new FolderFiles(path)));
  const isThere = (table: Manifest['tables'][number]): boolean =>
    whole.includes(tableName(table)) || whole.includes(tableName(table, 'sst'));
  return manifest?.tables.every(isThere) ?? false;
}

/** The oldest first. */
export function byNumber(names: readonly string[]): string[] {
  return [...names].sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
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

/** The newest mark in a table, where its last key is one. */
function markIn(table: Buffer): Mark | undefined {
  try {
    const record = newestOfLastKey(table);
    return record && decodeMark(unsealRecord(MARK_KEY, record));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

async function unlessDamaged<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof RangeError || isSystemError(error, 'EIO')) return undefined;
    throw error;
  }
}

interface ReadFile {
  readonly content: Buffer;
  /** False when the disk has failed to give something back. */
  readonly isWhole: boolean;
}

/** The content of a file, with zeros where the disk does not give it back. */
export async function readWhatCan(
  file: string,
  readAll: (file: string) => Promise<Buffer> = readFile,
): Promise<ReadFile> {
  try {
    return { content: await readAll(file), isWhole: true };
  } catch (error) {
    if (!isSystemError(error, 'EIO')) throw error;
  }
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    const bytes = Buffer.alloc(size);
    for (let at = 0; at < size; at += PIECE_BYTES) await readPiece(handle, bytes, at);
    return { content: bytes, isWhole: false };
  } finally {
    await handle.close();
  }
}

async function readPiece(handle: FileHandle, into: Buffer, at: number): Promise<void> {
  try {
    await handle.read(into, at, Math.min(PIECE_BYTES, into.length - at), at);
  } catch (error) {
    if (!isSystemError(error, 'EIO')) throw error;
  }
}
