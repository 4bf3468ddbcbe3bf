/**
 * The store of a journal: records whose keys rise are appended to a row of log files, and leave it from the front, by whole files.
 * Nothing is ever merged or written again. Keys of one byte are notes: few, small, kept in memory, and before all other keys.
 *
 * To those who check, copy and restore them, the files are those of a database whose LevelDB has not made its first table yet: CURRENT, a MANIFEST
 * that names the oldest log, and logs of batches with marks (`level-files/README.md`). Each log begins with a batch that repeats the notes,
 * and whose mark says that the batches before it may be gone. A folder that LevelDB has written is brought over when it is opened.
 *
 * What a failed write has left is cut off before anything else is written, and what comes next goes into a new file: the pages of
 * a file that could not be synced may be gone from memory, and a second sync would not say so.
 */

import { randomBytes } from 'node:crypto';
import { fdatasync, writeSync } from 'node:fs';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { compareBytes } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import { failpoint } from '../lib/failpoints.js';
import { atOnce, inPieces } from '../lib/pieces.js';
import { readWhole } from '../lib/read-bounded.js';
import { ifMissing } from '../lib/system-error.js';
import { closedError, openError, writeError } from './database-error.js';
import { checkRoom } from './disk-room.js';
import { folderOf } from './kept-files.js';
import type { Kv, KvBatch, KvEntry, KvRange } from './kv.js';
import { checkFiles } from './level-files/check-files.js';
import { encodeRecord, readLog } from './level-files/log.js';
import { CURRENT, encodeManifest, FolderFiles, logName, logsFrom, readManifest } from './level-files/manifest.js';
import { encodeBatch, readBatch } from './level-files/varints.js';
import { DEFAULT_WAY_BACK, LevelKv, type LevelKvOptions } from './level-kv.js';
import { openRecord, PendingBatch, type PendingWrite, recordChecksums, sealRecord, writesOf } from './record.js';
import { encodeMark, MARK_KEY, type Mark, nextMark, readSeal, Seal, sealPath } from './seal.js';
import { StoreWrites } from './store-writes.js';
import { syncFolder, writeFileDurable } from './write-file-durable.js';

const FILE_BYTES = 4 * 1024 * 1024;
/** Most bytes that are written synchronously, into the system's memory: waking a thread for so few costs more. */
const WRITTEN_AT_ONCE = 64 * 1024;
/** Largest record, in bytes, that is made in one turn of the event loop. */
const LARGE_BYTES = 1024 * 1024;
/** LevelDB sequence numbers for each batch, more than it has writes. They exceed LevelDB's own, should it read a half converted folder. */
const SEQUENCES = 2 ** 20;
/** File numbers left to LevelDB while its records are read. */
const SPARE_NUMBERS = 1_000;
const ID_LENGTH = 16;
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const NUMBERED = /^(?:MANIFEST-)?(\d+)(?:\.\w+)?$/;

const syncData = promisify(fdatasync);

interface Part {
  readonly number: number;
  /** First and last key of the part, notes left out; undefined for none. */
  first?: Uint8Array;
  last?: Uint8Array;
}

export class LogKv implements Kv {
  readonly #path: string;
  readonly #name: string;
  readonly #wayBack: string;
  readonly #options: LevelKvOptions;
  readonly #writes: StoreWrites;
  #seal: Seal | undefined;
  /** Marks of the last acknowledged batch, and of the last one in the seal. */
  #last: Mark = { id: randomBytes(ID_LENGTH), number: 0, digest: 0, isSynced: true };
  #sealed: Mark | undefined;
  /** The log files, the oldest first; the last one is written to. */
  #parts: Part[] = [];
  #notes = new Map<number, PendingWrite>();
  /** The highest deleted key: all keys up to it are deleted. */
  #deletedTo: Uint8Array = new Uint8Array();
  #file: FileHandle | undefined;
  /** Acknowledged bytes of the last part. */
  #size = 0;
  #nextNumber = 1;
  /** True after a failed write, until its remains are cut off. */
  #isSpoiled = false;

  private constructor(path: string, options: LevelKvOptions) {
    this.#path = path;
    this.#name = basename(path);
    this.#options = options;
    this.#wayBack = options.wayBack ?? DEFAULT_WAY_BACK;
    this.#writes = new StoreWrites(path, options.measures);
  }

  /** Opens the store in the folder `path`. Throws as `LevelKv.open`. */
  static async open(path: string, options: LevelKvOptions): Promise<LogKv> {
    const kv = new LogKv(path, options);
    try {
      await kv.#open();
      failpoint('db.open.sealed', kv.#name);
      return kv;
    } catch (error) {
      await kv.#file?.close().catch(() => undefined);
      await kv.#seal?.close().catch(() => undefined);
      throw openError(path, kv.#wayBack, error);
    }
  }

  get problem(): string | null {
    return this.#writes.problem;
  }

  async get(key: Uint8Array): Promise<Uint8Array | undefined> {
    for await (const [, value] of this.entries({ gte: key, lt: Buffer.concat([key, Uint8Array.of(0)]) })) return value;
    return undefined;
  }

  getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    return Promise.all(keys.map((key) => this.get(key)));
  }

  async *entries({ gte, lt, reverse = false, limit = -1 }: KvRange): AsyncGenerator<KvEntry> {
    this.#writes.assertOpen();
    const notes = [...this.#notes].sort(([a], [b]) => a - b).map(([, note]) => note);
    const parts = this.#parts.filter(
      ({ first, last }) => first && last && compareBytes(first, lt) < 0 && compareBytes(last, gte) >= 0,
    );
    const sources: (() => Promise<readonly PendingWrite[]>)[] = [
      async () => notes,
      ...parts.map((part) => () => this.#read(part)),
    ];
    let left = limit < 0 ? Number.POSITIVE_INFINITY : limit;
    for (const source of reverse ? sources.reverse() : sources) {
      if (left === 0) return;
      const found = (await source()).filter(({ key }) => compareBytes(key, gte) >= 0 && compareBytes(key, lt) < 0);
      for (const { key, record } of reverse ? found.reverse() : found) {
        if (record === undefined || left-- <= 0) continue;
        yield [key, openRecord(this.#name, key, record)];
      }
    }
  }

  batch(): KvBatch {
    return new PendingBatch();
  }

  write(batch: KvBatch, { sync }: { readonly sync: boolean }): Promise<void> {
    return this.#writes.run(sync, async () => {
      const writes = writesOf(batch);
      const last = this.#parts.findLast((part) => part.last !== undefined)?.last;
      const kept = writes.filter(({ key, record }) => record !== undefined || isNote(key));
      const lowest = kept.find(({ key }) => !isNote(key))?.key;
      if (last && lowest && compareBytes(lowest, last) <= 0) {
        throw new TesseraError('internal_error', `the keys of ${this.#name} must rise`);
      }
      if (kept.length > 0) await this.#writes.watched(() => this.#write(kept, sync));
      const to = writes.findLast(({ key, record }) => record === undefined && !isNote(key))?.key;
      if (to === undefined || compareBytes(to, this.#deletedTo) <= 0) return;
      this.#deletedTo = Uint8Array.from(to);
      await this.#removeParts().catch((error: unknown) => {
        throw writeError(this.#path, this.#wayBack, error);
      });
    });
  }

  /** Cuts off what a failed write has left, if the disk allows it. */
  recover(): Promise<void> {
    return this.#writes.recover(() => this.#mend());
  }

  async close(): Promise<void> {
    await this.#writes.close(
      async () => this.#file?.close(),
      async () => this.#seal?.close(),
    );
  }

  async #open(): Promise<void> {
    this.#sealed = await readSeal(sealPath(this.#path));
    if (!(await this.#load())) {
      await this.#bringOver();
      await this.#load();
    }
    failpoint('db.open.before', this.#name);
    if (this.#parts.length === 0) await this.#create();
    this.#file ??= await open(join(this.#path, logName(this.#parts.at(-1)?.number ?? 0)), 'r+');
    this.#size = (await this.#file.stat()).size;
    // The seal may name batches that a killed process has not synced.
    await syncData(this.#file.fd);
    failpoint('db.open.after', this.#name);
    this.#seal = await Seal.open(sealPath(this.#path), this.#last);
  }

  /** Checks the files and takes in their content; false if LevelDB has written them. */
  async #load(): Promise<boolean> {
    if ((await folderOf(this.#path)) !== this.#path) return false;
    const parts = new Map<string, Part>();
    this.#notes.clear();
    let isOurs = true;
    const files = new FolderFiles(this.#path);
    const mark = await checkFiles(this.#name, files, {
      tableBytes: Number.POSITIVE_INFINITY,
      sealed: this.#sealed,
      wayBack: this.#wayBack,
      onBatch: (log, writes, { begins = false } = this.#last) => {
        const part = parts.get(log) ?? { number: Number.parseInt(log, 10) };
        if (!parts.has(log) && !begins) isOurs = false;
        parts.set(log, part);
        this.#take(
          part,
          writes.map(({ key, value }) => ({ key, record: value })),
        );
      },
    });
    const list = await files.list();
    const manifest = await readManifest(files);
    if (!isOurs || (manifest?.tables.length ?? 0) > 0) return false;
    const logs = manifest === undefined ? [] : logsFrom(manifest.logNumber, list);
    this.#parts = logs.map((log) => parts.get(log) ?? { number: Number.parseInt(log, 10) });
    this.#last = mark ?? this.#sealed ?? this.#last;
    this.#nextNumber = 1 + highestNumber(list);
    return true;
  }

  async #create(): Promise<void> {
    if (!this.#options.createIfMissing) {
      throw new TesseraError('data_lost', `the database ${this.#path} is not there any more: ${this.#wayBack}`, {
        details: { database: this.#name },
      });
    }
    await mkdir(this.#path, { recursive: true, mode: FOLDER_MODE });
    await this.#begin();
    await this.#nameOldest();
  }

  /** Copies the content of LevelDB's files to new ones; both are there until CURRENT names the new files alone. */
  async #bringOver(): Promise<void> {
    const old = await LevelKv.open(this.#path, this.#options);
    try {
      this.#sealed = await readSeal(sealPath(this.#path));
      this.#last = this.#sealed ?? this.#last;
      this.#parts = [];
      this.#notes.clear();
      this.#nextNumber = SPARE_NUMBERS + highestNumber(await new FolderFiles(this.#path).list());
      await this.#begin();
      let writes: PendingWrite[] = [];
      let bytes = 0;
      for await (const [key, value] of old.entries({ gte: new Uint8Array(), lt: MARK_KEY })) {
        writes.push({ key, record: sealRecord(key, value) });
        bytes += value.length;
        if (bytes < LARGE_BYTES) continue;
        await this.#append(writes, true);
        [writes, bytes] = [[], 0];
      }
      await this.#append(writes, true);
    } finally {
      await old.close();
      await this.#file?.close();
      this.#file = undefined;
    }
    await this.#nameOldest();
  }

  async #begin(): Promise<void> {
    // Unsynced records must not be lost while later ones in the next file are kept.
    if (this.#file !== undefined) await syncData(this.#file.fd);
    const number = this.#nextNumber++;
    const file = await open(join(this.#path, logName(number)), 'wx', FILE_MODE);
    await syncFolder(this.#path);
    await this.#file?.close();
    this.#file = file;
    this.#size = 0;
    this.#parts.push({ number });
  }

  /** Names the first part as the oldest log in a new MANIFEST, and removes all files that are not needed. */
  async #nameOldest(): Promise<void> {
    const logNumber = this.#parts[0]?.number ?? 0;
    const manifest = `MANIFEST-${String(this.#nextNumber++).padStart(6, '0')}`;
    const bytes = encodeManifest(logNumber, this.#nextNumber);
    await writeFileDurable(join(this.#path, manifest), bytes, FILE_MODE);
    await writeFileDurable(join(this.#path, CURRENT), Buffer.from(`${manifest}\n`), FILE_MODE);
    const needed = new Set([CURRENT, manifest, ...this.#parts.map(({ number }) => logName(number))]);
    for (const file of await new FolderFiles(this.#path).list()) {
      if (!needed.has(file)) await rm(join(this.#path, file), { recursive: true, force: true });
    }
  }

  async #write(writes: readonly PendingWrite[], sync: boolean): Promise<void> {
    await this.#mend();
    failpoint('db.write.before', this.#name);
    try {
      await this.#append(writes, sync);
    } catch (error) {
      this.#isSpoiled = true;
      // Records that were not acknowledged must not be there after kill -9 either.
      await this.#cut().catch(() => undefined);
      throw writeError(this.#path, this.#wayBack, error);
    }
    if (sync) {
      this.#sealed = this.#last;
      this.#seal?.tryWrite(this.#last);
    }
    failpoint('db.write.sealed', this.#name);
  }

  async #append(writes: readonly PendingWrite[], sync: boolean): Promise<void> {
    const bytes = writes.reduce((sum, { record }) => sum + (record?.length ?? 0), 0);
    if (this.#size > 0 && this.#size + bytes > FILE_BYTES) await this.#begin();
    const part = this.#parts.at(-1);
    const file = this.#file;
    if (part === undefined || file === undefined) throw closedError(this.#path);
    const batches = this.#size > 0 ? [writes] : [[...this.#notes.values()], writes];
    let [mark, size] = [this.#last, this.#size];
    for (const [i, batch] of batches.entries()) {
      mark = nextMark(mark, recordChecksums(batch), sync);
      if (i < batches.length - 1) mark = { ...mark, begins: true };
      const written = [...batch, { key: MARK_KEY, record: sealRecord(MARK_KEY, encodeMark(mark)) }];
      const work = encodeRecord(encodeBatch(mark.number * SEQUENCES, written), size);
      const record = bytes < LARGE_BYTES ? atOnce(work) : await inPieces(work, nextTurn);
      await writeAll(file, record, size);
      size += record.length;
    }
    if (sync) await syncData(file.fd);
    failpoint('db.write.after', this.#name);
    [this.#last, this.#size] = [mark, size];
    this.#take(part, writes);
  }

  /** Goes on in a new file after a failed write. Throws `database_failed` while the disk has no room. */
  async #mend(): Promise<void> {
    if (!this.#isSpoiled) return;
    try {
      await checkRoom(this.#path, 0);
      await this.#cut();
      await this.#begin();
    } catch (error) {
      throw writeError(this.#path, this.#wayBack, error);
    }
    this.#isSpoiled = false;
  }

  async #cut(): Promise<void> {
    await this.#file?.truncate(this.#size);
    await this.#file?.sync();
  }

  #take(part: Part, writes: readonly PendingWrite[]): void {
    let last: Uint8Array | undefined;
    for (const { key, record } of writes) {
      if (!isNote(key)) last = key;
      else if (record === undefined) this.#notes.delete(key[0] ?? 0);
      else this.#notes.set(key[0] ?? 0, { key: Uint8Array.from(key), record: Uint8Array.from(record) });
    }
    if (last === undefined) return;
    part.last = Uint8Array.from(last);
    part.first ??= Uint8Array.from(writes.find(({ key }) => !isNote(key))?.key ?? last);
  }

  /** The records of a file, without notes and deleted keys. */
  async #read({ number }: Part): Promise<readonly PendingWrite[]> {
    // Bytes behind the acknowledged ones may be torn.
    const end = number === this.#parts.at(-1)?.number ? this.#size : undefined;
    const place = `the log ${this.#name}/${logName(number)}`;
    const bytes = await readWhole(join(this.#path, logName(number))).catch(ifMissing);
    if (bytes === undefined) throw new TesseraError('data_lost', `${place} is missing: ${this.#wayBack}`);
    const { records, fault } = readLog(bytes.subarray(0, end));
    if (fault !== null) {
      throw new TesseraError('data_corrupt', `${place} is damaged at byte ${fault.at}: ${this.#wayBack}`);
    }
    return records
      .flatMap(({ data }) => readBatch(data).map(({ key, value }) => ({ key, record: value })))
      .filter(({ key }) => !isNote(key) && compareBytes(key, this.#deletedTo) > 0);
  }

  /** Removes the files in which every key is deleted. The last file with records stays. */
  async #removeParts(): Promise<void> {
    const kept = this.#parts.length - (this.#size === 0 ? 2 : 1);
    const first = this.#parts.findIndex(
      ({ last }, i) => i >= kept || (last !== undefined && compareBytes(last, this.#deletedTo) > 0),
    );
    if (first <= 0) return;
    this.#parts = this.#parts.slice(first);
    await this.#nameOldest();
  }
}

const isNote = (key: Uint8Array): boolean => key.length === 1;

/** Writes short bytes synchronously, long ones by a thread. */
async function writeAll(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const left = bytes.length - done;
    if (left <= WRITTEN_AT_ONCE) done += writeSync(file.fd, bytes, done, left, at + done);
    else done += (await file.write(bytes, done, left, at + done)).bytesWritten;
  }
}

function highestNumber(files: readonly string[]): number {
  return Math.max(0, ...files.map((file) => Number(NUMBERED.exec(file)?.[1] ?? 0)));
}
