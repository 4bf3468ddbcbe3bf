/**
 * The site of the documents: every page that code hosts show, found from README.md and docs/ by their links. A link that leads
 * nowhere fails the build. Nothing is loaded from elsewhere, and the site works from a folder as well as from a server.
 */

import { copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { escapeHtml } from './html.js';
import { layout } from './layout.js';
import { type Rendered, renderMarkdown } from './render.js';
import { searchIndex } from './search-index.js';

const THEME = fileURLToPath(new URL('theme/', import.meta.url));
/** The colours and the mark of the pages that a node serves. */
const SHARED = ['styles/base.css', 'icon.svg'].map((path) =>
  fileURLToPath(new URL(`../../web/shared/${path}`, import.meta.url)),
);
const MINISEARCH = fileURLToPath(new URL('../../node_modules/minisearch/dist/umd/index.js', import.meta.url));
const START = 'README.md';
const MAX_PAGES = 5_000;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const IMAGE = /\.(png|svg|jpg|webp)$/;

export interface SitePage extends Rendered {
  /** Path in the project: `docs/cli.md`. */
  readonly source: string;
  /** Path in the site: `cli.html`. */
  readonly path: string;
}

export interface BuiltSite {
  readonly pages: readonly SitePage[];
  readonly images: readonly string[];
}

/** Where a file of the project is in the site. */
export function pathInSite(source: string): string {
  if (source === START) return 'index.html';
  const inDocs = source.replace(/^docs\//, '');
  if (inDocs.endsWith('/README.md')) return inDocs.replace(/README\.md$/, 'index.html');
  if (inDocs.endsWith('/')) return `${inDocs}index.html`;
  if (inDocs.endsWith('.md'))
    return `${inDocs.includes('/') ? inDocs.slice(0, -3) : inDocs.slice(0, -3).toLowerCase()}.html`;
  return IMAGE.test(source) ? inDocs : `${inDocs}.html`;
}

/** Builds the site of the project in `root` into the folder `out`. Throws an error that names every dead link. */
export async function buildSite(root: string, out: string): Promise<BuiltSite> {
  const site = new Site(root);
  await site.readAll();
  site.checkAnchors();
  if (site.problems.length > 0) throw new Error(`dead links:\n${site.problems.map((one) => `  ${one}`).join('\n')}`);
  const pages = [...site.pages.values()];
  for (const page of pages) {
    await mkdir(dirname(join(out, page.path)), { recursive: true });
    await writeFile(join(out, page.path), layout(page, pages));
  }
  for (const image of site.images) {
    await mkdir(dirname(join(out, pathInSite(image))), { recursive: true });
    await copyFile(join(root, image), join(out, pathInSite(image)));
  }
  const assets = join(out, 'assets');
  await mkdir(assets, { recursive: true });
  for (const file of await readdir(THEME)) await copyFile(join(THEME, file), join(assets, file));
  for (const file of SHARED) await copyFile(file, join(assets, basename(file)));
  await copyFile(MINISEARCH, join(assets, 'minisearch.js'));
  await writeFile(join(assets, 'search-index.js'), searchIndex(pages));
  return { pages, images: [...site.images] };
}

class Site {
  readonly #root: string;
  readonly pages = new Map<string, SitePage>();
  readonly images = new Set<string>();
  readonly problems: string[] = [];
  /** Links with an anchor, to be checked when all pages are there. */
  readonly #anchored: { readonly from: string; readonly to: string; readonly anchor: string }[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  /** Reads the first pages and everything that they lead to. */
  async readAll(): Promise<void> {
    const waiting = new Set([START, ...(await this.#documents())]);
    for (const source of waiting) {
      if (this.pages.size > MAX_PAGES) throw new Error(`more than ${MAX_PAGES} pages`);
      const links = new Map<string, string>();
      const text = await this.#textOf(source);
      const page = isMarkdown(source)
        ? renderMarkdown(text, source, (href, kind) => {
            const target = localTarget(source, href);
            if (target === undefined) {
              if (kind === 'image') this.problems.push(`${source}: ${href} is an image from elsewhere`);
              return href;
            }
            links.set(target.file, href);
            if (kind === 'image') this.images.add(target.file);
            else if (target.anchor !== '')
              this.#anchored.push({ from: source, to: target.file, anchor: target.anchor });
            return `${PLACE}${target.file}#${target.anchor}`;
          })
        : plainFile(source, text);
      const found = await this.#resolve(source, links);
      for (const target of found.values()) if (!IMAGE.test(target)) waiting.add(target);
      const path = pathInSite(source);
      this.pages.set(source, { ...page, source, path, html: placed(page.html, path, found) });
    }
  }

  checkAnchors(): void {
    for (const { from, to, anchor } of this.#anchored) {
      const page = this.pages.get(to);
      if (page !== undefined && !page.anchors.has(anchor)) this.problems.push(`${from}: ${to} has no #${anchor}`);
    }
  }

  /** The documents that need no link to be found: those of the root and of docs/. */
  async #documents(): Promise<string[]> {
    const roots = (await readdir(this.#root)).filter(isMarkdown);
    const below = await readdir(join(this.#root, 'docs'), { recursive: true }).catch(() => []);
    const documents = below.filter(isMarkdown).map((path) => posix.join('docs', path.replaceAll('\\', '/')));
    return [...roots, ...documents].sort();
  }

  /** File → what it stands for: a folder is its README.md, or a list of what is in it. */
  async #resolve(source: string, links: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    for (const [file, href] of links) {
      const facts = await stat(join(this.#root, file)).catch(() => undefined);
      if (facts === undefined) this.problems.push(`${source}: ${href} leads nowhere`);
      else if (facts.isFile()) found.set(file, file);
      else found.set(file, (await this.#isFile(`${file}/README.md`)) ? `${file}/README.md` : `${file}/`);
    }
    return found;
  }

  async #isFile(path: string): Promise<boolean> {
    const facts = await stat(join(this.#root, path)).catch(() => undefined);
    return facts?.isFile() === true;
  }

  /** Of a folder, the names of what is in it. */
  async #textOf(source: string): Promise<string> {
    if (source.endsWith('/')) return (await readdir(join(this.#root, source))).sort().join('\n');
    const text = await readFile(join(this.#root, source), 'utf8');
    if (text.length > MAX_FILE_BYTES) throw new Error(`${source} is too large for a page`);
    return text;
  }
}

const isMarkdown = (path: string): boolean => path.endsWith('.md');

/** Stands before the file of a link until it is known what the file stands for. */
const PLACE = 'tessera-page:';
const PLACED = new RegExp(`${PLACE}([^"#]*)#([^"]*)`, 'g');

/** Links as paths from the page that they are on. */
function placed(html: string, path: string, found: ReadonlyMap<string, string>): string {
  return html.replaceAll(PLACED, (_, file: string, anchor: string) => {
    const target = found.get(decodeURI(file));
    if (target === undefined) return '';
    const to = relative(dirname(path), pathInSite(target)).replaceAll('\\', '/');
    return anchor === '' ? to : `${to}#${anchor}`;
  });
}

/** The file of the project that a link leads to; undefined for one that leads elsewhere. */
function localTarget(source: string, href: string): { readonly file: string; readonly anchor: string } | undefined {
  if (/^[a-z]+:/.test(href)) return undefined;
  const [path = '', anchor = ''] = href.split('#');
  const file = path === '' ? source : posix.normalize(posix.join(posix.dirname(source), decodeURI(path)));
  return { file: file.replace(/\/$/, ''), anchor };
}

/** A page for a file that is no document, or a folder without one, as it is. */
function plainFile(source: string, text: string): Rendered {
  const html = `<h1><code>${escapeHtml(source)}</code></h1>\n<pre><code>${escapeHtml(text)}</code></pre>\n`;
  return { title: source, html, sections: [], anchors: new Set(['']) };
}
