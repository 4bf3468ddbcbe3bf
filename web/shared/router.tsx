/**
 * Pages by path, in one document: the history of the browser, links, the back button with the place it had, and the focus
 * that a screen reader follows to the new page.
 */

import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';

export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

const PlaceContext = createContext<Place>({ path: '/', query: new URLSearchParams() });

/** Place of the page. */
export function usePlace(): Place {
  return useContext(PlaceContext);
}

const listeners = new Set<() => void>();

/** Goes to a path of this document, with a query if it has one. */
export function navigate(target: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  history.replaceState({ ...history.state, scroll: scrollY }, '');
  if (replace) history.replaceState(null, '', target);
  else history.pushState(null, '', target);
  for (const listener of [...listeners]) listener();
}

const here = (): Place => ({ path: location.pathname, query: new URLSearchParams(location.search) });

export interface RouterProps {
  /** The paths of this document; links to others leave it. */
  readonly isOurs: (path: string) => boolean;
  readonly children: ComponentChildren;
}

/** Follows links and the back button, and gives `usePlace` to what is inside. */
export function Router({ isOurs, children }: RouterProps) {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    history.scrollRestoration = 'manual';
    const moved = (): void => setPlace(here());
    const popped = (event: PopStateEvent): void => {
      moved();
      restoreScroll(Number(event.state?.scroll ?? 0));
    };
    const clicked = (event: MouseEvent): void => followLink(event, isOurs);
    listeners.add(moved);
    addEventListener('popstate', popped);
    document.addEventListener('click', clicked);
    return () => {
      listeners.delete(moved);
      removeEventListener('popstate', popped);
      document.removeEventListener('click', clicked);
    };
  }, [isOurs]);
  return <PlaceContext.Provider value={place}>{children}</PlaceContext.Provider>;
}

function followLink(event: MouseEvent, isOurs: (path: string) => boolean): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = (event.target as Element | null)?.closest?.('a[href]');
  if (!(link instanceof HTMLAnchorElement) || link.target !== '' || link.hasAttribute('download')) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || !isOurs(url.pathname)) return;
  // A jump inside the page, such as that of the skip link.
  if (url.hash !== '' && url.pathname === location.pathname && url.search === location.search) return;
  event.preventDefault();
  navigate(`${url.pathname}${url.search}`);
  scrollTo(0, 0);
}

/** Number of frames to wait for a page to become as long as it was. */
const SCROLL_FRAMES = 60;

/** Restores the scroll position. The content may still be loading, so it tries again for a second. */
function restoreScroll(top: number, frames = SCROLL_FRAMES): void {
  requestAnimationFrame(() => {
    scrollTo(0, top);
    if (scrollY < top && frames > 0) restoreScroll(top, frames - 1);
  });
}
