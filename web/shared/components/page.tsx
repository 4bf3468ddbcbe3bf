/** The frame of one page: its heading, which is also the title of the window. */

import type { ComponentChildren } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { visible } from './safe-text.js';

export interface PageProps {
  readonly title: string;
  /** Small, above the heading: what kind of thing this is. */
  readonly kind?: string;
  /** Heading instead of the title. */
  readonly heading?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Page({ title, kind, heading, children }: PageProps) {
  useLayoutEffect(() => {
    document.title = `${visible(title)} · Tessera`;
  }, [title]);
  return (
    <>
      <div class="page-head">
        {kind !== undefined && <p class="kind">{kind}</p>}
        <h1>{heading ?? title}</h1>
      </div>
      {children}
    </>
  );
}
