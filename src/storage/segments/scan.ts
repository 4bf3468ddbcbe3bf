/**
 * Reading the records of a segment from its beginning to its end, also past those that are damaged; and the footer of a closed one.
 *
 *   footer   magic (u32) ‖ first height (u64) ‖ last height (u64) ‖ SHA-256 of all records (32) ‖ offset of each record (u32) ‖
 *            CRC-32C of the footer (u32)
 */

import { createHash } from 'node:crypto';
import { nextCrc32c } from '../../db/level-files/crc32c.js';
import { findMagic, HEAD_LENGTH, type RecordHead, readHead, readRecord, type SegmentBlock } from './record.js';

const FOOTER_MAGIC = 0x31465354;
const OFFSETS_AT = 52;
const SUM_LENGTH = 4;
const OFFSET_LENGTH = 4;
/** Bytes that are read at once. */
const WINDOW_BYTES = 1024 * 1024;

/** Reads so many bytes from an offset of a segment; fewer at its end. */
export type ReadSegment = (offset: number, length: number) => Promise<Buffer>;

export interface Found {
  readonly height: number;
  readonly offset: number;
  readonly length: number;
  /** Undefined when it is damaged. Then these bytes hold the blocks up to `to`. */
  readonly record: SegmentBlock | undefined;
  readonly to: number;
}

export interface Footer {
  readonly first: number;
  readonly digest: Buffer;
  readonly offsets: readonly number[];
}

/** Records from the offset `at` to `end`, of which the first has this height. What is damaged at the end is yielded too. */
export async function* scan(read: ReadSegment, height: number, at: number, end: number): AsyncGenerator<Found> {
  const bytesAt = windowOf(read, end);
  for (let next = height; at < end; ) {
    const head = readHead(await bytesAt(at, HEAD_LENGTH));
    if (head?.height === next && at + head.length <= end) {
      const record = readRecord(await bytesAt(at, head.length));
      yield { height: next, to: next, offset: at, length: head.length, record };
      at += head.length;
      next += 1;
      continue;
    }
    const found = await findHead(bytesAt, at + 1, end, next);
    const to = found === undefined ? next : found.head.height - 1;
    const until = found?.offset ?? end;
    yield { height: next, to, offset: at, length: until - at, record: undefined };
    at = until;
    next = to + 1;
  }
}

/** Digest and offsets of a segment's records; undefined when one is damaged. */
export async function summarize(read: ReadSegment, first: number, end: number): Promise<Footer | undefined> {
  const hash = createHash('sha256');
  const offsets: number[] = [];
  for await (const { offset, record } of scan(read, first, 0, end)) {
    if (record === undefined) return undefined;
    offsets.push(offset);
  }
  for (let at = 0; at < end; at += WINDOW_BYTES) hash.update(await read(at, Math.min(WINDOW_BYTES, end - at)));
  return { first, digest: hash.digest(), offsets };
}

export function footerLength(blocks: number): number {
  return OFFSETS_AT + blocks * OFFSET_LENGTH + SUM_LENGTH;
}

export function encodeFooter({ first, digest, offsets }: Footer): Buffer {
  const bytes = Buffer.alloc(footerLength(offsets.length));
  const end = bytes.length - SUM_LENGTH;
  bytes.writeUInt32LE(FOOTER_MAGIC, 0);
  bytes.writeBigUInt64LE(BigInt(first), 4);
  bytes.writeBigUInt64LE(BigInt(first + offsets.length - 1), 12);
  bytes.set(digest, 20);
  for (const [i, offset] of offsets.entries()) bytes.writeUInt32LE(offset, OFFSETS_AT + i * OFFSET_LENGTH);
  bytes.writeUInt32LE(nextCrc32c(bytes.subarray(0, end), 0), end);
  return bytes;
}

type BytesAt = (offset: number, length: number) => Promise<Buffer>;

/** Reads ahead, so that small records do not take a call each. */
function windowOf(read: ReadSegment, end: number): BytesAt {
  let from = 0;
  let window: Buffer = Buffer.alloc(0);
  return async (offset, length) => {
    if (offset < from || offset + length > from + window.length) {
      window = await read(offset, Math.min(Math.max(length, WINDOW_BYTES), end - offset));
      from = offset;
    }
    return window.subarray(offset - from, offset - from + length);
  };
}

/** The next head from the offset on that can follow a block of this height. */
async function findHead(
  bytesAt: BytesAt,
  from: number,
  end: number,
  height: number,
): Promise<{ readonly offset: number; readonly head: RecordHead } | undefined> {
  for (let at = from; at < end; at += WINDOW_BYTES) {
    // The head of one that begins at the end of the window is in it too.
    const bytes = await bytesAt(at, Math.min(WINDOW_BYTES + HEAD_LENGTH, end - at));
    for (let found = findMagic(bytes, 0); found >= 0; found = findMagic(bytes, found + 1)) {
      const head = readHead(bytes.subarray(found));
      if (head !== undefined && head.height > height) return { offset: at + found, head };
    }
  }
  return undefined;
}
