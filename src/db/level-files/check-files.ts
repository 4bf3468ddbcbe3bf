/**
 * The check of a database's files before LevelDB opens them: the tables and logs that the MANIFEST names are there, whole,
 * and of this database; every batch follows the one before it; and the last one is not older than the seal says. What a
 * crash left after the last acknowledged batch is cut off; anything else is `data_lost` or `data_corrupt`.
 *
 * Tables hold the batches up to a mark, which is their last entry; the logs hold those after it.
 */

import { equalBytes } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { recordChecksums, unsealRecord } from '../record.js';
import { decodeMark, isSameDatabase, MARK_KEY, type Mark, nextMark } from '../seal.js';
import { type LogFault, type LogRecord, readLog } from './log.js';
import {
  type DatabaseFiles,
  logName,
  logsFrom,
  type Manifest,
  MissingFile,
  readManifest,
  type TableFile,
  tableName,
} from './manifest.js';
import { checkTable, newestOfLastKey, userKey } from './table.js';
import { type BatchWrite, readBatch } from './varints.js';

export interface CheckOptions {
  /** Bytes of tables that are read whole, the newest first; of the others the size is checked. */
  readonly tableBytes: number;
  /** The last batch that was acknowledged as synced; undefined when nothing is known. */
  readonly sealed: Mark | undefined;
  /** Number of the last batch to keep: every later batch, behind a write that failed, is cut off. */
  readonly lastAcknowledged?: number;
  /** Called with the writes of each batch in the logs that counts, and its mark. */
  readonly onBatch?: (log: string, writes: readonly BatchWrite[], mark: Mark | undefined) => void;
  readonly wayBack: string;
}

/** The mark of the last batch of the database `name`; undefined when it has none. Throws `data_lost` or `data_corrupt`. */
export async function checkFiles(name: string, files: DatabaseFiles, options: CheckOptions): Promise<Mark | undefined> {
  const check = new FileCheck(name, files, options);
  return check.run();
}

class FileCheck {
  readonly #name: string;
  readonly #files: DatabaseFiles;
  readonly #options: CheckOptions;

  constructor(name: string, files: DatabaseFiles, options: CheckOptions) {
    this.#name = name;
    this.#files = files;
    this.#options = options;
  }

  async run(): Promise<Mark | undefined> {
    const manifest = await this.#manifest();
    const { sealed } = this.#options;
    if (manifest === undefined) {
      if (sealed !== undefined && sealed.number > 0) throw this.#lost(`the file ${this.#name}/CURRENT is missing`);
      return undefined;
    }
    await this.#checkTables(manifest);
    const inTables = await this.#markOfTables(manifest);
    const chain = new BatchChain(inTables, sealed);
    await this.#checkLogs(manifest, chain);
    this.#holdAgainstSeal(chain);
    return chain.last;
  }

  async #manifest(): Promise<Manifest | undefined> {
    try {
      return await readManifest(this.#files);
    } catch (error) {
      throw this.#damaged(error);
    }
  }

  /** Checks that every table is there with its size, and reads the newest. A crash may leave other tables, which LevelDB removes. */
  async #checkTables({ tables }: Manifest): Promise<void> {
    let bytes = 0;
    for (const table of [...tables].sort((a, b) => b.number - a.number)) {
      const file = await this.#tableFile(table);
      const size = (await this.#files.size(file)) ?? 0;
      const name = `the table ${this.#name}/${file}`;
      if (size !== table.size) {
        throw this.#corrupt(`${name} has ${size} bytes instead of ${table.size}`, { table: file });
      }
      if (bytes >= this.#options.tableBytes) continue;
      bytes += size;
      try {
        checkTable(await this.#read(file), table);
      } catch (error) {
        if (!(error instanceof RangeError) || error instanceof MissingFile) throw this.#damaged(error);
        throw this.#corrupt(`${name} is damaged: ${error.message}`, { table: file });
      }
    }
  }

  async #tableFile(table: TableFile): Promise<string> {
    const names = [tableName(table), tableName(table, 'sst')];
    for (const name of names) if ((await this.#files.size(name)) !== undefined) return name;
    throw this.#lost(`the table ${this.#name}/${names[0]} is missing`, { table: names[0] });
  }

  async #read(file: string): Promise<Buffer> {
    const bytes = await this.#files.read(file);
    if (bytes === undefined) throw new MissingFile(`${file} is missing`);
    return bytes;
  }

  /** The newest mark in a table. On each level, at most one table has a mark, as its last key. */
  async #markOfTables({ tables }: Manifest): Promise<Mark | undefined> {
    let newest: Mark | undefined;
    for (const table of tables.filter(({ largest }) => equalBytes(userKey(largest), MARK_KEY))) {
      try {
        const value = newestOfLastKey(await this.#read(await this.#tableFile(table)));
        const mark = value && decodeMark(unsealRecord(MARK_KEY, value));
        if (mark !== undefined && mark.number > (newest?.number ?? 0)) newest = mark;
      } catch (error) {
        throw this.#damaged(error);
      }
    }
    return newest;
  }

  async #checkLogs({ logNumber }: Manifest, chain: BatchChain): Promise<void> {
    const names = await this.#logNames(logNumber);
    let stop: Stop | null = null;
    for (const name of names) {
      const bytes = await this.#read(name);
      if (stop !== null) {
        // Records after a fault must not be applied: there would be a gap.
        stop.later.push(...marksOf(readLog(bytes).records));
        stop.files.push({ file: name, length: 0, size: bytes.length });
        continue;
      }
      stop = this.#followLog(name, bytes, chain);
      if (stop !== null) stop.files.push({ file: name, length: stop.at, size: bytes.length });
    }
    if (stop !== null) await this.#judge(stop, chain);
  }

  async #logNames(logNumber: number): Promise<string[]> {
    const logs = logsFrom(logNumber, await this.#files.list());
    const first = logName(logNumber);
    if (logNumber > 0 && logs[0] !== first) {
      throw this.#lost(`the log ${this.#name}/${first} is missing`, { log: first });
    }
    return logs;
  }

  /** Takes the batches of a log into the chain; returns the place where the chain must stop, or null. */
  #followLog(name: string, bytes: Buffer, chain: BatchChain): Stop | null {
    const { records, fault } = readLog(bytes);
    const { lastAcknowledged = Number.POSITIVE_INFINITY } = this.#options;
    let at = 0;
    for (const [i, record] of records.entries()) {
      const batch = batchOf(record);
      const unwanted = (chain.last?.number ?? 0) >= lastAcknowledged;
      const why = unwanted ? 'refused' : chain.take(batch);
      if (why !== null) {
        return { log: name, at, why, later: marksOf([...records.slice(i), ...(fault?.later ?? [])]), files: [] };
      }
      this.#options.onBatch?.(name, batch.writes, batch.mark);
      at = record.end;
    }
    return fault && { log: name, at, why: fault.kind, later: marksOf(fault.later), files: [] };
  }

  async #judge({ log, at, why, later, files }: Stop, chain: BatchChain): Promise<void> {
    if (why !== 'refused') {
      const { sealed } = this.#options;
      const place = `the log ${this.#name}/${log}`;
      const details = { log, offset: at };
      const last = chain.last?.number ?? 0;
      if (why === 'foreign') throw this.#corrupt(`${place} belongs to another database`, details);
      if (sealed !== undefined && last < sealed.number && why !== 'damaged') throw this.#missing(sealed, chain, place);
      const isKept = later.some((mark) => mark === undefined || mark.isSynced);
      const isUnsure = why === 'damaged' && sealed === undefined;
      if (isKept || isUnsure || (sealed !== undefined && last < sealed.number)) {
        throw this.#corrupt(`${place} is damaged at byte ${at}`, details);
      }
    }
    for (const { file, length, size } of files) if (size > length) await this.#files.cut(file, length);
  }

  #holdAgainstSeal(chain: BatchChain): void {
    const { sealed } = this.#options;
    if (sealed === undefined || sealed.number === 0) return;
    const { last } = chain;
    if (last === undefined || last.number < sealed.number)
      throw this.#missing(sealed, chain, `the database ${this.#name}`);
    if (!isSameDatabase(last, sealed) || chain.digestAtSeal === false) {
      throw this.#corrupt(`the database ${this.#name} does not match its seal ${this.#name}.seal`);
    }
  }

  #missing(sealed: Mark, chain: BatchChain, place: string): TesseraError {
    const last = chain.last?.number ?? 0;
    const count = sealed.number - last;
    return this.#lost(`${place} has lost ${count} of the ${sealed.number} writes that were acknowledged`, {
      lost: count,
    });
  }

  #lost(what: string, details: Readonly<Record<string, unknown>> = {}): TesseraError {
    const message = `${what}: ${this.#options.wayBack}`;
    return new TesseraError('data_lost', message, { details: { database: this.#name, ...details } });
  }

  #corrupt(what: string, details: Readonly<Record<string, unknown>> = {}, cause?: unknown): TesseraError {
    const message = `${what}: ${this.#options.wayBack}`;
    return new TesseraError('data_corrupt', message, { cause, details: { database: this.#name, ...details } });
  }

  #damaged(error: unknown): unknown {
    if (!(error instanceof RangeError)) return error;
    if (error instanceof MissingFile) return this.#lost(`${this.#name}/${error.message}`);
    return this.#corrupt(`the database ${this.#name} is damaged (${error.message})`, {}, error);
  }
}

interface Stop {
  readonly log: string;
  readonly at: number;
  readonly why: LogFault['kind'] | 'foreign' | 'gap' | 'refused';
  /** Marks of the batches after the stop; undefined for a batch without a mark. */
  readonly later: (Mark | undefined)[];
  /** Length to which each log from the stop on may be cut, and its size. */
  readonly files: { readonly file: string; readonly length: number; readonly size: number }[];
}

interface Batch {
  /** Writes of the batch, without its mark. */
  readonly writes: readonly BatchWrite[];
  readonly mark: Mark | undefined;
  /** Checksums of these writes. */
  readonly checksums: Uint8Array;
}

class BatchChain {
  /** Mark of the last batch; undefined before the first batch that has a mark. */
  last: Mark | undefined;
  /** True if the digest at the seal's batch is the seal's; undefined while that batch was not seen. */
  digestAtSeal: boolean | undefined;
  readonly #sealed: Mark | undefined;

  constructor(last: Mark | undefined, sealed: Mark | undefined) {
    this.last = last;
    this.#sealed = sealed;
    this.#compare();
  }

  /** Adds the next batch, or returns the reason why it cannot be the next one. */
  take({ mark, checksums }: Batch): 'foreign' | 'gap' | null {
    // Databases of older versions have no marks; once there is one, all have.
    if (mark === undefined) return this.last === undefined && !this.#sealed?.number ? null : 'foreign';
    const { last } = this;
    if (last !== undefined) {
      if (!isSameDatabase(mark, last)) return 'foreign';
      if (mark.number !== last.number + 1) return 'gap';
      if (nextMark(last, checksums, mark.isSynced).digest !== mark.digest) return 'foreign';
    } else if (mark.number !== 1 && !mark.begins) {
      return 'gap';
    } else if (this.#sealed !== undefined && !isSameDatabase(mark, this.#sealed)) {
      return 'foreign';
    }
    this.last = mark;
    this.#compare();
    return null;
  }

  #compare(): void {
    if (this.last !== undefined && this.last.number === this.#sealed?.number) {
      this.digestAtSeal = this.last.digest === this.#sealed.digest;
    }
  }
}

/** The batch in a record; without writes and mark when the record is no batch. */
function batchOf({ data }: LogRecord): Batch {
  try {
    const writes = readBatch(data);
    const last = writes.at(-1);
    if (last?.value === undefined || !equalBytes(last.key, MARK_KEY)) {
      return { writes, mark: undefined, checksums: new Uint8Array() };
    }
    return {
      writes: writes.slice(0, -1),
      mark: decodeMark(unsealRecord(MARK_KEY, last.value)),
      checksums: recordChecksums(writes.slice(0, -1).map(({ key, value }) => ({ key, record: value }))),
    };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { writes: [], mark: undefined, checksums: new Uint8Array() };
  }
}

/** Marks of the records; undefined for a record that is no batch or has no mark. */
function marksOf(records: readonly LogRecord[]): (Mark | undefined)[] {
  return records.map((record) => batchOf(record).mark);
}
