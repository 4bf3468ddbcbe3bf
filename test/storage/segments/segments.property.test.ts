/** Segments hold what was appended, whatever is cut off or changed in their files (rules P1 and P3). */

import { chmod, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.js';
import { TimeSlices } from '../../../src/lib/time-slices.js';
import { setUnusedAside } from '../../../src/storage/segments/names.js';
import { pack, unpack } from '../../../src/storage/segments/pack.js';
import {
  readFront,
  readHead,
  readRecord,
  recordLength,
  recordPieces,
  type SegmentBlock,
} from '../../../src/storage/segments/record.js';
import { fits } from '../../../src/storage/segments/scan.js';
import { type RecordPlace, Segments } from '../../../src/storage/segments/segments.js';
import { fc } from '../../support/property.js';

const slices = new TimeSlices(systemClock);
const MAX_BYTES = 2_000;

let path: string;
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'tessera-segments-'));
});
afterEach(async () => {
  await rm(path, { recursive: true });
});

const bytes = (maxLength: number) => fc.uint8Array({ minLength: 1, maxLength });
const content = fc.record({
  issued: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  certificate: fc.option(
    fc.uint8Array({ minLength: 96, maxLength: 96 }).map((some) => Uint8Array.from(some).fill(7, 0, 1)),
    {
      nil: undefined,
    },
  ),
  block: bytes(300),
  transactions: fc.array(bytes(300), { minLength: 1, maxLength: 6 }),
});
const chain = fc
  .array(content, { minLength: 1, maxLength: 20 })
  .map((all) => all.map((one, height): SegmentBlock => ({ height, ...one })));

async function open(): Promise<Segments> {
  return Segments.open(path, { maxBytes: MAX_BYTES });
}

async function fill(blocks: readonly SegmentBlock[]): Promise<{ segments: Segments; places: RecordPlace[] }> {
  await rm(path, { recursive: true, force: true });
  const segments = await open();
  await segments.settle(undefined);
  const places: RecordPlace[] = [];
  for (const block of blocks) places.push(await segments.append(block, slices));
  return { segments, places };
}

async function heights(segments: Segments): Promise<(number | string)[]> {
  const found: (number | string)[] = [];
  for await (const { height, to, record } of segments.records(0))
    found.push(record === undefined ? `${height}-${to}` : height);
  return found;
}

const same = (a: SegmentBlock, b: SegmentBlock) =>
  a.height === b.height &&
  a.issued === b.issued &&
  Buffer.from(a.block).equals(b.block) &&
  Buffer.from(a.certificate ?? []).equals(b.certificate ?? Buffer.alloc(0)) &&
  Buffer.concat([...a.transactions]).equals(Buffer.concat([...b.transactions]));

describe('a packed text', () => {
  const part = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.nat(300).map((length) => new Uint8Array(length)),
    fc.uint8Array({ maxLength: 150 }).map((some) => Buffer.from(Buffer.from(some).toString('hex').slice(1))),
  );

  it('is unpacked as it was, is never much larger, and is refused when it is cut', async () => {
    await fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), fc.nat(), (parts, at) => {
        const bytes = Buffer.concat(parts);
        const packed = pack(bytes);
        expect(unpack(packed).equals(bytes)).toBe(true);
        expect(packed.length).toBeLessThanOrEqual(bytes.length + bytes.length / 128 + 1);
        const cut = packed.subarray(0, at % (packed.length + 1));
        try {
          expect(unpack(cut).equals(bytes.subarray(0, unpack(cut).length))).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
    );
  });

  it('of hex digits takes half of it', () => {
    expect(pack(Buffer.from('ab'.repeat(64))).length).toBe(65);
    expect(pack(Buffer.alloc(60)).length).toBe(1);
  });
});

describe('a record', () => {
  it('is read as it was written, and not when one bit of it is different', async () => {
    await fc.assert(
      fc.property(content, fc.nat(), (one, at) => {
        const block = { height: 5, ...one };
        const record = Buffer.concat([...recordPieces(block)]);
        expect(record.length).toBe(recordLength(block));
        const read = readRecord(record);
        expect(read !== undefined && same(read, block)).toBe(true);
        expect(readFront(record)?.block).toEqual(Buffer.from(block.block));
        const flipped = Buffer.from(record);
        flipped[at % record.length] = (flipped[at % record.length] ?? 0) ^ (1 << (at % 8));
        expect(readRecord(flipped)).toBeUndefined();
        expect(readRecord(record.subarray(0, at % record.length))).toBeUndefined();
      }),
    );
  });

  it('of many megabytes is written in pieces', () => {
    const block = {
      height: 1,
      issued: 1n,
      certificate: undefined,
      block: Buffer.alloc(10, 1),
      transactions: [Buffer.alloc(5_000_000, 2)],
    };
    const pieces = [...recordPieces(block)];
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(1024 * 1024 + 4);
    expect(readRecord(Buffer.concat(pieces))?.transactions[0]?.length).toBe(5_000_000);
    expect(readHead(Buffer.alloc(3))).toBeUndefined();
  });
});

describe('segments', () => {
  it('give back what was appended, before and after a restart; the same blocks make the same files', async () => {
    await fc.assert(
      fc.asyncProperty(chain, async (blocks) => {
        const { segments, places } = await fill(blocks);
        for (const [i, place] of places.entries()) {
          const record = readRecord(await segments.read(i, place));
          expect(record !== undefined && same(record, blocks[i] as SegmentBlock)).toBe(true);
        }
        await segments.close();
        const names = await readdir(path);
        const again = await open();
        const last = places.at(-1) as RecordPlace;
        await again.settle({ height: blocks.length - 1, ...last });
        expect(again.next).toBe(blocks.length);
        expect(await heights(again)).toEqual(blocks.map((_, i) => i));
        await again.verify(new AbortController().signal);
        await again.close();
        const { segments: other } = await fill(blocks);
        await other.close();
        expect(await readdir(path)).toEqual(names);
      }),
      { numRuns: 30 },
    );
  });

  it('cut anywhere behind the last named block, keep it and what is whole behind it', async () => {
    await fc.assert(
      fc.asyncProperty(chain, fc.nat(), fc.nat(), async (blocks, at, named) => {
        const { segments, places } = await fill(blocks);
        await segments.close();
        const [file] = (await readdir(path)).filter((name) => name.endsWith('.open'));
        const size = (await stat(join(path, file ?? ''))).size;
        const first = Number(file?.slice(0, 10));
        const kept = first + (named % (blocks.length - first));
        const place = places[kept] as RecordPlace;
        const end = place.offset + place.length;
        const cut = end + (at % (size - end + 1));
        await truncate(join(path, file ?? ''), cut);
        const again = await open();
        await again.settle({ height: kept, ...place });
        const whole = places.filter(({ offset, length }, i) => i >= first && offset + length <= cut).length;
        expect(again.next).toBe(first + whole);
        expect(await heights(again)).toEqual(blocks.slice(0, again.next).map((_, i) => i));
        const lost = await Segments.open(path);
        if (again.next < blocks.length)
          await expect(
            lost.settle({ height: blocks.length - 1, ...(places.at(-1) as RecordPlace) }),
          ).rejects.toMatchObject({
            code: 'data_lost',
          });
        await lost.close();
        await again.close();
      }),
      { numRuns: 30 },
    );
  });

  it('name a damaged block, read all others, and take it again in its place', async () => {
    await fc.assert(
      fc.asyncProperty(chain, fc.nat(), fc.nat(), async (blocks, which, at) => {
        const { segments, places } = await fill(blocks);
        await segments.close();
        const height = which % blocks.length;
        const { offset, length } = places[height] as RecordPlace;
        const names = (await readdir(path)).sort();
        const name = names.filter((one) => Number(one.slice(0, 10)) <= height).at(-1) ?? '';
        const file = join(path, name);
        const sound = await readFile(file);
        const flipped = Buffer.from(sound);
        const spot = offset + (at % length);
        flipped[spot] = (flipped[spot] ?? 0) ^ 64;
        await rm(file);
        await writeFile(file, flipped);
        const again = await open();
        await again.settle({ height: blocks.length - 1, ...(places.at(-1) as RecordPlace) });
        const expected = blocks.map((_, i): number | string => (i === height ? `${i}-${i}` : i));
        expect(await heights(again)).toEqual(expected);
        const block = blocks[height] as SegmentBlock;
        for await (const found of again.records(0)) {
          if (found.record !== undefined) continue;
          expect(fits(found, block)).toBe(true);
          expect(await again.replace(found, block)).toEqual(places[height]);
          break;
        }
        expect(await heights(again)).toEqual(blocks.map((_, i) => i));
        expect(await readFile(join(path, name))).toEqual(sound);
        expect((await readdir(path)).sort()).toEqual(names);
        await again.close();
      }),
      { numRuns: 30 },
    );
  });

  /** Blocks of which each has a transaction that looks like the record of a later one. */
  const forging = (count: number, ahead: number) =>
    Array.from({ length: count }, (_, height): SegmentBlock => {
      const common = { issued: 1n, certificate: undefined, block: Buffer.alloc(40, 200) };
      const forged = { ...common, height: height + ahead, transactions: [Buffer.alloc(30, 201)] };
      const record = Buffer.concat([...recordPieces(forged)]);
      return { ...common, height, transactions: [Buffer.alloc(30, 202), record, Buffer.alloc(30, 203)] };
    });

  it.each([1, 2, 100])(
    'are not misled by bytes of a transaction that look like the record %i blocks on',
    async (ahead) => {
      const blocks = forging(12, ahead);
      const { segments, places } = await fill(blocks);
      await segments.close();
      const names = (await readdir(path)).sort();
      for (const height of [0, 9, 11]) {
        const name = names.filter((one) => Number(one.slice(0, 10)) <= height).at(-1) ?? '';
        const sound = await readFile(join(path, name));
        const flipped = Buffer.from(sound);
        const spot = (places[height]?.offset ?? 0) + 10;
        flipped[spot] = (flipped[spot] ?? 0) ^ 64;
        await writeFile(join(path, name), flipped);
        const again = await open();
        await again.settle({ height: blocks.length - 1, ...(places.at(-1) as RecordPlace) });
        expect(await heights(again)).toEqual(blocks.map((_, i) => (i === height ? `${i}-${i}` : i)));
        await again.close();
        await writeFile(join(path, name), sound);
      }
    },
  );

  it('are not misled by them behind the last named block either', async () => {
    const [first, second] = forging(2, 1) as [SegmentBlock, SegmentBlock];
    const { segments, places } = await fill([first, second]);
    await segments.close();
    const [file = ''] = await readdir(path);
    await truncate(join(path, file), (await stat(join(path, file))).size - 10);
    const again = await open();
    await again.settle({ height: 0, ...(places[0] as RecordPlace) });
    expect(again.next).toBe(1);
    await again.close();
  });

  it.each([10, 250])(
    'keep what is between a damaged block and one that was cut %i bytes before its end',
    async (cut) => {
      const blocks = forging(4, 1);
      const { segments, places } = await fill(blocks);
      await segments.close();
      const [file = ''] = await readdir(path);
      const bytes = await readFile(join(path, file));
      const spot = (places[1]?.offset ?? 0) + 10;
      bytes[spot] = (bytes[spot] ?? 0) ^ 64;
      await writeFile(join(path, file), bytes.subarray(0, -cut));
      const again = await open();
      await again.settle(undefined);
      expect(again.next).toBe(3);
      expect(await heights(again)).toEqual([0, '1-1', 2]);
      await again.close();
    },
  );

  it('are opened by whoever owns them when the process ended while one was closed', async () => {
    const { segments, places } = await fill(forging(2, 1));
    await segments.close();
    const [file = ''] = await readdir(path);
    await chmod(join(path, file), 0o400);
    const again = await open();
    await again.settle({ height: 1, ...(places[1] as RecordPlace) });
    expect((await stat(join(path, file))).mode & 0o777).toBe(0o600);
    await again.close();
  });

  it('take nothing of an older open one of the same name', async () => {
    const blocks = forging(12, 1);
    const { segments } = await fill(blocks);
    await segments.close();
    const names = await readdir(path);
    const expected = await Promise.all(names.map((name) => readFile(join(path, name))));
    for (const name of names) {
      if (name.endsWith('.open')) await writeFile(join(path, name), Buffer.alloc(10_000, 9));
      else await rm(join(path, name));
    }
    const again = await open();
    await again.settle(undefined);
    for (const block of blocks) await again.append(block, slices);
    expect(await Promise.all(names.map((name) => readFile(join(path, name))))).toEqual(expected);
    await again.verify(new AbortController().signal);
    await again.close();
  });

  it('say which one is missing between others, and put those behind it aside', async () => {
    const blocks = Array.from(
      { length: 20 },
      (_, height): SegmentBlock => ({
        height,
        issued: 1n,
        certificate: undefined,
        block: Buffer.alloc(400, height),
        transactions: [Buffer.alloc(300, height)],
      }),
    );
    const { segments } = await fill(blocks);
    await segments.close();
    const [first = '', second = '', third = ''] = (await readdir(path)).sort();
    await rm(join(path, second));
    await expect(open()).rejects.toMatchObject({ code: 'data_lost', message: expect.stringContaining('from 2 on') });
    await setUnusedAside(path);
    const again = await open();
    await again.settle(undefined);
    expect(again.next).toBe(2);
    expect(await readdir(path)).toEqual(expect.arrayContaining([first, `${third}.unused`]));
    await again.close();
  });
});
