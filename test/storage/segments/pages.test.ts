import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.js';
import { TimeSlices } from '../../../src/lib/time-slices.js';
import { Pages } from '../../../src/storage/segments/pages.js';
import { recordPieces, type SegmentBlock } from '../../../src/storage/segments/record.js';
import { Segments } from '../../../src/storage/segments/segments.js';

const PAGE = 16 * 1024;
const slices = new TimeSlices(systemClock);
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-pages-'));
});
afterEach(() => rm(folder, { recursive: true }));

const blockOf = (height: number, fill: number, length = PAGE): SegmentBlock => {
  const transactions = [Buffer.alloc(length, fill)];
  return { height, issued: 0n, certificate: undefined, block: Buffer.from([fill]), transactions };
};
const bytesOf = (block: SegmentBlock): Buffer => Buffer.concat([...recordPieces(block)]);

describe('pages of a segment in memory', () => {
  it('give the same bytes as the file, wherever they begin and end, and one read for what is near', async () => {
    const file = Buffer.from(Array.from({ length: 4 * PAGE - 100 }, (_, i) => i % 251));
    let reads = 0;
    const read = async (offset: number, length: number): Promise<Buffer> => {
      reads++;
      return file.subarray(offset, offset + length);
    };
    const pages = new Pages();
    for (const length of [1, 300, PAGE, PAGE + 1, 3 * PAGE]) {
      for (const offset of [0, 1, PAGE - 1, PAGE, 2 * PAGE - 150, 3 * PAGE - 1, 4 * PAGE - 200]) {
        for (const end of [file.length, Number.POSITIVE_INFINITY]) {
          const found = await pages.read(read, 7, offset, length, end);
          expect(found.equals(file.subarray(offset, offset + length)), `${length} at ${offset}`).toBe(true);
        }
      }
    }
    reads = 0;
    await Promise.all([1, 2, 3].map((offset) => pages.read(read, 8, offset, 100, PAGE)));
    expect(reads).toBe(1);
  });

  it('ask again after a read that failed', async () => {
    const pages = new Pages();
    const fails = () => Promise.reject(new Error('EIO'));
    await expect(pages.read(fails, 0, 0, 1, PAGE)).rejects.toThrow('EIO');
    expect(await pages.read(async () => Buffer.from([9]), 0, 0, 1, PAGE)).toEqual(Buffer.from([9]));
  });

  it('are read anew when a block that was taken back has another in its place', async () => {
    const segments = await Segments.open(folder);
    await segments.settle(undefined);
    await segments.append(blockOf(0, 1, 10), slices);
    const taken = await segments.append(blockOf(1, 2), slices);
    const part = { offset: taken.offset, length: 300 };
    expect((await segments.read(1, part)).equals(bytesOf(blockOf(1, 2)).subarray(0, 300))).toBe(true);
    segments.takeBack();
    await segments.append(blockOf(1, 3), slices);
    expect((await segments.read(1, part)).equals(bytesOf(blockOf(1, 3)).subarray(0, 300))).toBe(true);
    await segments.close();
  });

  it('are read anew when a damaged block has been replaced', async () => {
    const segments = await Segments.open(folder);
    await segments.settle(undefined);
    await segments.append(blockOf(0, 1, 10), slices);
    const place = await segments.append(blockOf(1, 2), slices);
    await segments.append(blockOf(2, 4), slices);
    await segments.read(1, place);
    await segments.replace({ height: 1, to: 1, offset: place.offset }, blockOf(1, 3));
    expect((await segments.read(1, place)).equals(bytesOf(blockOf(1, 3)))).toBe(true);
    await segments.close();
  });
});
