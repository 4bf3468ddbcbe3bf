/** The page at /v1/docs (decision H9): from the node alone, safe, exact, and working in a real browser. */

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { chromium, type Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { operationsOf } from '../../src/api/operations.js';
import { PageFiles } from '../../src/api/pages/page-files.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { prettyJson } from '../../web/docs/pretty-json.js';
import { openApp, send } from '../support/api/app.js';
import { fakeMempool } from '../support/api/fakes.js';
import { findTool } from '../support/tools.js';

const CHROMIUM = findTool('chromium');
/** An odd number that a double does not hold: 86487077826520890 is the nearest. */
const ISSUED = 86_487_077_826_520_891n;
/** Brotli, all that the page loads. */
const MOST_BYTES = 40_000;

/** An app with the page as `npm run build` makes it. */
async function openDocs(role: NodeRole): Promise<FastifyInstance> {
  const docs = await PageFiles.load(fileURLToPath(new URL('../../dist/web', import.meta.url)));
  const mempool = { ...fakeMempool(), supply: () => ({ total: 360_360_000_000_000_000n, issued: ISSUED }) };
  return openApp(role, { modules: { docs, ...(role === 'mempool' ? { mempool } : {}) } });
}

async function addressesIn(app: FastifyInstance): Promise<string[]> {
  const { text } = await send(app, { url: '/v1/docs' });
  return [...text.matchAll(/(?:src|href)="([^"]*)"/g)]
    .map(([, address = '']) => address)
    .filter((address) => address !== '/v1/openapi.json');
}

describe('the page', () => {
  it('names nothing outside of the node, and nothing outside of its own path', async () => {
    const app = await openDocs('mempool');
    const addresses = await addressesIn(app);
    expect(addresses.length).toBeGreaterThan(3);
    for (const address of addresses) {
      expect(address).toMatch(/^\/v1\/docs\//);
      expect((await send(app, { url: address })).status).toBe(200);
    }
  });

  it('is small', async () => {
    const app = await openDocs('mempool');
    const sizes = await Promise.all(
      (await addressesIn(app)).map(async (url) => {
        const { headers } = await app.inject({ url, headers: { 'accept-encoding': 'br' } });
        return Number(headers['content-length']);
      }),
    );
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST_BYTES);
  });

  it('may run and load only what the node serves, and nothing inline', async () => {
    const app = await openDocs('mempool');
    const policy = String((await send(app, { url: '/v1/docs' })).headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/https?:|unsafe/);
  });

  it('alone has such a policy: JSON needs none', async () => {
    const app = await openDocs('mempool');
    expect((await send(app, { url: '/v1/supply' })).headers['content-security-policy']).toBeUndefined();
  });

  it('is not sent to who has it, and the document says so', async () => {
    const app = await openDocs('mempool');
    const { headers } = await send(app, { url: '/v1/docs' });
    const again = { url: '/v1/docs', headers: { 'if-none-match': String(headers.etag) } };
    expect(await send(app, again)).toMatchObject({ status: 304, text: '' });
    const { body } = await send(app, { url: '/v1/openapi.json' });
    expect(body.paths['/v1/docs'].get.responses).toMatchObject({ 200: { headers: { ETag: {} } }, 304: {} });
  });

  it('says that it is not built, on a node that works', async () => {
    const app = await openApp('mempool');
    const { status, text } = await send(app, { url: '/v1/docs' });
    expect([status, text]).toEqual([503, expect.stringContaining('npm run build')]);
    expect((await send(app, { url: '/v1/openapi.json' })).status).toBe(200);
  });

  it('sets JSON in lines without changing a number', () => {
    const json = `{"a":[${ISSUED},-1.50,1e3,{}],"b":"{\\"c\\": [1,2]}","d":[],"e":true}`;
    const lines = prettyJson(json);
    expect(lines).toBe(
      `{\n  "a": [\n    ${ISSUED},\n    -1.50,\n    1e3,\n    {}\n  ],\n  "b": "{\\"c\\": [1,2]}",\n  "d": [],\n  "e": true\n}`,
    );
    expect(prettyJson('not { json')).toBe('not { json');
  });
});

describe.runIf(CHROMIUM !== undefined)('the page in a browser', () => {
  it('shows every operation, tries them exactly and by keyboard, and is ours', async () => {
    const browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] });
    onTestFinished(() => browser.close());
    for (const role of ['mempool', 'user'] as const) {
      const app = await openDocs(role);
      const origin = await app.listen({ host: '127.0.0.1', port: 0 });
      const page = await browser.newPage();
      page.setDefaultTimeout(120_000);
      const { elsewhere, faults } = watch(page, origin);
      await page.goto(`${origin}/v1/docs`);
      await page.locator('.operation').first().waitFor();
      const paths = new Set(await page.locator('.operation .path').allInnerTexts());
      for (const { path } of operationsOf(role)) expect(paths).toContain(path);
      if (role === 'mempool') await readsExactly(page);
      else await writesExactly(page);
      expect(await seriousFaults(page)).toEqual([]);
      expect(await page.content()).not.toMatch(/swagger/i);
      expect(await page.title()).toContain('Tessera');
      expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
    }
  });
});

function watch(page: Page, origin: string): { readonly elsewhere: string[]; readonly faults: string[] } {
  const elsewhere: string[] = [];
  const faults: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/v1/`)) elsewhere.push(request.url());
  });
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    // A refused request is what some operations are tried for.
    if (message.type() === 'error' && !message.text().includes('Failed to load resource')) faults.push(message.text());
  });
  return { elsewhere, faults };
}

/** With keys alone: opens GET /v1/supply, and sends it. */
async function readsExactly(page: Page): Promise<void> {
  const supply = page.locator('#getSupply');
  await supply.locator('summary').first().focus();
  await page.keyboard.press('Enter');
  const button = supply.getByRole('button', { name: 'Send getSupply' });
  await button.waitFor();
  await button.focus();
  await page.keyboard.press('Enter');
  const answer = supply.getByRole('region', { name: 'Answer' });
  await answer.filter({ hasText: 'issued' }).waitFor();
  expect(await answer.innerText()).toBe(`{\n  "total": 360360000000000000,\n  "issued": ${ISSUED}\n}`);
}

/** The amount goes out as it was written. */
async function writesExactly(page: Page): Promise<void> {
  await page.locator('.docs-tools input[type=search]').fill('createPayment');
  const payment = page.locator('#createPayment');
  await payment.locator('summary').first().click();
  const body = payment.locator('textarea[name=body]');
  const order = await body.inputValue();
  await body.fill(order.replace('1000', String(ISSUED)));
  const sent = page.waitForRequest((request) => request.url().endsWith('/v1/payments'));
  await payment.getByRole('button', { name: 'Send createPayment' }).click();
  expect((await sent).postData()).toContain(`"amount": ${ISSUED}`);
  // Without a key it is refused, and the page says so.
  const answer = payment.getByRole('region', { name: 'Answer' });
  await answer.filter({ hasText: 'missing_api_key' }).waitFor();
}

/** What a screen reader or a keyboard would stumble over. */
async function seriousFaults(page: Page): Promise<string[]> {
  const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(axe);
  return page.evaluate(async () => {
    type Result = { violations: { id: string; impact: string; nodes: { html: string }[] }[] };
    const { axe: checker } = globalThis as unknown as { axe: { run: () => Promise<Result> } };
    const { violations } = await checker.run();
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' ')}`);
  });
}
