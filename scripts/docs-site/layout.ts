/** The frame of a page: navigation, search, the page itself, what is on it, and the pages before and after. */

import { dirname, relative } from 'node:path';
import { escapeHtml } from './html.js';
import type { SitePage } from './site.js';

/** Documents in the order in which to read them, by name without its ending; those that are named nowhere come last. */
const CHAPTERS: readonly (readonly [chapter: string, names: readonly string[]])[] = [
  ['Start', ['README', 'docs/tutorial']],
  ['Use', ['docs/cli', 'docs/wallet', 'docs/wallet-page', 'docs/explorer', 'docs/dev-chain', 'docs/explorer-index']],
  ['Build', ['docs/client-library', 'docs/clients', 'docs/routes', 'docs/openapi']],
  [
    'Run',
    [
      'docs/operations',
      'docs/moving-in',
      'docs/high-availability',
      'docs/metrics',
      'docs/reliability',
      'docs/performance',
      'SECURITY',
    ],
  ],
  ['Understand', ['docs/chain', 'docs/decisions', 'ARCHITECTURE', 'docs/adr/README']],
  ['Project', ['CONTRIBUTING', 'CHANGELOG']],
];
const START = 'README.md';

interface Chapter {
  readonly name: string;
  readonly pages: readonly SitePage[];
}

function chaptersOf(pages: readonly SitePage[]): readonly Chapter[] {
  const bySource = new Map(pages.map((page) => [page.source, page]));
  const sourceOf = (name: string): string => `${name}.md`;
  const named = new Set(CHAPTERS.flatMap(([, names]) => names.map(sourceOf)));
  const others = pages.filter(({ source }) => /^docs\/[^/]+\.md$/.test(source) && !named.has(source));
  const chapters = CHAPTERS.map(([name, names]) => ({
    name,
    pages: names.flatMap((one) => bySource.get(sourceOf(one)) ?? []),
  }));
  return [...chapters, { name: 'More', pages: others }].filter(({ pages: list }) => list.length > 0);
}

/** The whole HTML of the page. */
export function layout(page: SitePage, pages: readonly SitePage[]): string {
  const chapters = chaptersOf(pages);
  const to = (path: string): string => relative(dirname(page.path), path).replaceAll('\\', '/') || path;
  const title = page.source === START ? 'Tessera' : `${page.title} · Tessera`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${to('assets/icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${to('assets/style.css')}">
<script defer src="${to('assets/search.js')}" data-root="${to('index.html').replace(/index\.html$/, '')}"></script>
</head>
<body>
<a class="skip" href="#page">Skip to the page</a>
<header>
<a class="home" href="${to('index.html')}"><img src="${to('assets/icon.svg')}" alt="" width="28" height="28"> Tessera</a>
<search><input id="search" type="search" placeholder="Search (/)" aria-label="Search the documents" autocomplete="off" role="combobox"
 aria-expanded="false" aria-controls="results"><ul id="results" role="listbox" aria-label="Found" hidden></ul></search>
</header>
<div class="frame">
<details class="menu" open><summary>Contents</summary><nav aria-label="Documents">
${chapters.map((chapter) => chapterHtml(chapter, page, to)).join('\n')}
</nav></details>
<main id="page" tabindex="-1">
${page.html}
${neighboursHtml(page, chapters, to)}
</main>
${outlineHtml(page)}
</div>
</body>
</html>
`;
}

/** The heading of the start page is what its project is called; a list of documents needs less. */
const nameOf = ({ source, title }: SitePage): string => (source === START ? 'What it is' : title);

function chapterHtml({ name, pages }: Chapter, current: SitePage, to: (path: string) => string): string {
  const items = pages.map((page) => {
    const mark = page === current ? ' aria-current="page"' : '';
    return `<li><a href="${to(page.path)}"${mark}>${escapeHtml(nameOf(page))}</a></li>`;
  });
  return `<h2>${name}</h2>\n<ul>\n${items.join('\n')}\n</ul>`;
}

function outlineHtml({ sections }: SitePage): string {
  const headings = sections.filter(({ level, id }) => level === 2 && id !== '');
  if (headings.length < 2) return '';
  const items = headings.map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`);
  return `<aside aria-label="On this page"><h2>On this page</h2>\n<ul>\n${items.join('\n')}\n</ul></aside>`;
}

function neighboursHtml(page: SitePage, chapters: readonly Chapter[], to: (path: string) => string): string {
  const order = chapters.flatMap(({ pages }) => pages);
  const at = order.indexOf(page);
  if (at < 0) return '';
  const link = (other: SitePage | undefined, rel: string, arrow: string): string =>
    other === undefined
      ? '<span></span>'
      : `<a rel="${rel}" href="${to(other.path)}">${arrow} ${escapeHtml(nameOf(other))}</a>`;
  return `<nav class="neighbours" aria-label="Before and after">${link(order[at - 1], 'prev', '←')}${link(order[at + 1], 'next', '→')}</nav>`;
}
