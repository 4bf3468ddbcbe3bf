/** Frame of every page: skip link, head with navigation, state of the connection, theme, foot. */

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { usePlace } from '../router.js';
import type { StreamState } from '../stream.js';
import { THEMES, type Theme, useTheme } from '../theme.js';
import { BESIDE } from './hash.js';
import { Logo } from './logo.js';

export interface NavigationLink {
  readonly href: string;
  readonly text: string;
  /** Leaves this document: the browser loads the other. */
  readonly isElsewhere?: boolean;
}

export interface ShellProps {
  /** The name of the site, after the mark. */
  readonly site: string;
  readonly home: string;
  readonly links: readonly NavigationLink[];
  readonly stream: StreamState;
  /** Links elsewhere open in a tab of their own: this page has something that would be lost with it. */
  readonly opensBeside?: boolean;
  /** Tools in the head, beside the navigation. */
  readonly tools?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Shell({ site, home, links, stream, tools, children, opensBeside = false }: ShellProps) {
  const { path } = usePlace();
  const elsewhere = opensBeside ? BESIDE : { target: '_self' };
  return (
    <>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <header class="head">
        <div class="head-row">
          <a class="brand" href={home}>
            <Logo />
            <span class="brand-name">Tessera</span>
            <span class="brand-site">{site}</span>
          </a>
          {tools}
          <nav class="links" aria-label="Pages">
            {links.map(({ href, text, isElsewhere = false }) => (
              <a href={href} aria-current={path === href ? 'page' : undefined} {...(isElsewhere ? elsewhere : {})}>
                {text}
              </a>
            ))}
          </nav>
        </div>
      </header>
      <Connection stream={stream} />
      <Content path={path}>{children}</Content>
      <footer class="foot">
        <span>Served by this node, from this node alone.</span>
        <a href="/v1/docs" {...elsewhere}>
          API
        </a>
        <ThemeSwitch />
      </footer>
    </>
  );
}

/** The page itself. When the reader goes to another one, the focus follows: a screen reader then reads from there. */
function Content({ path, children }: { readonly path: string; readonly children: ComponentChildren }) {
  const main = useRef<HTMLElement>(null);
  const shown = useRef(path);
  useLayoutEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    main.current?.focus({ preventScroll: true });
  }, [path]);
  return (
    <main id="content" class="content" tabIndex={-1} ref={main}>
      {children}
    </main>
  );
}

/** A strip across the page while the node is away. */
function Connection({ stream }: { readonly stream: StreamState }) {
  return (
    <div role="status" class="connection-place">
      {stream === 'lost' && (
        <p class="connection">
          <strong>Disconnected.</strong> The node does not answer. This page goes on by itself when it is back.
        </p>
      )}
    </div>
  );
}

const THEME_NAMES: Readonly<Record<Theme, string>> = { auto: 'As the system', light: 'Light', dark: 'Dark' };

function ThemeSwitch() {
  const [theme, setTheme] = useTheme();
  return (
    <label class="theme">
      Colours{' '}
      <select value={theme} onChange={({ currentTarget }) => setTheme(currentTarget.value as Theme)}>
        {THEMES.map((name) => (
          <option value={name}>{THEME_NAMES[name]}</option>
        ))}
      </select>
    </label>
  );
}
