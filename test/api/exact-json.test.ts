/** Exact JSON: integers beyond 2^53 both ways, and what is refused on the fast path and on the careful one alike. */

import { describe, expect, it } from 'vitest';
import { isTesseraError } from '../../src/lib/errors.js';
import { MAX_JSON_DEPTH, parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { fc, test } from '../support/property.js';

/** A literal that sends a text down the careful path. */
const LARGE = '360360000000000000';

describe('parseExactJson', () => {
  it.each([
    ['9007199254740991', 9_007_199_254_740_991],
    ['9007199254740992', 9_007_199_254_740_992n],
    ['9007199254740993', 9_007_199_254_740_993n],
    ['-9007199254740993', -9_007_199_254_740_993n],
    ['9223372036854775807', 2n ** 63n - 1n],
    ['18446744073709551615', 2n ** 64n - 1n],
    ['18446744073709551616', 2n ** 64n],
    ['360360000000000000', 360_360_000_000_000_000n],
    ['1000000000000000', 1_000_000_000_000_000],
    ['1.5', 1.5],
    ['1e-7', 1e-7],
    ['-2.5E+0', -2.5],
    ['4503599627370495.5', 4_503_599_627_370_495.5],
    ['0', 0],
  ])('reads %s exactly', (text, value) => {
    expect(parseExactJson(text)).toBe(value);
    expect(parseExactJson(`{"a":[${text}]}`)).toEqual({ a: [value] });
  });

  it.each([
    '1.0',
    '1e3',
    '1E-0',
    '10e-1',
    '1e-400',
    '0.99999999999999999999',
    '9007199254740993.5',
    '1e21',
    '-0',
    '-0.0',
  ])('refuses %s, which is a whole number only when it is rounded', (number) => {
    const texts = [
      number,
      `[${number}]`,
      `[0, ${number} ]`,
      `{"a":${number}}`,
      `{"a" :\r\n\t${number}}`,
      `[[[${number}],{}]]`,
    ];
    expect(texts.map(messageOf)).toEqual(
      texts.map((text) => expect.stringContaining(`in digits alone, at character ${text.indexOf(number)}.`)),
    );
  });

  test.prop([fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer(), fc.integer({ min: -400, max: 400 })])(
    'gives no integer for what is not written as one',
    (double, digits, exponent) => {
      for (const number of [
        double.toExponential(),
        double.toPrecision(20),
        `${digits}.${digits * digits}`,
        `${digits}e${exponent}`,
      ]) {
        if (codeOf(number) !== undefined) continue;
        expect(parseExactJson(`{"a":${number}}`)).not.toEqual({ a: Math.round(Number(number)) });
      }
    },
  );

  it('reads a colon in a text as no member', () => {
    expect(parseExactJson('{"a":"b:c","d":":"}')).toEqual({ a: 'b:c', d: ':' });
  });

  it('reads the same from bytes as from text', () => {
    expect(parseExactJson(Buffer.from('{"é":"€"}'))).toEqual({ é: '€' });
  });

  // Every kind of broken JSON, on both paths.
  describe.each([
    ['fast', ''],
    ['careful', `"large":${LARGE},`],
  ])('on the %s path', (_name, first) => {
    it.each([
      ['a key that comes twice', `{${first}"a":1,"a":2}`],
      ['a key that comes twice, once escaped', `{${first}"a":1,"\\u0061":2}`],
      ['a key that comes twice inside', `{${first}"x":{"a":1,"a":1}}`],
      ['__proto__', `{${first}"__proto__":{"a":1}}`],
      ['__proto__, escaped', `{${first}"\\u005f_proto__":{"a":1}}`],
      ['constructor', `{${first}"constructor":{"prototype":{"a":1}}}`],
      ['a number out of range', `{${first}"a":1e400}`],
      ['a trailing comma', `{${first}"a":1,}`],
      ['a leading zero', `{${first}"a":01}`],
      ['a lone minus', `{${first}"a":-}`],
      ['a text without end', `{${first}"a":"b`],
      ['a control character', `{${first}"a":"\u0001"}`],
      ['a bad escape', `{${first}"a":"\\x"}`],
      ['two values', `{${first}"a":1} 2`],
      ['a missing colon', `{${first}"a" 1}`],
      ['a missing bracket', `{${first}"a":[1}`],
      ['a word that is none', `{${first}"a":nul}`],
      ['a byte order mark', `\uFEFF{${first}"a":1}`],
    ])('refuses %s', (_what, text) => {
      expect(codeOf(text)).toBe('malformed_json');
    });

    it('refuses 100,000 levels without overflowing the stack', () => {
      const deep = `{${first}"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
      expect(codeOf(deep)).toBe('malformed_json');
      expect(codeOf(deep.slice(0, 50_000))).toBe('malformed_json');
    });

    it('takes as many levels as allowed and no more', () => {
      const nested = (levels: number) => `{${first}"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
      expect(codeOf(nested(MAX_JSON_DEPTH))).toBeUndefined();
      expect(codeOf(nested(MAX_JSON_DEPTH + 1))).toBe('malformed_json');
    });
  });

  it('refuses bytes that are not UTF-8', () => {
    expect(codeOf(Buffer.of(0x22, 0xff, 0x22))).toBe('malformed_json');
  });

  it.each(['', ' ', '\n'])('refuses the empty text %j', (text) => {
    expect(codeOf(text)).toBe('malformed_json');
  });

  it('never repeats the text in its message, which may hold a passphrase', () => {
    const message = messageOf('{"passphrase":"hunter2" "x"}');
    expect(message).not.toContain('hunter2');
  });

  test.prop([fc.json()])('agrees with JSON.parse on small numbers', (text) => {
    // Those names and integers with an exponent are refused, and integers of 16 digits may become bigints.
    fc.pre(!/__proto__|constructor|\d{16}|e\+/.test(text));
    const expected: unknown = JSON.parse(text);
    // A careful parse of the same value, forced by a large number beside it.
    const careful = parseExactJson(`[${text},${LARGE}]`);
    expect(careful).toEqual([expected, BigInt(LARGE)]);
    expect(parseExactJson(text)).toEqual(expected);
  });

  test.prop([fc.string({ unit: 'binary' })])('gives a value or malformed_json for any text', (text) => {
    expect([undefined, 'malformed_json']).toContain(codeOf(text));
  });

  test.prop([fc.uint8Array()])('gives a value or malformed_json for any bytes', (bytes) => {
    expect([undefined, 'malformed_json']).toContain(codeOf(bytes));
  });
});

describe('stringifyExact', () => {
  it('writes bigints as bare digits', () => {
    expect(stringifyExact({ total: 360_360_000_000_000_000n })).toBe('{"total":360360000000000000}');
  });

  it('writes a map in its own order, also where keys look like numbers', () => {
    expect(
      stringifyExact(
        new Map([
          ['10', 1n],
          ['2', 2n],
        ]),
      ),
    ).toBe('{"10":1,"2":2}');
  });

  it('leaves undefined members out', () => {
    expect(stringifyExact({ a: undefined, b: 1 })).toBe('{"b":1}');
  });

  test.prop([fc.jsonValue()])('agrees with JSON.stringify', (value) => {
    expect(stringifyExact(value)).toBe(JSON.stringify(value));
  });

  test.prop([fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n })])('survives the way there and back', (integer) => {
    const [back] = parseExactJson(stringifyExact([integer])) as [number | bigint];
    expect(BigInt(back)).toBe(integer);
  });
});

function messageOf(input: string | Uint8Array): string {
  try {
    parseExactJson(input);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return '';
}

/** The code of the error; undefined when there is none. */
function codeOf(input: string | Uint8Array): string | undefined {
  try {
    parseExactJson(input);
    return undefined;
  } catch (error) {
    return isTesseraError(error) ? error.code : String(error);
  }
}
