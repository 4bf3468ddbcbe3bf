/**
 * Reads the records of a segment from its beginning to its end, also past damaged ones; and the footer of a closed segment.
 *
 *   footer   magic (u32) ‖ first height (u64) ‖ last height (u64) ‖ SHA-256 of all records (32) ‖ offset of each record (u32) ‖
 *            CRC-32C of the footer (u32)
 */

import { createHash } from 'node:crypto';
import { nextCrc32c } from '../../db/level-files/log.js';
import { findMagic, HEAD_LENGTH, readHead, readRecord, recordLength, type SegmentBlock } from './record.js';

const FOOTER_MAGIC = 0x31465354;
const DIGEST_AT = 20;
const OFFSETS_AT = 52;
const SUM_LENGTH = 4;
const OFFSET_LENGTH = 4;
/** Bytes that are read at once. */
const WINDOW_BYTES = 1024 * 1024;

/** Reads `length` bytes from an offset of a segment; fewer at its end. */
export type ReadSegment = (offset: number, length: number) => Promise<Buffer>;

export interface Found {
  readonly height: number;
  readonly offset: number;
  /** Bytes of the record or damage; infinite for damage at the end of a segment whose footer is damaged too. */
  readonly length: number;
  /** The record; undefined when it is damaged: then these bytes hold the blocks up to `to`. */
  readonly record: SegmentBlock | undefined;
  readonly to: number;
}

/** First and last block of a segment. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

export interface Footer extends Range {
  /** Bytes of all records. */
  readonly end: number;
  readonly digest: Buffer;
  readonly offsets: readonly number[];
}

/** Range of a scan: its first block, and the offsets of its beginning and end; infinite, where these are not known. */
export interface ScanRange {
  readonly height: number;
  readonly at: number;
  readonly end: number;
  readonly last: number;
}

/**
 * All blocks of the range. Behind a damaged record the footer says where the next one is. Without a footer it is searched for: heads
 * must follow each other from there to the end, for the bytes of a transaction may look like a record.
 */
export async function* scan(read: ReadSegment, range: ScanRange, footer?: Footer): AsyncGenerator<Found> {
  const { end, last } = range;
  const bytesAt = windowOf(read, end);
  let at = range.at;
  for (let next = range.height; next <= last; ) {
    const head = readHead(await bytesAt(at, HEAD_LENGTH));
    if (head?.height === next && at + head.length <= end) {
      const record = readRecord(await bytesAt(at, head.length));
      yield { height: next, to: next, offset: at, length: head.length, record };
      at += head.length;
      next += 1;
      continue;
    }
    // A record that was not written completely is the last one.
    const found = head?.height === next ? undefined : await behind(read, { height: next, at, end, last }, footer);
    const [to, until] = found === undefined ? [last, end] : [found.height - 1, found.at];
    yield { height: next, to, offset: at, length: until - at, record: undefined };
    if (found === undefined) return;
    at = until;
    next = to + 1;
  }
}

/** True if a block is as long as the damaged record, or shorter when other records follow in the damaged bytes. */
export function fits(gap: Pick<Found, 'height' | 'to' | 'length'>, block: SegmentBlock): boolean {
  const length = recordLength(block);
  const isAlone = gap.to === gap.height && Number.isFinite(gap.length);
  return block.height === gap.height && (isAlone ? length === gap.length : length < gap.length);
}

/** Digest and offsets of a segment's records; undefined when a record is damaged. */
export async function summarize(read: ReadSegment, { first, last }: Range, limit: number): Promise<Footer | undefined> {
  const hash = createHash('sha256');
  const offsets: number[] = [];
  let end = 0;
  for await (const { offset, length, record } of scan(read, { height: first, at: 0, end: limit, last })) {
    if (record === undefined) return undefined;
    offsets.push(offset);
    end = offset + length;
  }
  for (let at = 0; at < end; at += WINDOW_BYTES) hash.update(await read(at, Math.min(WINDOW_BYTES, end - at)));
  return { first, last, end, digest: hash.digest(), offsets };
}

/** The footer of a segment of this size; undefined when it is damaged. */
export async function readFooter(read: ReadSegment, { first, last }: Range, size: number): Promise<Footer | undefined> {
  const count = last - first + 1;
  const end = size - footerLength(count);
  const bytes = end < 0 ? Buffer.alloc(0) : await read(end, footerLength(count));
  if (bytes.length < footerLength(count)) return undefined;
  const offsets = Array.from({ length: count }, (_, i) => bytes.readUInt32LE(OFFSETS_AT + i * OFFSET_LENGTH));
  const footer = { first, last, end, digest: bytes.subarray(DIGEST_AT, OFFSETS_AT), offsets };
  return bytes.equals(encodeFooter(footer)) ? footer : undefined;
}

export function footerLength(blocks: number): number {
  return OFFSETS_AT + blocks * OFFSET_LENGTH + SUM_LENGTH;
}

export function encodeFooter({ first, last, digest, offsets }: Footer): Buffer {
  const bytes = Buffer.alloc(footerLength(offsets.length));
  const end = bytes.length - SUM_LENGTH;
  bytes.writeUInt32LE(FOOTER_MAGIC, 0);
  bytes.writeBigUInt64LE(BigInt(first), 4);
  bytes.writeBigUInt64LE(BigInt(last), 12);
  bytes.set(digest, DIGEST_AT);
  for (const [i, offset] of offsets.entries()) bytes.writeUInt32LE(offset, OFFSETS_AT + i * OFFSET_LENGTH);
  bytes.writeUInt32LE(nextCrc32c(bytes.subarray(0, end), 0), end);
  return bytes;
}

type BytesAt = (offset: number, length: number) => Promise<Buffer>;

/** Reads through a window, so that small records do not take a call each. */
function windowOf(read: ReadSegment, end: number): BytesAt {
  let from = 0;
  let window: Buffer = Buffer.alloc(0);
  return async (offset, length) => {
    if (offset < from || offset + length > from + window.length) {
      window = await read(offset, Math.max(Math.min(Math.max(length, WINDOW_BYTES), end - offset), 0));
      from = offset;
    }
    return window.subarray(offset - from, offset - from + length);
  };
}

type Place = Pick<ScanRange, 'height' | 'at'>;

/** Place of the next sound record behind a damaged one; undefined when there is none. */
async function behind(read: ReadSegment, range: ScanRange, footer: Footer | undefined): Promise<Place | undefined> {
  const height = range.height + 1;
  const at = footer?.offsets[height - footer.first];
  if (footer !== undefined) return at === undefined ? undefined : { height, at };
  const found = await findHead(read, range, false);
  // Bytes that a killed process has appended may end anywhere, also within a record.
  return found ?? (range.last === Number.POSITIVE_INFINITY ? findHead(read, range, true) : undefined);
}

/** The next head behind the damaged block from which records follow each other. */
async function findHead(read: ReadSegment, range: ScanRange, mayBeTorn: boolean): Promise<Place | undefined> {
  const { height, end, last } = range;
  for (let from = range.at + 1; ; from += WINDOW_BYTES) {
    // The window is longer by a head, so that it contains a head that begins near its end.
    const bytes = await read(from, Math.max(Math.min(WINDOW_BYTES + HEAD_LENGTH, end - from), 0));
    if (bytes.length === 0) return undefined;
    for (let found = findMagic(bytes, 0); found >= 0; found = findMagic(bytes, found + 1)) {
      const head = readHead(bytes.subarray(found));
      if (head === undefined || head.height <= height || head.height > last) continue;
      const place = { height: head.height, at: from + found };
      if (await isFollowed(read, { ...place, end, last }, mayBeTorn)) return place;
    }
  }
}

/** True when each record of the range begins with a head. */
async function isFollowed(read: ReadSegment, range: ScanRange, mayBeTorn: boolean): Promise<boolean> {
  const { end, last } = range;
  let at = range.at;
  for (let next = range.height; next <= last && at < end; next++) {
    const head = readHead(await read(at, HEAD_LENGTH));
    if (head?.height !== next) return mayBeTorn && end - at < HEAD_LENGTH;
    at += head.length;
  }
  return at === end || end === Number.POSITIVE_INFINITY || (mayBeTorn && at > end);
}
