/**
 * `npm run screenshots [-- DIR]`: pictures of every page into docs/img, from a dev network that is started for it. Needs
 * Chromium (CHROMIUM_PATH).
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { DevNetwork } from '../src/node/dev-network.js';
import { NodeLogger } from '../src/observability/logger.js';
import { findTool } from '../test/support/tools.js';

const DOCS_IMG = fileURLToPath(new URL('../docs/img/', import.meta.url));
const DESK = { width: 1_120, height: 700 };
const PHONE = { width: 375, height: 700 };
const DISPLAY_UNIT = 72_072_000;
const PAYMENTS = 24;
const LOOK_MS = 50;
/** Until fonts, plots and the last answers are there. */
const REST_MS = 800;
/** A busy machine takes its time. */
const WAIT_MS = 120_000;
const SAMPLE_METADATA = '{"name": "Apse of San Vitale", "tesserae": 1200, "material": "smalti"}';

interface Shot {
  readonly name: string;
  readonly path: string;
  readonly isDark?: boolean;
  readonly isPhone?: boolean;
  readonly prepare?: (page: Page) => Promise<void>;
}

/** What there is to be seen. */
interface Facts {
  readonly address: string;
  readonly payment: string;
  readonly item: string;
  readonly height: number;
}

function shots({ address, payment, item, height }: Facts): readonly Shot[] {
  const openScript = (page: Page) =>
    page
      .getByText(/^Script, /)
      .first()
      .click();
  return [
    { name: 'explorer-overview', path: '/' },
    { name: 'explorer-overview-dark', path: '/', isDark: true },
    { name: 'explorer-overview-phone', path: '/', isPhone: true },
    { name: 'explorer-blocks', path: '/blocks' },
    { name: 'explorer-block', path: `/blocks/${height}` },
    { name: 'explorer-transaction', path: `/transactions/${payment}`, prepare: openScript },
    { name: 'explorer-address', path: `/addresses/${address}` },
    { name: 'explorer-item', path: `/items/${item}`, isDark: true },
    { name: 'explorer-search', path: `/search?q=${item}` },
    { name: 'explorer-charts', path: '/charts' },
    { name: 'explorer-richest', path: '/richest' },
    { name: 'explorer-status', path: '/status', isPhone: true },
    { name: 'explorer-network', path: '/network' },
    { name: 'explorer-faucet', path: '/faucet' },
    { name: 'wallet', path: '/wallet' },
    { name: 'wallet-phone', path: '/wallet', isPhone: true },
    { name: 'wallet-pay', path: '/wallet/pay', prepare: (page) => reviewPayment(page, address) },
    { name: 'wallet-unanswered', path: '/wallet', prepare: (page) => loseAnswer(page, address) },
    { name: 'wallet-receive', path: '/wallet/receive', prepare: makeAddress },
    { name: 'wallet-history', path: '/wallet/history', isDark: true },
    { name: 'wallet-items', path: '/wallet/items' },
    { name: 'wallet-trades', path: '/wallet/trades' },
    { name: 'wallet-donations', path: '/wallet/donations' },
    { name: 'wallet-safety', path: '/wallet/safety' },
  ];
}

const executablePath = findTool('chromium');
if (executablePath === undefined) {
  console.error('Chromium is not installed: apt-get install chromium-headless-shell, or set CHROMIUM_PATH');
  process.exit(1);
}
const target = resolve(process.argv[2] ?? DOCS_IMG);
const dataDir = await mkdtemp(join(tmpdir(), 'tessera-screenshots-'));
const network = new DevNetwork(
  { dataDir, ports: 'any' },
  { logger: NodeLogger.create({ level: 'error', format: 'json' }) },
);
try {
  await network.start();
  const origin = network.url ?? '';
  const facts = await fill(origin);
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  for (const shot of shots(facts)) await take(browser, origin, shot);
  await browser.close();
} finally {
  await network.stop();
  await rm(dataDir, { recursive: true, force: true });
}
process.exit(0);

async function take(browser: Browser, origin: string, { name, path, isDark, isPhone, prepare }: Shot): Promise<void> {
  const context = await browser.newContext({
    viewport: isPhone ? PHONE : DESK,
    colorScheme: isDark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  await page.goto(`${origin}${path}`);
  await page.locator('main h1').waitFor();
  await prepare?.(page);
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  await page.waitForTimeout(REST_MS);
  await page.screenshot({ path: join(target, `${name}.png`) });
  console.log(`${name}.png`);
  await context.close();
}

/** The confirmation of a payment. */
async function reviewPayment(page: Page, address: string): Promise<void> {
  await page.getByLabel('To', { exact: true }).fill(address);
  await page.getByLabel('Amount', { exact: true }).fill('12.5');
  await page.getByRole('button', { name: 'Review' }).click();
  await page.getByRole('heading', { name: 'Is this right?' }).waitFor();
}

/** A payment of which this tab has no answer. */
async function loseAnswer(page: Page, address: string): Promise<void> {
  const body = { kind: 'address', address, amount: 12 * DISPLAY_UNIT };
  const order = { path: '/v1/payments', body, idempotencyKey: '0'.repeat(32), madeAt: Date.now() };
  const text = JSON.stringify(JSON.stringify([order]));
  await page.evaluate(`sessionStorage.setItem('tessera-open-orders', ${text})`);
  await page.reload();
  await page.getByText('A payment has no answer').waitFor();
}

async function makeAddress(page: Page): Promise<void> {
  await page.getByLabel('Label, for yourself').fill('Rent, December');
  await page.getByRole('button', { name: 'New address' }).click();
  await page.getByRole('img', { name: 'QR code of the address' }).waitFor();
}

/** Payments of many sizes, and an item. */
async function fill(origin: string): Promise<Facts> {
  const address = network.accounts.accounts[0]?.address ?? '';
  await post(origin, '/v1/items', { genesis_hash_spec: 'Create', item_amount: 5, metadata: SAMPLE_METADATA });
  let payment = '';
  for (let count = 1; count <= PAYMENTS; count++) {
    const order = { kind: 'address', address, amount: count * DISPLAY_UNIT + count ** 5, passphrase: '' };
    payment = String((await post(origin, '/v1/payments', order)).tx_hash);
    // Every third waits, so that blocks are of different sizes.
    if (count % 3 === 0) await inBlock(origin, payment);
  }
  await inBlock(origin, payment);
  const { blocks } = await read<{ blocks: { block_num: number }[] }>(origin, '/v1/chain/blocks?limit=100');
  for (const { block_num } of [...blocks].reverse()) {
    const { transactions } = await read<{ transactions: { kind: string; tx_hash: string }[] }>(
      origin,
      `/v1/chain/blocks/${block_num}/transactions`,
    );
    const item = transactions.find(({ kind }) => kind === 'creation')?.tx_hash;
    if (item !== undefined) return { address, payment, item, height: blocks[0]?.block_num ?? 0 };
  }
  throw new Error('the item is in no block');
}

async function post(origin: string, path: string, body: object): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path} answers ${response.status}: ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}

async function read<T>(origin: string, path: string): Promise<T> {
  return (await (await fetch(`${origin}${path}`)).json()) as T;
}

async function inBlock(origin: string, hash: string): Promise<void> {
  while (!(await fetch(`${origin}/v1/chain/transactions/${hash}`)).ok) {
    await new Promise((resolve_) => setTimeout(resolve_, LOOK_MS));
  }
}
