/** The page at /v1/docs (decision H9): from the node alone, safe, and working in a real browser. */

import { chromium } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { operationsOf } from '../../src/api/operations.js';
import { openApp, send } from '../support/api/app.js';
import { findTool } from '../support/tools.js';

const CHROMIUM = findTool('chromium');

describe('the page', () => {
  it('names nothing outside of the node', async () => {
    const app = await openApp('mempool');
    const { text } = await send(app, { url: '/v1/docs' });
    const addresses = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address);
    expect(addresses.length).toBeGreaterThan(3);
    for (const address of addresses) {
      expect(address).toMatch(/^\/v1\/docs\//);
      expect((await send(app, { url: address })).status).toBe(200);
    }
  });

  it('may load nothing from elsewhere', async () => {
    const app = await openApp('mempool');
    const policy = String((await send(app, { url: '/v1/docs' })).headers['content-security-policy']);
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/https?:|script-src[^;]*unsafe/);
  });

  it('alone has such a policy: JSON needs none', async () => {
    const app = await openApp('mempool');
    expect((await send(app, { url: '/v1/supply' })).headers['content-security-policy']).toBeUndefined();
  });

  it.runIf(CHROMIUM !== undefined)(
    'shows every operation and tries one, in a browser',
    { timeout: 120_000 },
    async () => {
      const app = await openApp('mempool');
      const origin = await app.listen({ host: '127.0.0.1', port: 0 });
      const browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] });
      onTestFinished(() => browser.close());
      const page = await browser.newPage();
      const elsewhere: string[] = [];
      const faults: string[] = [];
      page.on('request', (request) => {
        const url = request.url();
        if (!url.startsWith(origin) && !url.startsWith('data:')) elsewhere.push(url);
      });
      page.on('pageerror', (error) => faults.push(error.message));
      page.on('console', (message) => {
        if (message.type() === 'error') faults.push(message.text());
      });

      await page.goto(`${origin}/v1/docs`);
      await page.locator('.opblock').first().waitFor();
      const shown = await page.locator('.opblock .opblock-summary-path').allInnerTexts();
      // The page puts a zero-width space behind each slash.
      const paths = new Set(shown.map((text) => text.replaceAll('\u200B', '').trim()));
      for (const { path } of operationsOf('mempool')) expect(paths).toContain(path);

      const supply = page.locator('#operations-Mempool-getSupply');
      await supply.locator('.opblock-summary-control').click();
      await supply.locator('button.execute').click();
      await supply.locator('.live-responses-table .response-col_status', { hasText: '200' }).first().waitFor();
      const answer = supply.locator('.live-responses-table tbody .response-col_description').first();
      expect(await answer.textContent()).toContain('360360000000000000');
      expect(elsewhere).toEqual([]);
      expect(faults).toEqual([]);
    },
  );
});
