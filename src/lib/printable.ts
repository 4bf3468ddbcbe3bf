/** Makes text from others safe to show on a terminal and in a log: no control sequence in it has an effect. */

/** Control characters, characters that change the direction of text, line separators, and lone surrogates. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** The text with unsafe characters as `\u{…}`, cut to `maxLength` characters. */
export function printable(text: string, maxLength = 1_000): string {
  const shown = text.slice(0, maxLength).replace(UNSAFE, escaped);
  return shown.length > maxLength ? shown.slice(0, maxLength) : shown;
}

const escaped = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** Unsafe characters other than line ends and tabs. */
const UNSAFE_IN_LINES = /(?!\r?\n|\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** A text of lines, of any length, with unsafe characters as `\u{…}`. */
export function printableLines(text: string): string {
  return text.replace(UNSAFE_IN_LINES, escaped);
}

/** Characters that JSON leaves unchanged and a terminal may not show. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON text with unsafe characters in its strings as `\uXXXX`: the same value. */
export function printableJson(json: string): string {
  return json.replace(UNSAFE_IN_JSON, (character) =>
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
