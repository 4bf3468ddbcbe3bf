/**
 * Seals tell a store what it must hold. Every batch carries a mark: the identity of the database, the number of the batch,
 * and a digest of all batches up to it. A file beside the database, the seal, names the last batch that was acknowledged
 * as synced. A start compares the two (`level-files/check-files.ts`).
 *
 * The seal costs no second sync: it is written in place after each synced batch, which survives kill -9, and is synced by
 * the system, every `SYNC_EVERY` batches, and on close. After a power loss it may be behind the database, never ahead.
 */

import { writeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { asBuffer, equalBytes } from '../lib/bytes.js';
import { ifMissing } from '../lib/system-error.js';
import { RESERVED_KEY } from './record.js';
import { syncFolder } from './write-file-durable.js';

/** The last key of every database. */
export const MARK_KEY: Uint8Array = Uint8Array.of(RESERVED_KEY);

const ID_LENGTH = 16;
const U64_LENGTH = 8;
const MARK_LENGTH = ID_LENGTH + U64_LENGTH + 4 + 1;
/** Bits of the last byte of a mark. */
const SYNCED = 1;
const BEGINS = 2;
const CHECKSUM_LENGTH = 4;
const MAGIC = Buffer.from('TSEAL\0\0\x01', 'latin1');
const SLOT_LENGTH = MAGIC.length + MARK_LENGTH + CHECKSUM_LENGTH;
/** Distance of the two slots, which puts them in different sectors of the disk: a torn write spoils only one. */
const SLOT_DISTANCE = 4096;
const SEAL_LENGTH = SLOT_DISTANCE + SLOT_LENGTH;
const FILE_MODE = 0o600;
/** Batches between two syncs of the seal. */
const SYNC_EVERY = 256;

export interface Mark {
  /** Identity of the database: 16 random bytes. */
  readonly id: Uint8Array;
  /** Number of the batch: 1 for the first, then without gaps. */
  readonly number: number;
  /** Digest of all batches up to this one, in order. */
  readonly digest: number;
  /** True if the batch was to be synced. */
  readonly isSynced: boolean;
  /** True if the batches before it may be gone: it begins a file of a log (`log-kv.ts`). */
  readonly begins?: boolean;
}

/** The mark of the batch after `last`, whose writes have the given checksums (4 bytes each). */
export function nextMark(last: Mark, checksums: Uint8Array, isSynced: boolean): Mark {
  return { id: last.id, number: last.number + 1, digest: crc32(checksums, last.digest), isSynced };
}

export function encodeMark({ id, number, digest, isSynced, begins = false }: Mark): Uint8Array {
  const bytes = Buffer.alloc(MARK_LENGTH);
  bytes.set(id);
  bytes.writeBigUInt64BE(BigInt(number), ID_LENGTH);
  bytes.writeUInt32BE(digest, ID_LENGTH + U64_LENGTH);
  bytes.writeUInt8((isSynced ? SYNCED : 0) | (begins ? BEGINS : 0), MARK_LENGTH - 1);
  return bytes;
}

/** Reads a mark. A `RangeError` says that the bytes are not one. */
export function decodeMark(bytes: Uint8Array): Mark {
  if (bytes.length !== MARK_LENGTH) throw new RangeError('a mark has another length');
  const buffer = asBuffer(bytes);
  return {
    id: Uint8Array.from(buffer.subarray(0, ID_LENGTH)),
    number: Number(buffer.readBigUInt64BE(ID_LENGTH)),
    digest: buffer.readUInt32BE(ID_LENGTH + U64_LENGTH),
    isSynced: (buffer.readUInt8(MARK_LENGTH - 1) & SYNCED) !== 0,
    begins: (buffer.readUInt8(MARK_LENGTH - 1) & BEGINS) !== 0,
  };
}

export function isSameDatabase(a: Mark, b: Mark): boolean {
  return equalBytes(a.id, b.id);
}

/** Path of the seal of the database in the folder `path`. */
export const sealPath = (path: string): string => `${path}.seal`;

/** The mark that a seal file names; undefined when there is no file or nothing in it checks. */
export async function readSeal(file: string): Promise<Mark | undefined> {
  return sealIn(await readIfThere(file));
}

/** The mark that the content of a seal file names. */
export function sealIn(content: Uint8Array): Mark | undefined {
  const bytes = Buffer.alloc(SEAL_LENGTH);
  bytes.set(content.subarray(0, SEAL_LENGTH));
  let found: Mark | undefined;
  for (const offset of [0, SLOT_DISTANCE]) {
    const mark = readSlot(bytes.subarray(offset, offset + SLOT_LENGTH));
    if (mark !== undefined && (found === undefined || mark.number > found.number)) found = mark;
  }
  return found;
}

async function readIfThere(file: string): Promise<Buffer> {
  const bytes = Buffer.alloc(SEAL_LENGTH);
  const handle = await open(file, 'r').catch(ifMissing);
  if (handle === undefined) return bytes;
  try {
    // A disk may give less than it has at once.
    for (let at = 0, read = 1; read > 0 && at < bytes.length; at += read) {
      ({ bytesRead: read } = await handle.read(bytes, at, bytes.length - at, at));
    }
    return bytes;
  } finally {
    await handle.close();
  }
}

function readSlot(slot: Buffer): Mark | undefined {
  const body = slot.subarray(0, SLOT_LENGTH - CHECKSUM_LENGTH);
  if (!body.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  if (slot.readUInt32BE(body.length) !== crc32(body)) return undefined;
  return decodeMark(body.subarray(MAGIC.length));
}

function encodeSlot(mark: Mark): Uint8Array {
  const slot = Buffer.alloc(SLOT_LENGTH);
  slot.set(MAGIC);
  slot.set(encodeMark(mark), MAGIC.length);
  slot.writeUInt32BE(crc32(slot.subarray(0, SLOT_LENGTH - CHECKSUM_LENGTH)), SLOT_LENGTH - CHECKSUM_LENGTH);
  return slot;
}

/** The seal of an open database. */
export class Seal {
  readonly #file: FileHandle;
  #slot = 0;
  #unsynced = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Opens or makes the file and names `mark` in both of its slots, which survive power loss then. */
  static async open(file: string, mark: Mark): Promise<Seal> {
    const handle = await open(file, 'a', FILE_MODE);
    await handle.close();
    const seal = new Seal(await open(file, 'r+'));
    try {
      seal.write(mark);
      await seal.#file.sync();
      seal.write(mark);
      await seal.#file.sync();
      await syncFolder(dirname(file));
    } catch (error) {
      await seal.#file.close();
      throw error;
    }
    return seal;
  }

  /** Names the mark of a batch that the caller has synced. A synchronous write of microseconds, which takes no new room. */
  write(mark: Mark): void {
    writeSync(this.#file.fd, encodeSlot(mark), 0, SLOT_LENGTH, this.#slot * SLOT_DISTANCE);
    this.#slot = 1 - this.#slot;
    this.#unsynced += 1;
    if (this.#unsynced < SYNC_EVERY) return;
    this.#unsynced = 0;
    // This sync is not awaited: a seal that is behind after a power loss is no fault.
    this.#file.datasync().catch(() => undefined);
  }

  /** Names a mark like `write`, where a seal that is out of date is no fault. */
  tryWrite(mark: Mark): void {
    try {
      this.write(mark);
    } catch {
      // The batch is durable without the seal.
    }
  }

  /** Syncs and closes the file. */
  async close(): Promise<void> {
    try {
      await this.#file.sync();
    } finally {
      await this.#file.close();
    }
  }
}
