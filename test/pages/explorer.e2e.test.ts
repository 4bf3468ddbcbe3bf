/** The explorer in a real browser, against a dev network in this process. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { programVersion } from '../../src/lib/program-files.js';
import { DevNetwork } from '../../src/node/dev-network.js';
import {
  axeFindings,
  HAS_BROWSER,
  launchBrowser,
  openPage,
  type PageOptions,
  press,
  sidewaysScroll,
  type,
  WAYS,
  WAYS_TAKEN,
  type Way,
} from '../support/browser.js';
import { freePort } from '../support/free-port.js';
import { until } from '../support/processes.js';
import { silentLogger } from '../support/silent-logger.js';

/** The first account of the dev network. */
const ADDRESS = 'a5684800b1fb871d78120745ca82847810763fdb6ffaed3f8a72a4ce5d4bb14d';
const HOSTILE =
  '<img src=x onerror="document.title=1"><script>document.title=2</script><a href="javascript:document.title=3">win</a> \u202Eevil\u202C';

interface Facts {
  readonly payment: string;
  readonly item: string;
  readonly block: string;
}

let dataDir: string;
let network: DevNetwork;
let origin: string;
let browser: Browser;
let facts: Facts;

const start = async (port: number): Promise<DevNetwork> => {
  const started = new DevNetwork({ dataDir, ports: 'any', port }, { logger: silentLogger });
  await started.start();
  return started;
};

const post = async (path: string, body: object, at = origin): Promise<Record<string, unknown>> => {
  const response = await fetch(`${at}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.ok, `${path} ${response.status}`).toBe(true);
  return (await response.json()) as Record<string, unknown>;
};

const read = async (path: string): Promise<Record<string, unknown>> =>
  (await (await fetch(`${origin}${path}`)).json()) as Record<string, unknown>;

/** Resolves with the hash when it is in a block. */
async function inBlock(hash: unknown): Promise<string> {
  await until(`transaction ${String(hash)} to be in a block`, async () => {
    return (await fetch(`${origin}/v1/chain/transactions/${String(hash)}`)).ok || undefined;
  });
  return String(hash);
}

/** Pays from the wallet of the user node; resolves with the hash when it is in a block. */
async function pay(amount: number): Promise<string> {
  const { tx_hash } = await post('/v1/payments', { kind: 'address', address: ADDRESS, amount, passphrase: '' });
  return inBlock(tx_hash);
}

/** The transaction that created the item, once it is in a block. */
async function createdItem(): Promise<string | undefined> {
  const { blocks } = (await read('/v1/chain/blocks')) as { blocks: { block_num: number }[] };
  for (const { block_num } of blocks) {
    const answer = await read(`/v1/chain/blocks/${block_num}/transactions`);
    const { transactions } = answer as { transactions: { kind: string; tx_hash: string }[] };
    const found = transactions.find(({ kind }) => kind === 'creation');
    if (found !== undefined) return found.tx_hash;
  }
  return undefined;
}

const open = (path: string, options?: PageOptions) => openPage(browser, `${origin}${path}`, options);

const heading = (page: Page) => page.locator('main h1');

/** Searches, and waits for the page whose heading holds the text. */
async function searchFor(page: Page, text: string, found: string, way: Way = 'mouse'): Promise<void> {
  await type(page.getByRole('searchbox'), text, way);
  if (way === 'keyboard') await page.keyboard.press('Enter');
  else await press(page.getByRole('button', { name: 'Search' }), way);
  await heading(page).filter({ hasText: found }).waitFor();
}

describe.runIf(HAS_BROWSER)('the explorer', () => {
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'tessera-explorer-'));
    [network, browser] = await Promise.all([start(await freePort()), launchBrowser()]);
    origin = network.url ?? '';
    const payment = await pay(72_072_001);
    await post('/v1/items', { genesis_hash_spec: 'Create', item_amount: 3, metadata: HOSTILE });
    const item = await until('the item to be in a block', createdItem);
    const { hash } = (await read('/v1/chain/blocks/1')) as { hash: string };
    facts = { payment, item, block: hash };
  });

  afterAll(async () => {
    await browser?.close();
    await network?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  it('shows blocks and transactions as they come', async () => {
    const { page } = await open('/');
    const blocks = page.getByRole('region', { name: 'Blocks', exact: true }).getByRole('listitem');
    await blocks.first().waitFor();
    const hash = await pay(5);
    await page.getByRole('region', { name: 'Transactions' }).locator(`a[href="/transactions/${hash}"]`).waitFor();
    const { block_num } = (await read(`/v1/chain/transactions/${hash}`)) as { block_num: number };
    await blocks.first().locator(`a[href="/blocks/${block_num}"]`).waitFor();
    const chart = page.getByRole('slider', { name: 'Supply' });
    await chart.focus();
    await page.keyboard.press('Home');
    await page.locator('[role="slider"][aria-valuetext^="block 0: "]').waitFor();
    await page.setViewportSize(WAYS.keyboard.viewport);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.keyboard.press('ArrowRight');
    await page.locator('[role="slider"][aria-valuetext^="block 1: "]').waitFor();
    expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
    await chart.locator('.u-over').hover();
  });

  it('finds each kind of thing, by the key /', async () => {
    const { page } = await open('/network');
    await heading(page).filter({ hasText: 'Network' }).waitFor();
    const peers = page.getByRole('region', { name: 'Linked mempool and storage nodes' });
    await peers.getByText(programVersion(), { exact: true }).first().waitFor();
    await press(page.getByRole('link', { name: 'Status' }), 'mouse');
    const examined = page.getByRole('region', { name: 'Findings' }).getByRole('listitem').filter({ hasText: /^ok/ });
    for (const check of ['node: runs and is ready', 'peer 127.0.0.1:', 'clock: within 5 s', 'index: ready'])
      await examined.filter({ hasText: check }).first().waitFor();
    await page.keyboard.press('/');
    await page.locator('input[type="search"]:focus').waitFor();
    await searchFor(page, '1', '1', 'keyboard');
    expect(new URL(page.url()).pathname).toBe('/blocks/1');
    await searchFor(page, facts.payment, facts.payment);
    await searchFor(page, facts.block, '1');
    expect(new URL(page.url()).pathname).toBe(`/blocks/${facts.block}`);
    await searchFor(page, facts.payment.slice(0, 12), facts.payment);
    await searchFor(page, ADDRESS, ADDRESS);
    // An item has the name of the transaction that created it.
    await searchFor(page, facts.item, 'Search');
    await page.locator(`.results a[href="/items/${facts.item}"]`).click();
    await heading(page).filter({ hasText: facts.item }).waitFor();
    await searchFor(page, 'nothing has this name <b>', 'Search');
    await page.getByText('Nothing found', { exact: true }).waitFor();
    await page.getByText('nothing has this name <b>', { exact: true }).waitFor();
  });

  it('shows what was paid, without change, and counts the transactions of a block in one way', async () => {
    const { block_num } = (await read(`/v1/chain/transactions/${facts.payment}`)) as { block_num: number };
    const { page } = await open(`/blocks/${block_num}`);
    const about = page.getByRole('region', { name: 'About the block' });
    await about.getByText('1, and the coinbase', { exact: true }).waitFor();
    // Rows are in the document when they are in sight, and on a phone this table is below it.
    await page.getByText(/^“≈” marks a guess/).scrollIntoViewIfNeeded();
    const row = page.getByRole('row').filter({ has: page.locator(`a[href="/transactions/${facts.payment}"]`) });
    await row.locator('data[value="72072001"]').waitFor();
    expect(await row.getByText('≈').count()).toBe(1);
    await page.getByText(/^“≈” marks a guess/).waitFor();
    await page.goto(`${origin}/blocks`);
    const listed = page.getByRole('row').filter({ has: page.locator(`a[href="/blocks/${block_num}"]`) });
    await listed.getByRole('cell').nth(2).waitFor();
    expect(await listed.getByRole('cell').nth(2).innerText()).toBe('1');
  });

  it('lists the last transactions also when 170 empty blocks have come since', async () => {
    // Few at once: a busy machine makes no more within the time of a request.
    for (let made = 0; made < 170; made += 10) await post('/v1/dev/blocks', { count: 10 });
    const { page } = await open('/');
    const latest = page.getByRole('region', { name: 'Transactions', exact: true });
    await latest.locator(`a[href="/transactions/${facts.payment}"]`).waitFor();
    await latest.locator('data[value="72072001"]').waitFor();
    const blocks = page.getByRole('region', { name: 'Blocks', exact: true });
    await blocks.getByRole('listitem').first().getByText('empty').waitFor();
  });

  it('shows a payment with exact amounts in both units, its source, and who has spent it', async () => {
    const { page } = await open(`/transactions/${facts.payment}`);
    const about = page.getByRole('region', { name: 'About the transaction' });
    await about.getByText(/^“≈” marks a guess/).waitFor();
    await about.locator('data[value="72072001"]').waitFor();
    const outputs = page.getByRole('region', { name: /^Outputs/ });
    await outputs.locator('data[value="72072001"]', { hasText: '1.00000001… tokens' }).waitFor();
    await outputs.getByText('72,072,001 raw').waitFor();
    await outputs.getByText('unspent').first().waitFor();
    const inputs = page.getByRole('region', { name: /^Inputs/ });
    await inputs
      .getByText(/output \d+ of/)
      .first()
      .waitFor();
    await inputs.getByText('Script, 8 entries').first().click();
    await inputs.getByText('OP_CHECKSIG').first().waitFor();
    // The change of this payment was spent by the next one.
    await outputs.locator('.spent a').first().waitFor();
  });

  it('shows amounts beyond 2^53 exactly', async () => {
    const { page } = await open('/');
    await page.route('**/v1/chain/addresses/*', (route) =>
      route.fulfill({
        contentType: 'application/json',
        body: `{"address":"${ADDRESS}","tokens":18446744073709551615,"received":"36893488147419103231","sent":"18446744073709551616",
          "transaction_count":0,"unspent_count":0,"item_count":0,"first_seen":null,"last_seen":null,"as_of_block":1}`,
      }),
    );
    await searchFor(page, ADDRESS, ADDRESS);
    await page.getByText('18,446,744,073,709,551,615 raw').waitFor();
    await page.getByText('36,893,488,147,419,103,231 raw').waitFor();
  });

  it('leads from one half of a trade to the other', async () => {
    const give = { kind: 'item', amount: 1, genesis_hash: facts.item };
    const { offer } = await post('/v1/trades', { give, want: { kind: 'token', amount: 1_000 }, passphrase: '' });
    const { miner } = network.urls;
    const { acceptance } = await post('/v1/trades/accept', { offer, passphrase: '' }, miner);
    const maker = await post('/v1/trades/complete', { document: acceptance });
    const taker = await post('/v1/trades/complete', { document: maker.confirmation }, miner);
    const [first, second] = [await inBlock(maker.tx_hash), await inBlock(taker.tx_hash)];
    const { page } = await open(`/transactions/${first}`);
    const trade = page.getByRole('region', { name: 'Trade' });
    await trade.getByText('1,000 raw').waitFor();
    await trade.locator(`a[href="/transactions/${second}"]`).click();
    await heading(page).filter({ hasText: second }).waitFor();
    await trade.locator(`a[href="/transactions/${first}"]`).waitFor();
  });

  it('reads on where an address has more outputs than a page', async () => {
    const count = 620;
    const { page } = await open('/');
    const place = { tx_hash: facts.payment, block_num: 1, tx_num: 0, time: 1_700_000_000 };
    const asset = { asset: 'token', amount: 5, genesis_hash: null, metadata: null, locktime: 0 };
    let pages = 0;
    await page.route('**/v1/chain/addresses/*/outputs*', (route) => {
      const { searchParams } = new URL(route.request().url());
      const [first, limit] = [Number(searchParams.get('cursor') ?? 0), Number(searchParams.get('limit') ?? 25)];
      const outputs = Array.from({ length: Math.min(limit, count - first) }, (_, at) => {
        return { out_point: { t_hash: facts.payment, n: first + at }, ...asset, ...place };
      });
      pages++;
      const next = first + limit < count ? String(first + limit) : null;
      return route.fulfill({ json: { outputs, next, as_of_block: 1 } });
    });
    await page.goto(`${origin}/addresses/${ADDRESS}?show=outputs`);
    const table = page.getByRole('table', { name: 'Unspent outputs of the address' });
    await until('the last output to be shown', async () => {
      await page.keyboard.press('End');
      return (await table.locator(`.row[aria-rowindex="${count + 1}"]`).count()) > 0 || undefined;
    });
    expect(pages).toBeGreaterThan(1);
    // Only what is in sight is in the document.
    expect(await table.getByRole('row').count()).toBeLessThan(80);
  });

  it('has deep links, a back button, a focus that follows, and colours that stay', async () => {
    const { page } = await open(`/addresses/${ADDRESS}`);
    await page.getByText('at the start of the chain, block 0').waitFor();
    await page
      .getByRole('table', { name: 'History of the address' })
      .locator(`a[href="/transactions/${facts.payment}"]`)
      .click();
    await heading(page).filter({ hasText: facts.payment }).waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
    expect(await page.title()).toContain(facts.payment);
    await page.locator('main .facts a[href^="/blocks/"]').first().click();
    await page.waitForURL(/\/blocks\/\d+$/);
    await page.goBack();
    await heading(page).filter({ hasText: facts.payment }).waitFor();
    await page.goBack();
    await heading(page).filter({ hasText: ADDRESS }).waitFor();
    await page.getByRole('link', { name: /^Unspent outputs/ }).click();
    await page.getByRole('table', { name: 'Unspent outputs of the address' }).waitFor();
    await page.getByLabel('Colours').selectOption('dark');
    await page.locator('html[data-theme="dark"]').waitFor();
    await page.reload();
    await page.locator('html[data-theme="dark"]').waitFor();
    await heading(page).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
  });

  it('shows the metadata of strangers as text and nothing else', async () => {
    const { page } = await open(`/items/${facts.item}`);
    const metadata = page.locator('.safe-text');
    await metadata.waitFor();
    expect(await metadata.locator('img, script, a').count()).toBe(0);
    const text = (await metadata.locator('bdi').textContent()) ?? '';
    expect(text).toContain('<script>document.title=2</script>');
    expect(text).toContain('U+202Eevil');
    expect(text).not.toContain('\u202E');
    expect(await page.title()).toContain(facts.item);

    const megabyte = 'javascript:alert(1) <b>'.repeat(45_000);
    await page.route(`**/v1/chain/items/${facts.item}`, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), metadata: megabyte } });
    });
    await page.reload();
    await page.getByRole('button', { name: /Show more of 1,035,000 characters/ }).click();
    await until('more of it to be shown', async () => {
      const { length } = (await metadata.locator('bdi').textContent()) ?? '';
      return length === 16_000 || undefined;
    });
    expect(await metadata.locator('b').count()).toBe(0);
    expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
  });

  it('finds an item by words of its metadata, shows it as a card, and asks nobody else for its image', async () => {
    const image = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>').toString('base64');
    const attributes = [{ trait_type: 'Seat', value: 7 }];
    for (const [name, source] of [
      ['Ferry ticket <b>', image],
      ['Ferry pass', 'https://stranger.example/pass.png'],
      ['Ferry poster', `data:image/svg+xml;base64,${svg}`],
    ]) {
      const metadata = JSON.stringify({ name, description: 'One way', image: source, attributes });
      await post('/v1/items', { genesis_hash_spec: 'Create', item_amount: 1, metadata });
    }
    await until('all to be found', async () => {
      const { found } = (await read('/v1/chain/search?q=ferry')) as { found: unknown[] };
      return found.length === 3 || undefined;
    });
    for (const way of WAYS_TAKEN) {
      const { page } = await open('/', { context: WAYS[way] });
      await searchFor(page, 'ferry', 'Search', way);
      await page.locator('.results').getByText('Ferry pass').waitFor();
      await searchFor(page, 'FERRY tick', 'g', way);
      const about = page.getByRole('region', { name: 'About the item' });
      await about.getByText('Ferry ticket <b>', { exact: true }).waitFor();
      const width = () => page.evaluate("document.querySelector('.item-image')?.naturalWidth");
      await until('the image to be there', async () => (await width()) === 1 || undefined);
      await about.getByText('Seat', { exact: true }).waitFor();
      await press(about.locator('summary', { hasText: 'Raw text' }), way);
      await about.getByText('"trait_type"').waitFor();
      await press(page.getByRole('link', { name: /^Transfers/ }), way);
      await page.getByRole('table', { name: /transfers/i }).waitFor();
      expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
      expect(await axeFindings(page)).toEqual([]);
      await searchFor(page, 'ferry pass', 'g', way);
      await about.getByRole('link', { name: 'Open the image at stranger.example' }).waitFor();
      expect(await about.locator('img').count()).toBe(0);
      // Few characters of SVG keep a browser busy for long.
      await searchFor(page, 'ferry poster', 'g', way);
      await about.getByText('Ferry poster', { exact: true }).waitFor();
      expect(await about.locator('img').count()).toBe(0);
    }
  });

  it('shows an address that turns around as what it is: the chain takes any text for one', async () => {
    // 64 bytes, which would read as the first account of the dev network, but for its last characters.
    const address = `\u202e${[...ADDRESS].slice(0, 61).reverse().join('')}`;
    const { page } = await open(`/addresses/${encodeURIComponent(address)}`);
    expect(await heading(page).innerText()).toContain('U+202E');
    expect(await page.title()).toContain('Address U+202E');
    expect(await page.content()).not.toContain('\u202e');
  });

  it('is usable by everyone: on a phone, in both colours, by what axe-core can tell', async () => {
    const pages = [
      '/',
      '/blocks',
      '/blocks/1',
      `/transactions/${facts.payment}`,
      `/addresses/${ADDRESS}`,
      `/addresses/${ADDRESS}?show=outputs`,
      `/items/${facts.item}?show=transfers`,
      '/mempool',
      '/charts',
      '/richest',
      '/network',
      '/status',
      '/faucet',
      '/search?q=zzzzzz',
    ];
    const { page } = await open('/', {
      context: { colorScheme: 'light', reducedMotion: 'reduce', viewport: { width: 360, height: 740 } },
    });
    for (const path of pages) {
      // Without loading the document again: axe-core is large.
      await page.evaluate(
        `history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`,
      );
      await heading(page).waitFor();
      await until(`${path} to be there`, async () => (await page.locator('.loading').count()) === 0 || undefined);
      expect(await sidewaysScroll(page), path).toBeLessThanOrEqual(0);
      expect(await axeFindings(page), path).toEqual([]);
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.setViewportSize({ width: 1_280, height: 740 });
      expect(await sidewaysScroll(page), path).toBeLessThanOrEqual(0);
      expect(await axeFindings(page, ['color-contrast']), path).toEqual([]);
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize({ width: 360, height: 740 });
    }
  });

  it('has a faucet on a dev network', async () => {
    const { page } = await open('/faucet');
    await page.getByLabel('Address', { exact: true }).fill(ADDRESS);
    await page.getByLabel('Tokens', { exact: true }).fill('0.5');
    await page.getByText('36,036,000 raw').waitFor();
    await page.getByRole('button', { name: 'Pay' }).click();
    await page.getByRole('region', { name: 'Tokens for any address' }).locator('a[href^="/transactions/g"]').waitFor();
    await page.getByRole('button', { name: 'Make a block' }).click();
    await page.getByRole('region', { name: 'Blocks on request' }).locator('a[href^="/blocks/"]').waitFor();
  });

  it('says what to switch on where there is no index', async () => {
    const { page } = await open('/network');
    await page.route('**/v1/chain/index', (route) =>
      route.fulfill({
        contentType: 'application/json',
        body: '{"state":"off","block_num":null,"blocks":3,"problem":null}',
      }),
    );
    await page.goto(`${origin}/addresses/${ADDRESS}`);
    await page.getByText('storage.index = true').waitFor();
    await page.goto(`${origin}/transactions/${facts.payment}`);
    await page.locator('data[value="72072001"]').first().waitFor();
    await page.goto(`${origin}/blocks/1`);
    await page.getByRole('table', { name: 'Transactions of the block' }).locator('a').first().waitFor();
  });

  it('waits for a node that is restarted, and goes on by itself', async () => {
    const { page } = await open('/');
    await page.getByRole('region', { name: 'Blocks', exact: true }).getByRole('listitem').first().waitFor();
    const port = Number(new URL(origin).port);
    await network.stop();
    await page.getByText('Disconnected.').waitFor();
    network = await start(port);
    await page.getByText('Disconnected.').waitFor({ state: 'detached' });
    const hash = await pay(7);
    await page.getByRole('region', { name: 'Transactions' }).locator(`a[href="/transactions/${hash}"]`).waitFor();
  });
});
