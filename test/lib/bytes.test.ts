/** Hexadecimal texts from outside are read as `Buffer` reads them, and everything else is refused. */

import { describe, expect, it } from 'vitest';
import { parseHex as parseInBrowser } from '../../src/lib/bytes.browser.js';
import { parseHex } from '../../src/lib/bytes.js';
import { fc, test } from '../support/property.js';

const DIGIT = fc.constantFrom(...'0123456789abcdefABCDEF');
/** Mostly hexadecimal digits, and what lies beside them and beyond them in tables of characters. */
const CHARACTER = fc.oneof(
  { weight: 40, arbitrary: DIGIT },
  { weight: 1, arbitrary: fc.constantFrom(...'/:@G`g \0\u00ff\u0131\uff11\ud800') },
);

describe('parseHex', () => {
  test.prop([fc.string({ unit: DIGIT, maxLength: 300 })])('reads pairs of digits of either case', (digits) => {
    const text = digits.length % 2 === 0 ? digits : digits.slice(1);
    const bytes = parseHex(text);
    expect(bytes).toEqual(new Uint8Array(Buffer.from(text, 'hex')));
    expect(bytes?.buffer.byteLength).toBe(text.length / 2);
    expect(parseHex(text, text.length / 2)).toEqual(bytes);
    expect(parseHex(text, text.length / 2 + 1)).toBeUndefined();
  });

  test.prop([fc.string({ unit: CHARACTER, maxLength: 40 })])('takes no other text, as in a browser', (text) => {
    const isHex = /^(?:[0-9a-fA-F]{2})*$/.test(text);
    expect(parseHex(text) !== undefined).toBe(isHex);
    expect(parseHex(text)).toEqual(parseInBrowser(text));
  });

  it('takes no digits of other scripts', () => {
    expect(parseHex('\uff11\uff12')).toBeUndefined();
  });
});
