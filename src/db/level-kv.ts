/**
 * The key-value store on disk: LevelDB with a checksum around every value, files checked before opening, a seal that says what it must hold,
 * and errors turned into ours. LevelDB hides damage; here it becomes visible (rule P3).
 *
 * After a failed write, LevelDB would keep writing after a torn record, and the next start would find a damaged log. So the store never writes to
 * that LevelDB again: unacknowledged writes are cut off its log, reads continue, and the next write reopens the database once the disk has room.
 */

import { randomBytes } from 'node:crypto';
import { basename } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { ClassicLevel } from 'classic-level';
import { asBuffer, equalBytes } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import { failpoint } from '../lib/failpoints.js';
import { isClosed, openError, readError, writeError } from './database-error.js';
import { checkRoom } from './disk-room.js';
import { forgetFiles, keepFiles, putBackFiles } from './kept-files.js';
import type { Kv, KvBatch, KvEntry, KvRange } from './kv.js';
import { checkFiles } from './level-files/check-files.js';
import { readLog } from './level-files/log.js';
import { type DatabaseFiles, FolderFiles, logsFrom, readManifest } from './level-files/manifest.js';
import { readBatch } from './level-files/varints.js';
import { BINARY, type BinaryLevel, LevelReader, type UseLevel } from './level-reader.js';
import { PendingBatch, type PendingWrite, pendingBatch, recordChecksums, sealRecord, unsealRecord } from './record.js';
import { decodeMark, encodeMark, MARK_KEY, type Mark, nextMark, readSeal, Seal, sealPath } from './seal.js';
import { StoreWrites, type WriteMeasures } from './store-writes.js';

/** Most writes, and most bytes of writes, handed to LevelDB in one turn of the event loop: two milliseconds of work. */
const PIECE_WRITES = 512;
const PIECE_BYTES = 1024 * 1024;
/** Bytes of tables that are checked before opening: under a second. The archive's `verify` reads the rest. */
const DEFAULT_CHECK_BYTES = 256 * 1024 * 1024;
const ID_LENGTH = 16;
/** Bytes of a buffer that a stop writes to a table: a start would read them from the log, a second for each 10 MiB. */
const LARGE_BUFFER = 24 * 1024 * 1024;
/** MiB of the largest tables that LevelDB makes of others. */
const MAX_TABLE_MIB = 16;
const BEHIND_ALL = Buffer.alloc(64, 0xff);
const NO_CHECKSUMS = new Uint8Array(0);
export const DEFAULT_WAY_BACK = 'restore the data directory from a backup';
type OpenLevel = BinaryLevel & Pick<ClassicLevel<Uint8Array, Uint8Array>, 'compactRange' | 'getProperty'>;

export interface LevelKvOptions {
  /** False for a database that must be there already: if it is not, that is `data_lost`. */
  readonly createIfMissing: boolean;
  /** Size in MiB of LevelDB's write buffer, and twice that while it becomes a table; 4 by default. A start reads that much. */
  readonly writeBufferMib?: number | undefined;
  /** Whether new tables are compressed, as they are by default. Tables of both kinds are read. */
  readonly compression?: boolean;
  /** Bytes of tables whose checksums are read before opening, the newest first; 256 MiB by default. */
  readonly checkBytes?: number;
  /** Advice for the reader of an error about damage: the end of its sentence. */
  readonly wayBack?: string;
  readonly measures?: WriteMeasures | undefined;
}

export class LevelKv implements Kv {
  readonly #path: string;
  readonly #name: string;
  readonly #options: LevelKvOptions;
  readonly #wayBack: string;
  readonly #reader: LevelReader;
  readonly #writes: StoreWrites;
  /** The open database; undefined while it is being reopened, or when that failed. */
  #level: OpenLevel | undefined;
  #opening: Promise<OpenLevel> | undefined;
  #seal: Seal | undefined;
  /** Marks of the last acknowledged batch, and of the last synced one. */
  #last: Mark;
  #sealed: Mark | undefined;
  /** True after a failed write on the open LevelDB, which gets no further writes. */
  #isSpoiled = false;

  private constructor(path: string, options: LevelKvOptions) {
    this.#path = path;
    this.#name = basename(path);
    this.#options = options;
    this.#wayBack = options.wayBack ?? DEFAULT_WAY_BACK;
    this.#last = { id: randomBytes(ID_LENGTH), number: 0, digest: 0, isSynced: true };
    this.#writes = new StoreWrites(path, options.measures);
    this.#reader = new LevelReader(this.#name, this.#use);
  }

  /**
   * Opens the database in the folder `path`. Throws `data_dir_locked` when it is open elsewhere, `data_lost` when
   * acknowledged writes or files are missing, `data_corrupt`, `database_failed` when the system refuses.
   */
  static async open(path: string, options: LevelKvOptions): Promise<LevelKv> {
    const kv = new LevelKv(path, options);
    try {
      kv.#sealed = await readSeal(sealPath(path));
      await putBackFiles(path, kv.#name, kv.#sealed);
      const mark = await kv.#check();
      kv.#last = mark ?? kv.#sealed ?? kv.#last;
      await kv.#openChecked(mark, options);
      // All writes in the database are in synced tables now.
      kv.#sealed = kv.#last;
      kv.#seal = await Seal.open(sealPath(path), kv.#last);
      failpoint('db.open.sealed', kv.#name);
      return kv;
    } catch (error) {
      await kv.#level?.close().catch(() => undefined);
      await kv.#seal?.close().catch(() => undefined);
      throw openError(path, kv.#wayBack, error);
    }
  }

  get(key: Uint8Array): Promise<Uint8Array | undefined> {
    return this.#reader.get(key);
  }

  getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    return this.#reader.getMany(keys);
  }

  entries(range: KvRange): AsyncIterable<KvEntry> {
    return this.#reader.entries(range);
  }

  batch(): KvBatch {
    return new PendingBatch();
  }

  write(batch: KvBatch, { sync }: { readonly sync: boolean }): Promise<void> {
    return this.#writes.run(sync, () => this.#writes.watched(() => this.#write(batch, sync)));
  }

  get problem(): string | null {
    return this.#writes.problem;
  }

  /** Reopens the database after a failed write, if the disk allows it. */
  recover(): Promise<void> {
    return this.#writes.recover(() => this.#writable());
  }

  close(): Promise<void> {
    const closeFiles = async (): Promise<void> => {
      await this.#opening?.catch(() => undefined);
      if (this.#level !== undefined && !this.#isSpoiled) await writeOut(this.#level).catch(() => undefined);
      await this.#level?.close();
    };
    return this.#writes.close(closeFiles, async () => {
      // Closing LevelDB may write what was left of the batch that failed.
      if (this.#isSpoiled) await this.#check().catch(() => undefined);
      await this.#seal?.close();
    });
  }

  async #write(batch: KvBatch, sync: boolean): Promise<void> {
    const writes = pendingBatch(batch).writes();
    const level = await this.#writable();
    failpoint('db.write.before', this.#name);
    let mark: Mark;
    try {
      mark = await writeInPieces(level, writes, this.#last, sync);
    } catch (error) {
      await this.#spoil();
      throw writeError(this.#path, this.#wayBack, error);
    }
    failpoint('db.write.after', this.#name);
    this.#last = mark;
    if (sync) this.#nameInSeal(mark);
  }

  readonly #use: UseLevel = async (work) => {
    for (let attempt = 0; ; attempt++) {
      const level = await this.#open();
      try {
        return await work(level);
      } catch (error) {
        const reopened = isClosed(error) && !this.#writes.isClosed && attempt === 0;
        if (!reopened) throw readError(this.#path, this.#wayBack, error);
      }
    }
  };

  /** The open database; opens it again when an earlier attempt failed. */
  async #open(): Promise<OpenLevel> {
    this.#writes.assertOpen();
    if (this.#opening !== undefined) return this.#opening;
    return this.#level ?? this.#openAgain();
  }

  /** The database, ready for writes: reopened after a failed write. Throws `database_failed` while there is no room. */
  async #writable(): Promise<OpenLevel> {
    if (!this.#isSpoiled) return this.#open();
    try {
      // Opening would fail on a full disk, and then nothing could be read either.
      await checkRoom(this.#path);
    } catch (error) {
      throw writeError(this.#path, this.#wayBack, error);
    }
    return this.#openAgain();
  }

  #openAgain(): Promise<OpenLevel> {
    this.#opening ??= this.#reopen().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #reopen(): Promise<OpenLevel> {
    try {
      const level = this.#level;
      this.#level = undefined;
      await level?.close();
      await putBackFiles(this.#path, this.#name, this.#sealed);
      const mark = await this.#check();
      const opened = await this.#openChecked(mark, { ...this.#options, createIfMissing: false });
      this.#isSpoiled = false;
      return opened;
    } catch (error) {
      throw openError(this.#path, this.#wayBack, error);
    }
  }

  /** Opens the files, checked up to `mark`, and checks that LevelDB has read all of them; else they are kept for the next attempt. */
  async #openChecked(mark: Mark | undefined, options: LevelKvOptions): Promise<OpenLevel> {
    const kept = await keepFiles(this.#path, this.#name);
    failpoint('db.open.before', this.#name);
    const level = await openLevel(this.#path, options).catch(async (error: unknown) => {
      const refusal = openError(this.#path, this.#wayBack, error);
      // Another process has the database open and goes on writing to it, so the kept files would be out of date.
      if (refusal.code === 'data_dir_locked') await forgetFiles(this.#path, this.#name);
      throw refusal;
    });
    try {
      await mustHold(this.#name, level, mark, kept);
      failpoint('db.open.after', this.#name);
      await forgetFiles(this.#path, this.#name);
    } catch (error) {
      // An incomplete database must not be read.
      await level.close().catch(() => undefined);
      throw error;
    }
    this.#level = level;
    return level;
  }

  /** Stops using the log after a failed write, and cuts it: unacknowledged writes must not be there after kill -9 either. */
  async #spoil(): Promise<void> {
    this.#isSpoiled = true;
    // If the disk refuses the cut too, a torn record stays, which the next opening cuts off.
    await this.#check().catch(() => undefined);
  }

  #check(): Promise<Mark | undefined> {
    return checkFiles(basename(this.#path), new FolderFiles(this.#path), {
      tableBytes: this.#seal === undefined ? (this.#options.checkBytes ?? DEFAULT_CHECK_BYTES) : 0,
      sealed: this.#sealed,
      wayBack: this.#wayBack,
      ...(this.#seal === undefined ? {} : { lastAcknowledged: this.#last.number }),
    });
  }

  /** Names the batch in the seal. The batch is durable already: a seal that cannot be written is only out of date. */
  #nameInSeal(mark: Mark): void {
    this.#sealed = mark;
    this.#seal?.tryWrite(mark);
    failpoint('db.write.sealed', this.#name);
  }
}

async function openLevel(path: string, options: LevelKvOptions): Promise<OpenLevel> {
  const { createIfMissing, writeBufferMib = 4, compression = true } = options;
  // The constructor begins to open: it must come after the checks.
  const level = new ClassicLevel<Uint8Array, Uint8Array>(path, {
    ...BINARY,
    createIfMissing,
    compression,
    writeBufferSize: writeBufferMib * 2 ** 20,
    // LevelDB merges a table after a number of reads that pass it, and that number grows with the size of the table; so does the room of a merge.
    maxFileSize: Math.min(MAX_TABLE_MIB, Math.max(2, writeBufferMib / 4)) * 2 ** 20,
  });
  await level.open();
  return level;
}

/** Methods of a batch that take encoded bytes: abstract-level has databases implement them behind `put` and `del`. */
interface EncodedBatch {
  _put(key: Uint8Array, record: Uint8Array): void;
  _del(key: Uint8Array): void;
}

/**
 * Hands a batch to LevelDB, a large one in pieces; LevelDB writes it as one, with its mark, which is returned. Keys and
 * records need no encoding and so bypass `put`; only the mark goes through it.
 */
async function writeInPieces(level: BinaryLevel, writes: Iterable<PendingWrite>, last: Mark, sync: boolean) {
  const batch = level.batch();
  const encoded = batch as unknown as EncodedBatch;
  let mark = nextMark(last, NO_CHECKSUMS, sync);
  let piece: PendingWrite[] = [];
  let bytes = 0;
  const handOver = (): void => {
    for (const { key, record } of piece) {
      if (record === undefined) encoded._del(key);
      else encoded._put(key, record);
    }
    mark = { ...mark, digest: crc32(recordChecksums(piece), mark.digest) };
    piece = [];
    bytes = 0;
  };
  try {
    for (const write of writes) {
      const length = write.record?.length ?? 0;
      // A large record gets a turn of its own: making it has filled this one.
      if (piece.length === PIECE_WRITES || bytes > PIECE_BYTES || length > PIECE_BYTES) {
        handOver();
        await nextTurn();
      }
      piece.push(write);
      bytes += length;
    }
    handOver();
    await batch.put(MARK_KEY, sealRecord(MARK_KEY, encodeMark(mark)), BINARY).write({ sync });
    return mark;
  } finally {
    await batch.close();
  }
}

const AT_ONCE = 1_000;

/** Writes a large buffer of LevelDB to a table. It stays in the log if that fails, or if the process ends meanwhile. */
async function writeOut(level: OpenLevel): Promise<void> {
  if (Number(level.getProperty('leveldb.approximate-memory-usage')) < LARGE_BUFFER) return;
  // LevelDB writes its buffer before it looks for the range, which has no key. After empty keys other databases of the process were refused.
  await level.compactRange(BEHIND_ALL, BEHIND_ALL, BINARY);
}

/** Checks that LevelDB holds `mark`, that of the last batch, and the logs of `files`, kept before the opening. Throws `database_failed`. */
async function mustHold(
  name: string,
  level: BinaryLevel,
  mark: Mark | undefined,
  files: DatabaseFiles | undefined,
): Promise<void> {
  const last = await level.get(MARK_KEY, BINARY);
  const number = last === undefined ? 0 : decodeMark(unsealRecord(MARK_KEY, last)).number;
  if (mark !== undefined && number < mark.number) throw unread(name);
  if (files === undefined) return;
  const writes = [...(await lastWrites(files)).values()];
  for (let from = 0; from < writes.length; from += AT_ONCE) {
    const some = writes.slice(from, from + AT_ONCE);
    const records = await level.getMany(
      some.map(({ key }) => key),
      BINARY,
    );
    for (const [i, { value }] of some.entries()) if (!isSame(value, records[i])) throw unread(name);
  }
}

interface Write {
  readonly key: Uint8Array;
  readonly value: Uint8Array | undefined;
}

/** The last write of up to 64 keys of each batch in the logs: LevelDB takes in all of a batch or nothing, and all keys would fill the memory. */
async function lastWrites(files: DatabaseFiles): Promise<ReadonlyMap<string, Write>> {
  const writes = new Map<string, Write>();
  const manifest = await readManifest(files);
  if (manifest === undefined) return writes;
  for (const log of logsFrom(manifest.logNumber, await files.list())) {
    const bytes = await files.read(log);
    if (bytes === undefined) continue;
    for (const { data } of readLog(bytes).records) {
      const batch = readBatch(data);
      for (const [i, write] of batch.entries()) {
        const key = asBuffer(write.key).toString('latin1');
        if (i % Math.ceil(batch.length / 64) === 0 || writes.has(key)) writes.set(key, write);
      }
    }
  }
  return writes;
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equalBytes(a, b);
}

function unread(name: string): TesseraError {
  return new TesseraError(
    'database_failed',
    `the system did not let all of the database ${name} be read: nothing is lost, check the disk and start again`,
    { details: { database: name } },
  );
}
