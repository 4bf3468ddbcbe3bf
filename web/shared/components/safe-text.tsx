/**
 * Text of strangers: metadata of items, names of trades. It is shown as text and nothing else; characters that would turn it
 * around, hide in it or be taken for others' are shown as what they are, and a long one only as far as the reader asks.
 */

import { useState } from 'preact/hooks';

/** Controls but tab and line end, marks of direction and characters without width, ends of paragraphs, and those of nobody. */
const UNSEEN = /[\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]|[^\P{Cc}\t\n]/u;

/** Characters that are shown at first; as many again for each request for more, and so on. */
const SHOWN = 2_000;
const GROWTH = 8;

export function SafeText({ text }: { readonly text: string }) {
  const [shown, setShown] = useState(SHOWN);
  const part = text.slice(0, shown);
  return (
    <div class="safe-text">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long one scrolls, by the arrow keys too. */}
      <pre tabIndex={0} role="group" aria-label="Text">
        <bdi>{withMarks(part)}</bdi>
      </pre>
      {part.length < text.length && (
        <button type="button" class="button" onClick={() => setShown(shown * GROWTH)}>
          Show more of {text.length.toLocaleString()} characters
        </button>
      )}
    </div>
  );
}

/** One line of it, for lists. */
export function SafeLine({ text, limit = 80 }: { readonly text: string; readonly limit?: number }) {
  return (
    <bdi class="safe-line">
      {withMarks(text.slice(0, limit).replaceAll(/\s+/g, ' '))}
      {text.length > limit && '…'}
    </bdi>
  );
}

const PLAIN = /^[ -~]*$/;

/** The same where there is no markup, as in a title. */
export function visible(text: string): string {
  return PLAIN.test(text) ? text : Array.from(text, (char) => (UNSEEN.test(char) ? nameOf(char) : char)).join('');
}

const nameOf = (char: string): string => `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

function withMarks(text: string) {
  const parts = [];
  let plain = '';
  for (const char of text) {
    if (!UNSEEN.test(char)) {
      plain += char;
      continue;
    }
    parts.push(
      plain,
      <span class="unseen-mark" title="A character that cannot be seen">
        {nameOf(char)}
      </span>,
    );
    plain = '';
  }
  return [...parts, plain];
}
