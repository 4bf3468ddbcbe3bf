/**
 * Starting from segments in the object store: blocks that this node lacks are read from there in order, and each is checked by every rule,
 * like a block from a peer. Where the network names producers, only blocks up to the last certified one of a segment are taken.
 */

import { blockCertificateFault, type Producers } from '../../chain/certificate.js';
import { decodeBlock } from '../../chain/codec.js';
import { decodeFullBlockInPieces } from '../../chain/decode-in-pieces.js';
import { blockHash } from '../../chain/hash.js';
import type { FullBlock } from '../../chain/types.js';
import { type Clock, systemClock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { TimeSlices } from '../../lib/time-slices.js';
import type { Archive } from '../archive/archive.js';
import { readCertificate } from '../archive/certificates.js';
import { encodedBlock } from '../archive/places.js';
import type { FarSegments, Fetched } from '../segments/far-segments.js';
import { rangeOf } from '../segments/names.js';
import { unpack } from '../segments/pack.js';
import type { SegmentBlock } from '../segments/record.js';
import { type Range, readFooter, scan } from '../segments/scan.js';
import { verifyAhead } from './verify-ahead.js';

export interface FromStoreOptions {
  readonly producers: Producers | undefined;
  readonly signal: AbortSignal;
  /** Called with the number of blocks stored, and of those in the object store. */
  readonly onProgress: (done: number, total: number) => void;
  readonly clock?: Clock;
}

interface Listed extends Range {
  readonly name: string;
}

interface TakeOptions extends FromStoreOptions {
  readonly total: number;
}

/**
 * Takes in the blocks; resolves when the object store has no more. Throws `archive_incomplete` when it does not give them, and
 * `block_refused` at one that breaks a rule: the blocks before it stay.
 */
export async function takeFromStore(archive: Archive, far: FarSegments, options: FromStoreOptions): Promise<void> {
  const listed = await listSegments(far);
  const total = Math.max(0, ...listed.map(({ last }) => last + 1));
  for (;;) {
    const { nextHeight } = archive;
    const candidates = listed.filter(({ first, last }) => first <= nextHeight && nextHeight <= last);
    if (candidates.length === 0 || options.signal.aborted) return;
    let problem: unknown;
    for (const segment of candidates) {
      try {
        await takeSegment(archive, segment, far, { ...options, total });
      } catch (error) {
        problem = error;
      }
      if (archive.nextHeight > segment.last) break;
    }
    if (archive.nextHeight > nextHeight || options.signal.aborted) continue;
    throw problem ?? uncertified(nextHeight);
  }
}

/** The closed segments in the object store; foreign objects are passed over. */
export async function listSegments(
  far: FarSegments,
  onForeign: (name: string) => void = () => undefined,
): Promise<Listed[]> {
  const found: Listed[] = [];
  for await (const { name } of far.store.list()) {
    const range = name.endsWith('.blocks') ? rangeOf(name) : undefined;
    if (range === undefined) onForeign(name);
    else found.push({ name, ...range });
  }
  return found.sort((a, b) => a.first - b.first);
}

/** All records of a fetched segment, whose digest was checked. Throws `archive_incomplete` when they are not the blocks of its name. */
export async function* recordsOf({ name, ...range }: Listed, { read, size }: Fetched): AsyncGenerator<SegmentBlock> {
  const footer = await readFooter(read, range, size);
  const places = { height: range.first, at: 0, end: footer?.end ?? 0, last: range.last };
  for await (const { record } of scan(read, places, footer)) {
    if (record === undefined)
      throw new TesseraError('archive_incomplete', `the object store has a segment ${name} with damaged records`);
    yield record;
  }
}

async function takeSegment(archive: Archive, segment: Listed, far: FarSegments, options: TakeOptions): Promise<void> {
  const fetched = await far.fetch(segment.name);
  try {
    await takeRecords(archive, segment, fetched, options);
  } finally {
    await fetched.close();
  }
}

async function takeRecords(
  archive: Archive,
  segment: Listed,
  fetched: Fetched,
  { producers, signal, onProgress, total, clock = systemClock }: TakeOptions,
): Promise<void> {
  const end = producers === undefined ? segment.last : await lastCertified(archive, segment, fetched, producers);
  const slices = new TimeSlices(clock);
  const decode = async (record: SegmentBlock): Promise<FullBlock> => {
    const full = await decodeFullBlockInPieces(await encodedBlock(record, slices), () => slices.turn(), {
      isForRules: true,
    });
    await verifyAhead(full, archive.scripts, slices);
    return full;
  };
  let storing: Promise<unknown> = Promise.resolve();
  for await (const record of recordsOf(segment, fetched)) {
    if (signal.aborted || record.height > end) break;
    if (record.height < archive.nextHeight) continue;
    // The next block is decoded, and its signatures are checked, while this one is stored.
    const coming = decode(record);
    coming.catch(() => undefined);
    await storing;
    const full = await coming;
    const { height, certificate } = record;
    storing = archive.store(full, certificate && readCertificate(height, certificate));
    storing.then(() => onProgress(height + 1, total)).catch(() => undefined);
  }
  await storing;
}

/** Height of the last block that follows ours and has a producer's certificate, which proves all before it; -1 if none has. */
async function lastCertified(
  archive: Archive,
  segment: Listed,
  fetched: Fetched,
  producers: Producers,
): Promise<number> {
  let before = archive.tip.hash;
  let end = -1;
  for await (const { height, block, certificate } of recordsOf(segment, fetched)) {
    if (height < archive.nextHeight) continue;
    const { header } = decodeBlock(unpack(block));
    if (header.previousHash !== before) return end;
    const hash = blockHash(header);
    const proof = certificate && readCertificate(height, certificate);
    if (blockCertificateFault(producers, { height, hash }, proof) === null) end = height;
    before = hash;
  }
  return end;
}

function uncertified(height: number): TesseraError {
  const message = `the object store has no block ${height} that a producer's certificate proves; it comes from other storage nodes`;
  return new TesseraError('archive_incomplete', message);
}
