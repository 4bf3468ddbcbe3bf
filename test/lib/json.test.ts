import { describe, expect, it, vi } from 'vitest';
import { MAX_JSON_DEPTH, parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { shapeFault } from '../../src/lib/json-scan.js';
import { fc, test } from '../support/property.js';

describe('exact integers', () => {
  test.prop([fc.json()])('agrees with JSON.parse where no integer is large', (text) => {
    fc.pre(!/\d{16}|e\+|__proto__|constructor/.test(text));
    expect(parseExactJson(text)).toEqual(JSON.parse(text));
  });

  test.prop([
    fc.jsonValue().filter((value) => !/\d{16}|e\+|__proto__|constructor/.test(JSON.stringify(value))),
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
  ])('keeps large integers among anything', (value, large) => {
    const text = `{"before":${JSON.stringify(value)},"n":${large},"after":[${large},${JSON.stringify(value)}]}`;
    const expected = large >= -(2n ** 53n - 1n) && large < 2n ** 53n ? Number(large) : large;
    const plain = JSON.parse(JSON.stringify(value));
    expect(parseExactJson(text)).toEqual({ before: plain, n: expected, after: [expected, plain] });
  });

  it('leaves digits inside texts and fractions alone', () => {
    expect(parseExactJson('["12345678901234567890\\"",1234567890.1234567890]')).toEqual([
      '12345678901234567890"',
      Number('1234567890.1234567890'),
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

const MANY = 300_000;
const malformed = (message: RegExp) =>
  expect.objectContaining({ code: 'malformed_json', message: expect.stringMatching(message) });

describe('what a text may cost', () => {
  const DEEP: readonly (readonly [string, string])[] = [
    ['arrays that never close', '['.repeat(MANY)],
    ['arrays that close', '['.repeat(MANY) + ']'.repeat(MANY)],
    ['objects', '{"a":'.repeat(MANY)],
    ['arrays of objects', '[{"x":'.repeat(MANY)],
    ['a member of an object', `{"a":1,"x":${'['.repeat(MANY)}${']'.repeat(MANY)}}`],
    ['behind a text full of quotes and brackets', `["${'\\"[{'.repeat(MANY)}\\\\",${'['.repeat(MANY)}`],
    ['behind white space', ' \n\t'.repeat(MANY) + '['.repeat(MANY)],
  ];

  it.each(DEEP)('deep nesting is refused before any parser sees it: %s', (_name, text) => {
    const builtIn = vi.spyOn(JSON, 'parse');
    try {
      expect(() => parseExactJson(text)).toThrow(malformed(/nested deeper than 64 levels/));
      expect(builtIn.mock.calls.length).toBe(0);
    } finally {
      builtIn.mockRestore();
    }
  });

  it('64 levels pass and 65 do not, however long the text is', () => {
    const nested = (levels: number): string =>
      `${'['.repeat(levels - 1)}["${'[{'.repeat(5_000)}\\""]${']'.repeat(levels - 1)}`;
    expect(parseExactJson(nested(MAX_JSON_DEPTH))).toEqual(JSON.parse(nested(MAX_JSON_DEPTH)));
    expect(() => parseExactJson(nested(MAX_JSON_DEPTH + 1))).toThrow(malformed(/nested deeper/));
  });

  it('a text may be bounded to so many different member names, which are counted before it is parsed', () => {
    const named = (count: number): string =>
      `[${Array.from({ length: count }, (_, i) => `{"member ${i}" : ${i}}`).join(',')}]`;
    const builtIn = vi.spyOn(JSON, 'parse');
    try {
      expect(() => parseExactJson(named(20_000), { maxNames: 1_000 })).toThrow(
        malformed(/1000 different member names/),
      );
      expect(builtIn.mock.calls.length).toBe(0);
    } finally {
      builtIn.mockRestore();
    }
    expect(parseExactJson(named(1_000), { maxNames: 1_000 })).toHaveLength(1_000);
    const repeated = `[${Array.from({ length: 20_000 }, (_, i) => `{"same":"text ${i}"}`).join(',')}]`;
    expect(parseExactJson(repeated, { maxNames: 1 })).toHaveLength(20_000);
  });

  it('names of nothing but escapes are counted like any others', () => {
    const escapes = ['\\n', '\\t', '\\r', '\\b', '\\f', '\\\\', '\\"', '\\/'];
    const name = (i: number): string => [9, 6, 3, 0].map((bits) => escapes[(i >> bits) & 7]).join('');
    const text = `{${Array.from({ length: 4_096 }, (_, i) => `"${name(i)}":1`).join(',')}}`;
    expect(Object.keys(JSON.parse(text))).toHaveLength(4_096);
    expect(() => parseExactJson(text, { maxNames: 1_000 })).toThrow(malformed(/1000 different member names/));
  });

  test.prop([fc.json({ maxDepth: 8 })])('the scan finds no fault in any JSON of few levels and names', (text) => {
    expect(shapeFault(text, { depth: 16, names: 1_000 })).toBeNull();
  });

  test.prop([fc.string(), fc.nat({ max: 6 })])('the scan knows brackets in texts from brackets', (noise, levels) => {
    const text = `${'['.repeat(levels)}${JSON.stringify(noise)}${']'.repeat(levels)}`;
    expect(shapeFault(text, { depth: levels })).toBeNull();
    if (levels > 0) expect(shapeFault(text, { depth: levels - 1 })).toMatch(/nested deeper/);
  });
});
