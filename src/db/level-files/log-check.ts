/**
 * Reads LevelDB's write-ahead logs before LevelDB does. On a bad checksum in a log LevelDB drops up to 32 KiB of writes
 * without a word; here it is `data_corrupt`. What a crash leaves is no damage: a last record that is cut, or that ends in
 * bytes which never reached the disk (zeros).
 *
 * A log is a row of 32 KiB blocks. A block holds records of `crc32c(type ‖ data), masked (4) ‖ length (2) ‖ type (1) ‖ data`,
 * little-endian; fewer than 7 bytes at its end are padding.
 */

import { type FileHandle, open, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { TesseraError } from '../../lib/errors.js';
import { maskedCrc32c } from './crc32c.js';

const BLOCK_LENGTH = 32 * 1024;
const HEADER_LENGTH = 7;
const LENGTH_OFFSET = 4;
const TYPE_OFFSET = 6;
/** Zero bytes at the end of a log that say: these were never written. The smallest unit of a disk. */
const UNWRITTEN = 512;

/** Checks every log in the folder of a database; does nothing when there is no such folder. Throws `data_corrupt`. */
export async function checkLevelLogs(path: string): Promise<void> {
  for (const name of await logNames(path)) {
    const file = await open(join(path, name), 'r');
    try {
      await checkLog(file, `${basename(path)}/${name}`);
    } finally {
      await file.close();
    }
  }
}

async function logNames(path: string): Promise<string[]> {
  try {
    return (await readdir(path)).filter((name) => /^\d+\.log$/.test(name)).sort();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

async function checkLog(file: FileHandle, name: string): Promise<void> {
  const { size } = await file.stat();
  const block = Buffer.allocUnsafe(BLOCK_LENGTH);
  for (let start = 0; start < size; start += BLOCK_LENGTH) {
    const { bytesRead } = await file.read(block, 0, BLOCK_LENGTH, start);
    const bad = firstBadRecord(block.subarray(0, bytesRead), start + bytesRead >= size);
    if (bad === undefined) continue;
    if (await endsUnwritten(file, start + bad, size)) return;
    throw new TesseraError(
      'data_corrupt',
      `the log ${name} is damaged at byte ${start + bad}: restore the database from a backup, or remove the data directory and let the node catch up`,
      { details: { log: name, offset: start + bad } },
    );
  }
}

/** Offset of the first record of the block that does not check; undefined when all do or the last is merely cut. */
function firstBadRecord(block: Buffer, last: boolean): number | undefined {
  let at = 0;
  while (block.length - at >= HEADER_LENGTH) {
    const length = block.readUInt16LE(at + LENGTH_OFFSET);
    const end = at + HEADER_LENGTH + length;
    // A record never leaves its block; only the file's end may cut one.
    if (end > block.length) return last && at + HEADER_LENGTH + length <= BLOCK_LENGTH ? undefined : at;
    if (maskedCrc32c(block.subarray(at + TYPE_OFFSET, end)) !== block.readUInt32LE(at)) return at;
    at = end;
  }
  return undefined;
}

/** True when the file ends in zeros, at least a disk sector of them or all there is behind `from`. */
async function endsUnwritten(file: FileHandle, from: number, size: number): Promise<boolean> {
  const length = Math.min(UNWRITTEN, size - from);
  const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, size - length);
  return buffer.subarray(0, bytesRead).every((byte) => byte === 0);
}
