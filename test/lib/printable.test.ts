import { expect, it } from 'vitest';
import { printable } from '../../src/lib/printable.js';

it('leaves plain text of any language as it is', () => {
  expect(printable('Zahlung über 5 ₿, 支払い, 🙂')).toBe('Zahlung über 5 ₿, 支払い, 🙂');
});

it.each([
  ['an escape sequence', '\u001b[2J', '\\u{1b}[2J'],
  ['a line end', 'a\r\nb', 'a\\u{d}\\u{a}b'],
  ['a C1 control', '\u009b31m', '\\u{9b}31m'],
  ['a turned direction', 'abc\u202ecba', 'abc\\u{202e}cba'],
  ['a separator', 'a\u2028b', 'a\\u{2028}b'],
  ['half a surrogate pair', 'a\ud800b', 'a\\u{d800}b'],
])('shows %s as what it is', (_what, text, shown) => {
  expect(printable(text)).toBe(shown);
});

it('is as long as was asked for at most', () => {
  expect(printable('\u0000'.repeat(100), 10)).toHaveLength(10);
});
