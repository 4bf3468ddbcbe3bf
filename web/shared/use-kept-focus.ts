/** The focus of a part that goes away while it has it. */

import { useEffect } from 'preact/hooks';

/** Gives it to the page then: a keyboard goes on from there, and not from the top of the document. */
export function useKeptFocus(): void {
  useEffect(
    () => () => {
      setTimeout(() => {
        if (document.activeElement === document.body) document.querySelector('main')?.focus({ preventScroll: true });
      });
    },
    [],
  );
}
