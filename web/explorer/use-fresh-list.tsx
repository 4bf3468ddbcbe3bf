/** Refreshes a list that is older than the chain: at its top it is read again, further down the reader is asked. */

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

const AT_TOP_PX = 400;

/** `stamp` names the list that is shown; `button` asks for the newer one where there is one. */
export function useFreshList<T extends string | number | undefined>(
  newest: T,
  what: string,
): { readonly stamp: T; readonly button: ComponentChildren } {
  const [stamp, setStamp] = useState(newest);
  useEffect(() => {
    if (scrollY < AT_TOP_PX) setStamp(newest);
  }, [newest]);
  const button = stamp !== newest && (
    <p class="news" role="status">
      <button type="button" class="button main" onClick={() => setStamp(newest)}>
        Show {what}
      </button>
    </p>
  );
  return { stamp, button };
}
