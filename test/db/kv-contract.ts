/** What every key-value store must do, whatever it is made of. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prefixRange, textKey, u64Key } from '../../src/db/keys.js';
import type { Kv, KvRange } from '../../src/db/kv.js';
import { compareBytes } from '../../src/lib/bytes.js';
import { fc, test } from '../support/property.js';

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const text = (value: Uint8Array | undefined): string | undefined => value && Buffer.from(value).toString('latin1');
const ALL: KvRange = { gte: new Uint8Array(0), lt: Uint8Array.of(255) };

async function collect(kv: Kv, range: KvRange): Promise<[string, string][]> {
  const found: [string, string][] = [];
  for await (const [key, value] of kv.entries(range)) {
    found.push([Buffer.from(key).toString('latin1'), Buffer.from(value).toString('latin1')]);
  }
  return found;
}

async function fill(kv: Kv, keys: readonly string[]): Promise<void> {
  const batch = kv.batch();
  for (const key of keys) batch.put(bytes(key), bytes(`value of ${key}`));
  await kv.write(batch, { sync: false });
}

export function kvContract(name: string, open: () => Promise<{ kv: Kv; dispose(): Promise<void> }>): void {
  describe(`${name} as a key-value store`, () => {
    let kv: Kv;
    let dispose: () => Promise<void>;
    beforeEach(async () => {
      ({ kv, dispose } = await open());
    });
    afterEach(async () => {
      await kv.close();
      await dispose();
    });

    it('gives back what was written, and undefined for what was not', async () => {
      await fill(kv, ['a', 'b']);
      expect(text(await kv.get(bytes('a')))).toBe('value of a');
      expect(await kv.get(bytes('c'))).toBeUndefined();
      const many = await kv.getMany([bytes('b'), bytes('c'), bytes('a')]);
      expect(many.map(text)).toEqual(['value of b', undefined, 'value of a']);
    });

    it('keeps empty values and binary keys', async () => {
      const key = Uint8Array.of(0, 255, 128, 10);
      await kv.write(kv.batch().put(key, new Uint8Array(0)), { sync: true });
      expect(text(await kv.get(key))).toBe('');
    });

    it('applies the writes of a batch in order and counts them', async () => {
      const batch = kv.batch().put(bytes('a'), bytes('1')).put(bytes('a'), bytes('2')).put(bytes('b'), bytes('1'));
      batch.del(bytes('b'));
      expect(batch.size).toBe(4);
      await kv.write(batch, { sync: true });
      expect(await collect(kv, ALL)).toEqual([['a', '2']]);
    });

    it('copies a value when it is put', async () => {
      const value = bytes('before');
      const batch = kv.batch().put(bytes('a'), value);
      value.fill(0);
      await kv.write(batch, { sync: false });
      expect(text(await kv.get(bytes('a')))).toBe('before');
    });

    it('copies a key when it is put or deleted', async () => {
      await fill(kv, ['b', 'c']);
      const [put, deleted] = [bytes('a'), bytes('b')];
      const batch = kv.batch().put(put, bytes('value')).del(deleted);
      put.fill(0x63);
      deleted.fill(0x63);
      await kv.write(batch, { sync: false });
      expect(await collect(kv, ALL)).toEqual([
        ['a', 'value'],
        ['c', 'value of c'],
      ]);
    });

    it('writes small, large and deleted records in the order in which they were put', async () => {
      const lengths = [0, 1, 2_000, 300_000, 5, 70_000, 70_000, 70_000, 70_000, 0, 600_000, 3];
      const batch = kv.batch();
      for (const [i, length] of lengths.entries()) {
        batch.put(bytes(`k${i}`), new Uint8Array(length).fill(i));
        batch.put(bytes('again'), Uint8Array.of(i));
        if (i === 6)
          for (const work = batch.putInPieces(bytes('pieces'), [bytes('a'), bytes('b')]); !work.next().done; );
        batch.del(bytes(`k${i - 2}`));
      }
      await kv.write(batch, { sync: true });
      expect(await collect(kv, ALL)).toEqual([
        ['again', '\x0b'],
        ['k10', '\x0a'.repeat(600_000)],
        ['k11', '\x0b'.repeat(3)],
        ['pieces', 'ab'],
      ]);
    });

    it('takes a large value in pieces, as if it came at once', async () => {
      const parts = [bytes('begin'), new Uint8Array(0), new Uint8Array(2.5 * 1024 * 1024).fill(7), bytes('end')];
      const batch = kv.batch();
      let pieces = 1;
      for (const work = batch.putInPieces(bytes('a'), parts); !work.next().done; pieces++) expect(batch.size).toBe(0);
      // Three of the large part, and the others.
      expect([pieces, batch.size]).toEqual([5, 1]);
      for (const part of parts) part.fill(0);
      await kv.write(batch, { sync: true });
      const value = await kv.get(bytes('a'));
      expect([value?.length, text(value?.subarray(0, 5)), text(value?.subarray(-3))]).toEqual([
        2_621_448,
        'begin',
        'end',
      ]);
      expect(value?.subarray(5, -3).every((byte) => byte === 7)).toBe(true);
    });

    it('gives values that the reader may change', async () => {
      await fill(kv, ['a']);
      (await kv.get(bytes('a')))?.fill(0);
      expect(text(await kv.get(bytes('a')))).toBe('value of a');
    });

    it('iterates a range in byte order, upper end excluded', async () => {
      await fill(kv, ['a', 'b', 'ba', 'c', '\xfe', 'B']);
      const keys = (await collect(kv, { gte: bytes('a'), lt: bytes('c') })).map(([key]) => key);
      expect(keys).toEqual(['a', 'b', 'ba']);
      expect((await collect(kv, ALL)).map(([key]) => key)).toEqual(['B', 'a', 'b', 'ba', 'c', '\xfe']);
    });

    it('iterates backwards and up to a limit', async () => {
      await fill(kv, ['a', 'b', 'c']);
      expect((await collect(kv, { ...ALL, reverse: true, limit: 2 })).map(([key]) => key)).toEqual(['c', 'b']);
      expect(await collect(kv, { ...ALL, limit: 0 })).toEqual([]);
    });

    it('keeps iterating over what was there when it began', async () => {
      await fill(kv, ['a', 'b', 'c']);
      const seen: string[] = [];
      for await (const [key] of kv.entries(ALL)) {
        seen.push(Buffer.from(key).toString());
        await kv.write(kv.batch().del(bytes('c')).put(bytes('d'), bytes('new')), { sync: false });
      }
      expect(seen).toEqual(['a', 'b', 'c']);
    });

    it('lets an iteration be left early', async () => {
      await fill(kv, ['a', 'b', 'c']);
      for await (const _ of kv.entries(ALL)) break;
      expect(await kv.get(bytes('a'))).toBeDefined();
    });

    it('keeps numbers in order and prefixes apart', async () => {
      const batch = kv.batch();
      for (const n of [0, 1, 255, 256, 2 ** 32, Number.MAX_SAFE_INTEGER]) batch.put(u64Key('n', n), bytes(String(n)));
      batch.put(textKey('o', ''), bytes('other'));
      await kv.write(batch, { sync: false });
      const values = (await collect(kv, prefixRange('n'))).map(([, value]) => Number(value));
      expect(values).toEqual([0, 1, 255, 256, 2 ** 32, Number.MAX_SAFE_INTEGER]);
    });

    it('refuses a batch that came from elsewhere', async () => {
      const { putInPieces } = kv.batch();
      const foreign = { put: () => foreign, putInPieces, del: () => foreign, size: 0 };
      await expect(kv.write(foreign, { sync: false })).rejects.toMatchObject({ code: 'internal_error' });
    });

    it('answers with shutting_down after close, and can be closed twice', async () => {
      await kv.close();
      await kv.close();
      await expect(kv.get(bytes('a'))).rejects.toMatchObject({ code: 'shutting_down' });
      await expect(kv.write(kv.batch().del(bytes('a')), { sync: false })).rejects.toMatchObject({
        code: 'shutting_down',
      });
      await expect(collect(kv, ALL)).rejects.toMatchObject({ code: 'shutting_down' });
    });

    const key = fc.uint8Array({ minLength: 1, maxLength: 4 }).filter(([first]) => first !== 255);
    const write = fc.tuple(key, fc.option(fc.uint8Array({ maxLength: 20 })));
    test.prop([fc.array(fc.array(write, { maxLength: 8 }), { maxLength: 8 })], { numRuns: 30 })(
      'holds exactly what a map would hold',
      async (batches) => {
        const model = new Map<string, Uint8Array>();
        const wipe = kv.batch();
        for await (const [old] of kv.entries(ALL)) wipe.del(old);
        await kv.write(wipe, { sync: false });
        for (const writes of batches) {
          const batch = kv.batch();
          for (const [k, value] of writes) {
            const name = Buffer.from(k).toString('latin1');
            if (value === null) {
              batch.del(k);
              model.delete(name);
            } else {
              batch.put(k, value);
              model.set(name, value);
            }
          }
          await kv.write(batch, { sync: false });
        }
        const expected = [...model]
          .map(([k, v]): [string, string] => [k, Buffer.from(v).toString('latin1')])
          .sort((a, b) => compareBytes(bytes(a[0]), bytes(b[0])));
        expect(await collect(kv, ALL)).toEqual(expected);
      },
    );
  });
}
