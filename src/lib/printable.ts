/** Text of others, made safe to show: on a terminal and in a log it can be nothing but text. */

/** Control characters, those that turn the direction of writing, line separators, and lone surrogates. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** The text with what is not plainly visible as `\u{…}`, cut to `maxLength` characters. */
export function printable(text: string, maxLength = 1_000): string {
  const shown = text
    .slice(0, maxLength)
    .replace(UNSAFE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
  return shown.length > maxLength ? shown.slice(0, maxLength) : shown;
}
