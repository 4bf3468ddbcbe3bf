/**
 * Reads LevelDB's tables before LevelDB does. It never looks at their checksums: a flipped bit gives wrong values, hides
 * keys, or ends the process in an assertion; here it is `data_corrupt`.
 *
 * A table is a row of blocks, `data ‖ compression (1) ‖ crc32c(data ‖ compression), masked (4)`, and a footer of 48 bytes
 * that says where the index and the metaindex are. Those two list all other blocks; together they must fill the file.
 */

import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { TesseraError } from '../../lib/errors.js';
import { maskedCrc32c } from './crc32c.js';
import { snappyDecode } from './snappy.js';

const FOOTER_LENGTH = 48;
const MAGIC_LENGTH = 8;
const MAGIC = 0xdb4775248b80fb57n;
/** Compression and checksum after each block. */
const TRAILER_LENGTH = 5;
const COMPRESSION_NONE = 0;
const COMPRESSION_SNAPPY = 1;
const U32_LENGTH = 4;

interface Handle {
  readonly offset: number;
  readonly size: number;
}

/**
 * Checks the tables of a database, the newest first, until `maxBytes` have been read: a large archive would take minutes.
 * Does nothing when the folder is not there. Throws `data_corrupt`.
 */
export async function checkLevelTables(path: string, maxBytes = Number.POSITIVE_INFINITY): Promise<void> {
  const names = await readdir(path).catch(() => []);
  let bytes = 0;
  for (const name of names
    .filter((candidate) => /^\d+\.(ldb|sst)$/.test(candidate))
    .sort()
    .reverse()) {
    if (bytes >= maxBytes) return;
    const table = await readFile(join(path, name));
    bytes += table.length;
    // A crash may leave a table that was not finished and that LevelDB will not use.
    if (!isFinished(table) || isSound(table)) continue;
    throw new TesseraError(
      'data_corrupt',
      `the table ${basename(path)}/${name} is damaged: restore the database from a backup, or remove the data directory and let the node catch up`,
      { details: { table: `${basename(path)}/${name}` } },
    );
  }
}

function isFinished(table: Buffer): boolean {
  return table.length >= FOOTER_LENGTH && table.readBigUInt64LE(table.length - MAGIC_LENGTH) === MAGIC;
}

function isSound(table: Buffer): boolean {
  try {
    const footer = createReader(table.subarray(table.length - FOOTER_LENGTH));
    const metaindex = footer.handle();
    const index = footer.handle();
    const listed = [metaindex, index].flatMap((handle) => handlesIn(readBlock(table, handle)));
    const blocks = [...listed, metaindex, index].sort((a, b) => a.offset - b.offset);
    let at = 0;
    for (const block of blocks) {
      if (block.offset !== at) return false;
      checkBlock(table, block);
      at += block.size + TRAILER_LENGTH;
    }
    return at === table.length - FOOTER_LENGTH;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** The stored bytes of a block; a `RangeError` when its checksum is wrong or it is not in the file. */
function checkBlock(table: Buffer, { offset, size }: Handle): Buffer {
  const end = offset + size + 1;
  if (table.readUInt32LE(end) !== maskedCrc32c(table.subarray(offset, end))) throw new RangeError('wrong checksum');
  return table.subarray(offset, end);
}

function readBlock(table: Buffer, handle: Handle): Uint8Array {
  const stored = checkBlock(table, handle);
  const data = stored.subarray(0, handle.size);
  switch (stored[handle.size]) {
    case COMPRESSION_NONE:
      return data;
    case COMPRESSION_SNAPPY:
      return snappyDecode(data);
    default:
      throw new RangeError('unknown compression');
  }
}

/** The values of an index block: `shared ‖ unshared ‖ value length (varints) ‖ key part ‖ value`, then restart points. */
function handlesIn(block: Uint8Array): Handle[] {
  const buffer = Buffer.from(block.buffer, block.byteOffset, block.byteLength);
  const restarts = buffer.readUInt32LE(buffer.length - U32_LENGTH);
  const end = buffer.length - U32_LENGTH * (restarts + 1);
  const reader = createReader(buffer);
  const handles: Handle[] = [];
  while (reader.at < end) {
    reader.varint();
    const keyLength = reader.varint();
    const next = reader.varint() + keyLength;
    const start = reader.at;
    reader.at = start + keyLength;
    handles.push(reader.handle());
    reader.at = start + next;
  }
  return handles;
}

function createReader(bytes: Uint8Array) {
  const reader = {
    at: 0,
    varint(): number {
      let value = 0;
      for (let scale = 1; ; scale *= 128) {
        const byte = bytes[reader.at++];
        if (byte === undefined || scale > Number.MAX_SAFE_INTEGER / 256) throw new RangeError('no varint');
        value += (byte & 0x7f) * scale;
        if (byte < 0x80) return value;
      }
    },
    handle: (): Handle => ({ offset: reader.varint(), size: reader.varint() }),
  };
  return reader;
}
