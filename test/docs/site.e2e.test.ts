/** The site of the documents (`npm run docs`): complete, whole, of itself alone, and searched without a network. */

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import MiniSearch from 'minisearch';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type BuiltSite, buildSite, pathInSite } from '../../scripts/docs-site/site.js';
import { findTool } from '../support/tools.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CHROMIUM = findTool('chromium');

let out: string;
let site: BuiltSite;

beforeAll(async () => {
  out = await mkdtemp(join(tmpdir(), 'tessera-site-'));
  site = await buildSite(ROOT, out);
});
afterAll(() => rm(out, { recursive: true, force: true }));

/** A project of these files, built; what the build says is wrong with it. */
async function build(files: Readonly<Record<string, string>>): Promise<{ readonly folder: string; problem: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-site-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
  const problem = await buildSite(folder, join(folder, 'site')).then(
    () => '',
    ({ message }: Error) => message,
  );
  return { folder, problem };
}

describe('the site', () => {
  it('has a page for every document, in the navigation of every other', async () => {
    const sources = site.pages.map(({ source }) => source);
    expect(sources).toEqual(expect.arrayContaining(['README.md', 'SECURITY.md', 'docs/adr/README.md']));
    const start = await readFile(join(out, 'index.html'), 'utf8');
    const documents = sources.filter((source) => /^docs\/[^/]+\.md$/.test(source));
    expect(documents.length).toBeGreaterThan(8);
    expect(documents.filter((source) => !start.includes(`<li><a href="${pathInSite(source)}"`))).toEqual([]);
  });

  it('loads nothing from elsewhere', async () => {
    for (const { path } of site.pages) {
      const html = await readFile(join(out, path), 'utf8');
      const loaded = [...html.matchAll(/<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)="([^"]*)"/g)];
      expect(loaded.map(([, url = '']) => url).filter((url) => /^(?:[a-z]+:|\/)/.test(url))).toEqual([]);
    }
    const styles = await readFile(join(out, 'assets/style.css'), 'utf8');
    expect(`${styles}${await readFile(join(out, 'assets/base.css'), 'utf8')}`).not.toMatch(/url\(|https?:/);
  });

  it('has no link of its own that leads nowhere', async () => {
    const htmls = new Map<string, string>();
    for (const { path } of site.pages) htmls.set(path, await readFile(join(out, path), 'utf8'));
    const broken = [...htmls].flatMap(([path, html]) =>
      [...html.matchAll(/<a\b[^>]*? href="([^"]*)"/g)].flatMap(([, href = '']) => {
        if (/^[a-z]+:/.test(href)) return [];
        const [file = '', anchor = ''] = href.split('#');
        const target = file === '' ? path : posix.normalize(posix.join(posix.dirname(path), file));
        const found = htmls.get(target);
        const isThere = found !== undefined && (anchor === '' || found.includes(`id="${decodeURIComponent(anchor)}"`));
        return isThere ? [] : [`${path}: ${href}`];
      }),
    );
    expect(broken).toEqual([]);
  });

  it('finds what is asked for, by what is in the text too', async () => {
    const script = await readFile(join(out, 'assets/search-index.js'), 'utf8');
    const [, literal = ''] = /^globalThis\.tesseraSearchIndex = (.*);\n$/s.exec(script) ?? [];
    const options = { fields: ['title', 'page', 'content'], storeFields: ['title', 'page', 'url'] };
    const index = MiniSearch.loadJSON(JSON.parse(literal), options);
    const urls = (text: string) => index.search(text, { combineWith: 'AND' }).map(({ url }) => url);
    expect(urls('trusted_proxies')).toContain('operations.html#behind-a-reverse-proxy');
    expect(urls('coinbase maturity').length).toBeGreaterThan(0);
    expect(urls('xyzzyplugh')).toEqual([]);
  });

  it.runIf(CHROMIUM !== undefined)(
    'is read and searched in a browser from its folder, by keyboard, offline',
    async () => {
      const browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] });
      try {
        const context = await browser.newContext({ offline: true, viewport: { width: 390, height: 800 } });
        const page = await context.newPage();
        const wrong: string[] = [];
        page.on('pageerror', ({ message }) => wrong.push(message));
        page.on('console', (message) => wrong.push(message.text()));
        page.on('requestfailed', (request) => wrong.push(request.url()));
        await page.goto(pathToFileURL(join(out, 'adr/0001-exact-integers.html')).href);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
        await page.keyboard.press('/');
        await page.keyboard.type('behind a reverse proxy');
        await page.waitForSelector('#results a');
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Enter');
        await page.waitForURL(/operations\.html#behind-a-reverse-proxy$/);
        expect(await page.title()).toBe('Operating Tessera · Tessera');
        expect(wrong).toEqual([]);
      } finally {
        await browser.close();
      }
    },
  );
});

describe('a build', () => {
  it('fails at links that lead nowhere, and names each', async () => {
    const { problem } = await build({
      'README.md':
        '[a](docs/wallet.md) [b](docs/cli.md#errors) [c](#none) ![d](https://example.net/d.png) [e](../outside.md)\n',
      'docs/cli.md': '# A\n\n[fine](../README.md) [fine](#a)\n',
    });
    expect(problem.split('\n')).toEqual([
      'dead links:',
      '  README.md: https://example.net/d.png is an image from elsewhere',
      '  README.md: docs/wallet.md leads nowhere',
      '  README.md: ../outside.md leads nowhere',
      '  README.md: docs/cli.md has no #errors',
      '  README.md: README.md has no #none',
    ]);
  });

  it('shows tags and templates in a document as the text that they are', async () => {
    const { folder, problem } = await build({
      'README.md':
        '# Angles <data dir>\n\n<script>alert(1)</script> {{ secret }} <a id="x" onclick="y"></a> <a id="mark"></a>\n',
    });
    expect(problem).toBe('');
    const html = await readFile(join(folder, 'site/index.html'), 'utf8');
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt; {{ secret }} &lt;a id=&quot;x&quot;');
    expect(html).toContain('<a id="mark"></a>');
    expect(html).toContain('<h1 id="angles-data-dir">Angles &lt;data dir&gt;');
  });

  it('takes files and folders that documents name as pages, and pictures as they are', async () => {
    const { folder, problem } = await build({
      'README.md': '[file](config/a.toml) [folder](src) ![picture](docs/p.png)\n',
      'config/a.toml': 'a = "<b>"\n',
      'src/one.ts': '',
      'docs/p.png': 'PNG',
    });
    expect(problem).toBe('');
    const read = (path: string) => readFile(join(folder, 'site', path), 'utf8');
    expect(await read('config/a.toml.html')).toContain('a = &quot;&lt;b&gt;&quot;');
    expect(await read('src/index.html')).toContain('one.ts');
    expect(await read('p.png')).toBe('PNG');
  });
});
