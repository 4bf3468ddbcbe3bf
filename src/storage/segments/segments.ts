/**
 * Blocks in files that are written once: appended to the open segment, which is closed when the next block has no room in it. A
 * closed segment has a footer and a name that says what it holds, and is never changed again, so that the same blocks make the same
 * files on every node.
 *
 *   segments/FIRST.open                  the open segment, by the height of its first block
 *   segments/FIRST-LAST-DIGEST.blocks    a closed segment
 *   segments/FIRST-LAST-DIGEST.stored    empty: the object store has the segment, and the file may be gone (`far-segments.ts`)
 *
 * Only one block is appended at a time. A block counts once the place index names it: bytes behind the last named block are
 * taken in or cut off when the archive opens.
 */

import { chmod, type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { checkRoom } from '../../db/disk-room.js';
import { syncFolder, writeFileDurable } from '../../db/write-file-durable.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { failpoint } from '../../lib/failpoints.js';
import { type Signal, SignalSource } from '../../lib/signal.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import type { FarSegments, Fetched } from './far-segments.js';
import { type Closed, closedAmong, closedName, closedWith, gapIn, markName, openName } from './names.js';
import { Pages } from './pages.js';
import { recordLength, type SegmentBlock } from './record.js';
import { type Footer, type Found, type Range, type ReadSegment, readFooter, scan } from './scan.js';
import { isSegment } from './segment-check.js';
import {
  damagedIn,
  lost,
  OPEN_MODE,
  openToAppend,
  readAll,
  refusal,
  SegmentHandles,
  writeFooter,
  writeRecord,
} from './segment-file.js';

/** Bytes of a segment, unless one block alone is larger. */
const SEGMENT_BYTES = 256 * 1024 * 1024;
const FOLDER_MODE = 0o700;
const CLOSED_MODE = 0o400;
/** Name of this part in failpoints. */
const BLOCKS = 'blocks';
/** File whose presence says that all blocks are in segments. */
const WHOLE = 'whole';

export interface SegmentsOptions {
  readonly maxBytes?: number | undefined;
  /** Closed segments in an object store; without it, segments that are only there cannot be read. */
  readonly far?: FarSegments | undefined;
}

/** Place of a record in its segment. */
export interface RecordPlace {
  readonly offset: number;
  readonly length: number;
}

export class Segments {
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #far: FarSegments | undefined;
  readonly #hasClosed = new SignalSource<void>();
  #closed: Closed[];
  /** Height of the first block of the open segment. */
  #first: number;
  /** Height of the block that is appended next. */
  #next: number;
  /** End of the valid bytes in the open segment. */
  #end = 0;
  #lastLength = 0;
  #open: FileHandle | undefined;
  #isWhole: boolean;
  #isCertified = true;
  #problem: string | null = null;
  readonly #handles: SegmentHandles;
  readonly #pages = new Pages();

  private constructor(
    path: string,
    { maxBytes = SEGMENT_BYTES, far }: SegmentsOptions,
    { closed, isWhole }: { readonly closed: Closed[]; readonly isWhole: boolean },
  ) {
    this.#path = path;
    this.#isWhole = isWhole;
    this.#maxBytes = maxBytes;
    this.#handles = new SegmentHandles(path);
    this.#far = far;
    this.#closed = closed;
    this.#first = (closed.at(-1)?.last ?? -1) + 1;
    this.#next = this.#first;
  }

  /** Opens the folder, or makes it. Throws `data_lost` when a segment between two others is missing. */
  static async open(path: string, options: SegmentsOptions = {}): Promise<Segments> {
    if ((await mkdir(path, { recursive: true, mode: FOLDER_MODE })) !== undefined) await syncFolder(join(path, '..'));
    const names = await readdir(path);
    const closed = closedAmong(names);
    const missing = gapIn(closed);
    if (missing !== undefined) throw lost(`the segment with the blocks from ${missing} on is missing in ${path}`);
    return new Segments(path, options, { closed, isWhole: names.includes(WHOLE) });
  }

  /** True when all blocks are in segments, so that the database can be made again from them; survives restarts. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  async noteWhole(): Promise<void> {
    await writeFileDurable(join(this.#path, WHOLE), new Uint8Array(), OPEN_MODE);
    this.#isWhole = true;
  }

  /** The closed segments, in order. */
  get closed(): readonly Closed[] {
    return this.#closed;
  }

  /** Fires when a segment was closed. */
  get hasClosed(): Signal<void> {
    return this.#hasClosed;
  }

  /** False when the last block is known to have no certificate. */
  get isCertified(): boolean {
    return this.#isCertified;
  }

  /** Why nothing can be appended; null when the last block was. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Tests whether the disk has room again. */
  async recover(): Promise<void> {
    if (this.#problem === null) return;
    await checkRoom(this.#path).then(
      () => (this.#problem = null),
      () => undefined,
    );
  }

  /** Height of the block that is appended next. */
  get next(): number {
    return this.#next;
  }

  /**
   * Finds the end of the valid blocks, behind the last one that the place index names: whole blocks after it are kept and synced, or not,
   * and the rest is cut off. Throws `data_lost` when the named block itself is not there.
   */
  async settle(last: (RecordPlace & { readonly height: number }) | undefined, keepsMore = true): Promise<void> {
    if (!keepsMore) await this.#openAgain(last?.height ?? -1);
    const isOpen = last !== undefined && last.height >= this.#first;
    const [height, from] = isOpen ? [last.height + 1, last.offset + last.length] : [this.#first, 0];
    const file = await this.#openFile(false);
    const size = file === undefined ? 0 : (await file.stat()).size;
    if (size < from) throw lost(`block ${height - 1} is not in the segment ${this.#openName()} any more`);
    [this.#next, this.#end] = [height, from];
    if (keepsMore && size > from) {
      const range = { height, at: from, end: size, last: Number.POSITIVE_INFINITY };
      for await (const { to, offset, length, record } of scan(this.#reader(this.#first), range)) {
        if (record === undefined) continue;
        [this.#next, this.#end] = [to + 1, offset + length];
        this.#isCertified = record.certificate !== undefined;
      }
    }
    if (size > this.#end) await file?.truncate(this.#end);
    // The next batch may name records that a killed process wrote without a sync.
    await file?.datasync();
  }

  /** Opens closed segments again that have blocks above a height: these blocks are in older records too. */
  async #openAgain(height: number): Promise<void> {
    for (let closed = this.#closed.at(-1); closed !== undefined && closed.last > height; closed = this.#closed.at(-1)) {
      await rm(join(this.#path, this.#openName()), { force: true });
      this.#first = closed.first;
      await chmod(join(this.#path, closed.name), OPEN_MODE);
      await rename(join(this.#path, closed.name), join(this.#path, this.#openName()));
      this.#closed.pop();
    }
  }

  /**
   * Appends the next block; resolves with its place when it survives power loss. Throws `database_failed` when the system refuses;
   * the next one then gets its place. Old bytes there are overwritten, not cut off first: a batch that failed may yet name them.
   */
  async append(block: SegmentBlock, slices: TimeSlices): Promise<RecordPlace> {
    if (block.height !== this.#next) {
      throw new TesseraError('internal_error', `block ${block.height} is not the next one, ${this.#next}`);
    }
    const length = recordLength(block);
    try {
      if (this.#end > 0 && this.#end + length > this.#maxBytes) await this.#close();
      const file = (await this.#openFile(true)) as FileHandle;
      failpoint('segment.append.before', BLOCKS);
      await file.truncate(await writeRecord(file, block, this.#end, slices));
      failpoint('segment.append.after', BLOCKS);
      await file.datasync();
      failpoint('segment.sync.after', BLOCKS);
      this.#problem = null;
    } catch (error) {
      this.#problem = errorMessage(error);
      throw refusal(this.#path, error);
    }
    const place = { offset: this.#end, length };
    this.#end += length;
    this.#next += 1;
    this.#lastLength = length;
    return place;
  }

  /** Takes back the last appended block, whose batch failed. */
  takeBack(): void {
    this.#pages.drop();
    this.#end -= this.#lastLength;
    this.#next -= 1;
    this.#lastLength = 0;
  }

  /** Bytes from the segment that has the block of a height. Throws `data_corrupt` when they are not there. */
  async read(height: number, { offset, length }: RecordPlace): Promise<Buffer> {
    const { first } = this.#fileOf(height);
    const end = first === this.#first ? this.#end : Number.POSITIVE_INFINITY;
    const bytes = await this.#pages.read(this.#reader(first), first, offset, length, end);
    if (bytes.length < length) throw this.damaged(height);
    return bytes;
  }

  /** Notes that the object store has a closed segment; survives power loss. */
  async noteStored(name: string): Promise<void> {
    await writeFileDurable(join(this.#path, markName(name)), new Uint8Array(), OPEN_MODE);
    this.#note(name, { isStored: true });
  }

  /** Removes the file of a closed segment that the object store has. Throws when the system refuses; the file then counts as here. */
  async removeHere({ name, first }: Closed): Promise<void> {
    // Who reads meanwhile must not look for the file.
    this.#note(name, { isHere: false });
    try {
      await rm(this.pathOf(name), { force: true });
    } catch (error) {
      this.#note(name, { isHere: true });
      throw error;
    }
    this.#handles.drop(first);
  }

  #note(name: string, facts: Partial<Closed>): void {
    this.#closed = this.#closed.map((one) => (one.name === name ? { ...one, ...facts } : one));
  }

  /**
   * All records from a height on, also damaged ones; `offset`: where the first is, unless its segment begins with it. A closed segment
   * with sound blocks gets its footer and name again, if healing was interrupted or the footer is damaged.
   */
  async *records(from: number, offset = 0): AsyncGenerator<Found> {
    for (let height = from; height < this.#next; ) {
      const { first, last = this.#next - 1, name, isHere } = this.#fileOf(height);
      const isClosed = last < this.#first;
      // A file that was copied here may not be synced.
      if (isClosed && isHere) await (await this.#handle(first)).datasync();
      const fetched = isHere ? undefined : await this.#farOf(name).fetch(name);
      try {
        const read = fetched?.read ?? this.#reader(first);
        const footer = isClosed ? await this.#footer({ first, last }, fetched) : undefined;
        const isKnown = !isHere || (height !== from && footer !== undefined && closedName(footer) === name);
        const end = isClosed ? (footer?.end ?? Number.POSITIVE_INFINITY) : this.#end;
        const range = { height, at: height === first ? 0 : offset, end, last };
        let isSound = true;
        for await (const found of scan(read, range, footer)) {
          isSound &&= found.record !== undefined;
          // Done before the last record is taken in: after a crash the next start comes here again.
          if (found.to === last && isSound && isClosed && !isKnown) await this.replace({ ...found, height: last });
          yield found;
          height = found.to + 1;
        }
      } finally {
        await fetched?.close();
      }
    }
  }

  /**
   * Writes a block, which fits there, in the place of a damaged record. A closed segment that is sound then gets its footer and name
   * again; without a block nothing else is done.
   */
  async replace(
    { height, to, offset }: Pick<Found, 'height' | 'to' | 'offset'>,
    block?: SegmentBlock,
  ): Promise<RecordPlace> {
    const { first, last, name } = this.#fileOf(height);
    const path = join(this.#path, name);
    await chmod(path, OPEN_MODE);
    const file = await open(path, 'r+');
    try {
      const end = block === undefined ? offset : await writeRecord(file, block, offset);
      await file.datasync();
      this.#pages.drop();
      failpoint('segment.replaced', BLOCKS);
      if (last !== undefined && to === height) await this.#seal(file, { first, last, name });
      return { offset, length: end - offset };
    } finally {
      await file.close();
    }
  }

  /** Reads the local closed segments again. Throws `data_corrupt` at the first whose records or footer do not match its name. */
  async verify(signal: AbortSignal): Promise<void> {
    for (const closed of this.#closed.filter(({ isHere }) => isHere)) {
      if (signal.aborted) throw new TesseraError('aborted', 'the check of the segments was cancelled');
      await this.check(closed);
    }
  }

  /** Checks one closed segment as `verify` does. */
  async check({ name, first }: Pick<Closed, 'name' | 'first'>): Promise<void> {
    const { size } = await (await this.#handle(first)).stat();
    if (!(await isSegment(name, size, this.#reader(first)))) throw this.damaged(first);
  }

  pathOf(name: string): string {
    return join(this.#path, name);
  }

  /** The error that names a damaged segment; bytes from an object store are fetched again. */
  damaged(height: number, cause?: unknown): TesseraError {
    const { name, isHere } = this.#fileOf(height);
    this.#pages.drop();
    if (!isHere) return this.#farOf(name).damaged(name, height);
    return damagedIn(name, height, cause);
  }

  async close(): Promise<void> {
    this.#far?.close();
    await this.#open?.close();
    this.#open = undefined;
    this.#handles.close();
  }

  #openName(): string {
    return openName(this.#first);
  }

  #fileOf(height: number): Pick<Closed, 'first' | 'name' | 'isHere'> & { readonly last: number | undefined } {
    if (height >= this.#first) return { first: this.#first, last: undefined, name: this.#openName(), isHere: true };
    return closedWith(height, this.#closed) as Closed;
  }

  async #footer(range: Range, fetched?: Fetched): Promise<Footer | undefined> {
    const { size } = fetched ?? (await (await this.#handle(range.first)).stat());
    return readFooter(fetched?.read ?? this.#reader(range.first), range, size);
  }

  #reader(first: number): ReadSegment {
    const read: ReadSegment = async (offset, length) => {
      const { name, isHere } = this.#fileOf(first);
      if (!isHere) return this.#farOf(name).read(name, offset, length);
      try {
        return await readAll(await this.#handle(first), offset, length, this.#path);
      } catch (error) {
        // The file may have been removed since, because the object store has it.
        if (this.#fileOf(first).isHere) throw error;
        return read(offset, length);
      }
    };
    return read;
  }

  #farOf(name: string): FarSegments {
    if (this.#far !== undefined) return this.#far;
    const message = `the segment ${name} is in an object store, and storage.segments.store names none`;
    throw new TesseraError('archive_incomplete', message);
  }

  #handle(first: number): Promise<FileHandle> {
    if (first === this.#first && this.#open !== undefined) return Promise.resolve(this.#open);
    return this.#handles.get(this.#fileOf(first));
  }

  async #openFile(create: boolean): Promise<FileHandle | undefined> {
    this.#open ??= await openToAppend(this.#path, this.#openName(), create);
    return this.#open;
  }

  /** Closes the open segment. If that is interrupted, the segment is still open, and its footer is cut off at the next start. */
  async #close(): Promise<void> {
    const [first, last] = [this.#first, this.#next - 1];
    const isSealed = await this.#seal(this.#open as FileHandle, { first, last, name: this.#openName() });
    if (!isSealed) throw this.damaged(first);
  }

  /** Gives a segment its footer and name; false while one of its records is damaged. */
  async #seal(file: FileHandle, { first, last, name }: Range & Pick<Closed, 'name'>): Promise<boolean> {
    const isOpen = first === this.#first;
    const end = isOpen ? this.#end : Number.POSITIVE_INFINITY;
    const footer = await writeFooter(file, { first, last }, end, this.#path);
    if (footer === undefined) return false;
    failpoint('segment.footer.after', BLOCKS);
    await file.chmod(CLOSED_MODE);
    const closed = { first, last, name: closedName(footer), isHere: true, isStored: false };
    await rename(join(this.#path, name), join(this.#path, closed.name));
    // The list is changed first: the file has its new name even if a later step fails.
    this.#closed = [...this.#closed.filter((one) => one.first !== first), closed].sort((a, b) => a.first - b.first);
    if (isOpen) {
      this.#handles.keep(first, file);
      this.#open = undefined;
      [this.#first, this.#end] = [last + 1, 0];
    }
    await syncFolder(this.#path);
    failpoint('segment.closed.after', BLOCKS);
    this.#hasClosed.emit();
    return true;
  }
}
