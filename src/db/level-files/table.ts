/**
 * LevelDB's table format: blocks `data ‖ compression (1) ‖ crc32c(data ‖ compression), masked (4)`, and a footer of 48
 * bytes. Index and metaindex list all blocks, which fill the file. A `RangeError` says that a table is damaged.
 */

import { createRequire } from 'node:module';
import { asBuffer, compareBytes } from '../../lib/bytes.js';
import { maskedCrc32c } from './log.js';
import type { TableFile } from './manifest.js';
import { VarintReader } from './varints.js';

const FOOTER_LENGTH = 48;
const MAGIC_LENGTH = 8;
const MAGIC = 0xdb4775248b80fb57n;
/** Compression and checksum after each block. */
const TRAILER_LENGTH = 5;
const COMPRESSION_NONE = 0;
const COMPRESSION_SNAPPY = 1;
const U32_LENGTH = 4;
/** Sequence and kind at the end of an internal key. */
const TAG_LENGTH = 8;

interface Handle {
  readonly offset: number;
  readonly size: number;
}

export interface TableEntry {
  /** Inside a table: the user's key and 8 bytes of sequence and kind. */
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** Checks every byte of a table, and that it begins and ends with the keys that the MANIFEST names. */
export function checkTable(table: Buffer, expected: TableFile): void {
  const { smallest, largest } = checkBlocks(table);
  if (!isEqual(smallest, expected.smallest) || !isEqual(largest, expected.largest)) {
    throw new RangeError('the table holds other keys than the MANIFEST says');
  }
}

function checkBlocks(table: Buffer): Partial<Pick<TableFile, 'smallest' | 'largest'>> {
  const { metaindex, index } = footerOf(table);
  const dataBlocks = handlesIn(readBlock(table, index));
  const listed = [...dataBlocks, ...handlesIn(readBlock(table, metaindex))];
  let at = 0;
  for (const block of [...listed, metaindex, index].sort((a, b) => a.offset - b.offset)) {
    if (block.offset !== at) throw new RangeError('the blocks do not fill the file');
    checkBlock(table, block);
    at += block.size + TRAILER_LENGTH;
  }
  if (at !== table.length - FOOTER_LENGTH) throw new RangeError('the blocks do not fill the file');
  const [first] = dataBlocks;
  const last = dataBlocks.at(-1);
  if (first === undefined || last === undefined) throw new RangeError('the table is empty');
  const smallest = entriesOf(readBlock(table, first)).next().value?.key;
  const largest = lastOf(readBlock(table, last))?.key;
  return { ...(smallest && { smallest }), ...(largest && { largest }) };
}

/** The newest value of the greatest key of a table, which may be there in many versions, the newest first. */
export function newestOfLastKey(table: Buffer): Uint8Array | undefined {
  let found: TableEntry | undefined;
  for (const handle of handlesIn(readBlock(table, footerOf(table).index)).reverse()) {
    const entries = [...entriesOf(readBlock(table, handle))];
    const last = found ?? entries.at(-1);
    const first = entries.findIndex(({ key }) => last !== undefined && isEqual(userKey(key), userKey(last.key)));
    if (first < 0) break;
    found = entries[first];
    if (first > 0) break;
  }
  return found?.value;
}

/** An internal key without its sequence and kind. */
export function userKey(internalKey: Uint8Array): Uint8Array {
  return internalKey.subarray(0, -TAG_LENGTH);
}

function isEqual(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a !== undefined && compareBytes(a, b) === 0;
}

function footerOf(table: Buffer): { readonly metaindex: Handle; readonly index: Handle } {
  if (table.length < FOOTER_LENGTH || table.readBigUInt64LE(table.length - MAGIC_LENGTH) !== MAGIC) {
    throw new RangeError('the table has no end');
  }
  const footer = new VarintReader(table.subarray(table.length - FOOTER_LENGTH));
  return { metaindex: readHandle(footer), index: readHandle(footer) };
}

function readHandle(reader: VarintReader): Handle {
  return { offset: reader.varint(), size: reader.varint() };
}

/** The stored bytes of a block; a `RangeError` when its checksum is wrong or it is not in the file. */
function checkBlock(table: Buffer, { offset, size }: Handle): Buffer {
  const end = offset + size + 1;
  if (table.readUInt32LE(end) !== maskedCrc32c(table.subarray(offset, end))) throw new RangeError('wrong checksum');
  return table.subarray(offset, end);
}

function readBlock(table: Buffer, handle: Handle): Uint8Array {
  const stored = checkBlock(table, handle);
  return uncompressed(stored.subarray(0, handle.size), stored[handle.size]);
}

function uncompressed(data: Uint8Array, compression: number | undefined): Uint8Array {
  if (compression === COMPRESSION_NONE) return data;
  if (compression === COMPRESSION_SNAPPY) return snappyDecode(data);
  throw new RangeError('unknown compression');
}

/** The entries of a block: `shared ‖ unshared ‖ value length (varints) ‖ end of the key ‖ value` each, then the restart points. */
function* entriesOf(block: Uint8Array): Generator<TableEntry, undefined> {
  const buffer = Buffer.from(block.buffer, block.byteOffset, block.byteLength);
  const restarts = buffer.readUInt32LE(buffer.length - U32_LENGTH);
  const end = buffer.length - U32_LENGTH * (restarts + 1);
  const reader = new VarintReader(buffer);
  let key: Uint8Array = new Uint8Array();
  while (reader.at < end) {
    const shared = reader.varint();
    const unshared = reader.varint();
    const length = reader.varint();
    key = Buffer.concat([key.subarray(0, shared), reader.take(unshared)]);
    yield { key, value: reader.take(length) };
  }
}

function lastOf(block: Uint8Array): TableEntry | undefined {
  let last: TableEntry | undefined;
  for (const entry of entriesOf(block)) last = entry;
  return last;
}

function handlesIn(block: Uint8Array): Handle[] {
  return [...entriesOf(block)].map(({ value }) => readHandle(new VarintReader(value)));
}

const ROCKS_FOOTER_LENGTH = 53;
const ROCKS_MAGIC = 0x88e241b785f4cff7n;
/** Formats of RocksDB's tables whose index is read here; 5 has been the default from 6.6 on. */
const ROCKS_FORMATS = [4, 5];

/** The entries of a table of RocksDB: LevelDB's, with other checksums (not checked) and a longer footer. */
export function* rocksEntries(table: Buffer): Generator<TableEntry, undefined> {
  const format = table.readUInt32LE(Math.max(0, table.length - MAGIC_LENGTH - U32_LENGTH));
  if (table.readBigUInt64LE(table.length - MAGIC_LENGTH) !== ROCKS_MAGIC || !ROCKS_FORMATS.includes(format)) {
    throw new RangeError('not a table of a known format of RocksDB');
  }
  const block = ({ offset, size }: Handle): Uint8Array =>
    uncompressed(table.subarray(offset, offset + size), table[offset + size]);
  // The first byte of the footer is the kind of checksum.
  const footer = new VarintReader(table.subarray(table.length - ROCKS_FOOTER_LENGTH), 1);
  readHandle(footer);
  const index = Buffer.from(block(readHandle(footer)));
  const end = index.length - U32_LENGTH * (index.readUInt32LE(index.length - U32_LENGTH) + 1);
  const reader = new VarintReader(index);
  while (reader.at < end) {
    if (reader.varint() !== 0) throw new RangeError('an index of another kind');
    reader.slice();
    yield* entriesOf(block(readHandle(reader)));
  }
}

const requirePackage = createRequire(import.meta.url);

/** Most bytes that a block may have once it is uncompressed. */
const MAX_BLOCK_LENGTH = 64 * 1024 * 1024;

/** Uncompresses a block, by native code that is loaded with the first one: it takes 4 MB. Throws a `RangeError` when the data is damaged. */
function snappyDecode(input: Uint8Array): Uint8Array {
  if (new VarintReader(input).varint() > MAX_BLOCK_LENGTH) throw new RangeError('too long');
  const { uncompressSync } = requirePackage('snappy') as typeof import('snappy');
  try {
    return asBuffer(uncompressSync(asBuffer(input), { asBuffer: true }) as Buffer);
  } catch (cause) {
    throw new RangeError('cannot be uncompressed', { cause });
  }
}
