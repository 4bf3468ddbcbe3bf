/** The search in the head of every page. The key / leads to it. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { navigate, usePlace } from '../shared/router.js';
import { searchPath } from './paths.js';

/** The longest text that names something. */
const MAX_LENGTH = 256;

export function SearchBox() {
  const { path, query } = usePlace();
  const given = path === '/search' ? (query.get('q') ?? '') : '';
  const [text, setText] = useState(given);
  const input = useRef<HTMLInputElement>(null);
  // At once, so that it never undoes what the reader types next.
  useLayoutEffect(() => setText(given), [given]);
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const { target } = event;
      const isTyping =
        target instanceof HTMLElement &&
        (/^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable);
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
  return (
    <search class="search">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const wanted = text.trim();
          if (wanted !== '') navigate(searchPath(wanted));
        }}
      >
        <label class="unseen" for="search">
          Block number, hash, address or item
        </label>
        <input
          id="search"
          ref={input}
          type="search"
          value={text}
          maxLength={MAX_LENGTH}
          placeholder="Block, hash, address, item  ( / )"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <button type="submit">Search</button>
      </form>
    </search>
  );
}
