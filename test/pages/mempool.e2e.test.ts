/** What waits, in a real browser, against a dev network that makes a block only when it is asked. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DevNetwork } from '../../src/node/dev-network.js';
import { axeFindings, HAS_BROWSER, launchBrowser, openPage, press, sidewaysScroll, WAYS } from '../support/browser.js';
import { silentLogger } from '../support/silent-logger.js';

const ADDRESS = 'a5684800b1fb871d78120745ca82847810763fdb6ffaed3f8a72a4ce5d4bb14d';
const HOUR_MS = 3_600_000;

it.runIf(HAS_BROWSER)('a transaction that waits has a place and a likely block, until a block has it', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'tessera-mempool-page-'));
  const network = new DevNetwork({ dataDir, ports: 'any', intervalMs: HOUR_MS }, { logger: silentLogger });
  await network.start();
  const browser = await launchBrowser();
  try {
    const origin = network.url ?? '';
    const post = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(answer.ok, path).toBe(true);
      return (await answer.json()) as { tx_hash: string };
    };
    const { page } = await openPage(browser, `${origin}/mempool`, {
      context: WAYS.keyboard,
    });
    await page.getByText('Nothing waits.').waitFor();
    const payment = { kind: 'address', address: ADDRESS, amount: 72_072_000, passphrase: '' };
    const { tx_hash } = await post('/v1/payments', payment);
    // It comes by itself; from there on by keyboard.
    await page.getByText(/^1 wait, /).waitFor();
    expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
    expect(await axeFindings(page)).toEqual([]);
    const { page: desk } = await openPage(browser, `${origin}/mempool`, { context: WAYS.mouse });
    await press(desk.locator(`.table a[href="/transactions/${tx_hash}"]`), 'mouse');
    await desk.getByText('1: nothing is before it').waitFor();
    await press(page.locator(`.table a[href="/transactions/${tx_hash}"]`), 'keyboard');
    const about = page.getByRole('region', { name: 'About the transaction' });
    await about.getByText('1: nothing is before it').waitFor();
    await about.getByText('nothing that it depends on').waitFor();
    expect(await page.locator('.card data[value="72072000"]').innerText()).toBe('1 token');
    expect(await axeFindings(page)).toEqual([]);
    await post('/v1/dev/blocks', {});
    await about.getByText('Confirmations').waitFor();
  } finally {
    await browser.close();
    await network.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
});
