import { fc, test } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import { parseExactJson, stringifyExact } from '../../src/lib/json.js';

describe('exact integers', () => {
  test.prop([fc.json()])('agrees with JSON.parse where no integer is large', (text) => {
    fc.pre(!/\d{16}|__proto__|constructor/.test(text));
    expect(parseExactJson(text)).toEqual(JSON.parse(text));
  });

  test.prop([
    fc.jsonValue().filter((value) => !/\d{16}|__proto__|constructor/.test(JSON.stringify(value))),
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
  ])('keeps large integers among anything', (value, large) => {
    const text = `{"before":${JSON.stringify(value)},"n":${large},"after":[${large},${JSON.stringify(value)}]}`;
    const expected = large >= -(2n ** 53n - 1n) && large < 2n ** 53n ? Number(large) : large;
    const plain = JSON.parse(JSON.stringify(value));
    expect(parseExactJson(text)).toEqual({ before: plain, n: expected, after: [expected, plain] });
  });

  it('leaves digits inside texts and fractions alone', () => {
    expect(parseExactJson('["12345678901234567890\\"",1234567890123456789.5,1e21]')).toEqual([
      '12345678901234567890"',
      Number('1234567890123456789.5'),
      1e21,
    ]);
  });

  it.each([
    '{"__proto__":{"x":1}}',
    '{"a":[{"constructor":{"prototype":{}}}]}',
    '{"n":12345678901234567890,"__proto__":1}',
  ])('refuses a member that would poison a prototype: %s', (text) => {
    expect(() => parseExactJson(text)).toThrow(expect.objectContaining({ code: 'malformed_json' }));
  });

  it.each(['', '"n":12345678901234567890,'])('takes names of items as data where it is told so: {%s', (before) => {
    const text = `{${before}"items":{"__proto__":5,"constructor":{"prototype":7},"toString":1}}`;
    const { items } = parseExactJson(text, { anyName: true }) as { items: Record<string, unknown> };
    expect(Object.entries(items)).toEqual([
      ['__proto__', 5],
      ['constructor', { prototype: 7 }],
      ['toString', 1],
    ]);
    expect(Object.getPrototypeOf(items)).toBe(Object.prototype);
    expect(() => parseExactJson('{"__proto__":1,"__proto__":2}', { anyName: true })).toThrow('twice');
  });

  it.each(['{"a":1,"a":2}', '{"b":[{"a":1,"a":1}]}', '{"a":12345678901234567890,"a":1}'])(
    'refuses a key that comes twice: %s',
    (text) => {
      expect(() => parseExactJson(text)).toThrow(expect.objectContaining({ code: 'malformed_json' }));
    },
  );

  test.prop([fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })])('what is written is read again', (n) => {
    expect(BigInt(parseExactJson(stringifyExact({ n: [n] }).slice(6, -2)) as number | bigint)).toBe(n);
  });

  it('refuses what nests too deeply, and what is no JSON', () => {
    const deep = `${'['.repeat(5_000)}12345678901234567890${']'.repeat(5_000)}`;
    expect(() => parseExactJson(deep)).toThrow(expect.objectContaining({ code: 'malformed_json' }));
    expect(() => parseExactJson('{')).toThrow(expect.objectContaining({ code: 'malformed_json' }));
  });
});
