/** The wallet page in a real browser, against a dev network in this process. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Locator, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressOf } from '../../src/chain/address.js';
import { generateKeyPair } from '../../src/crypto/ed25519.js';
import { toHex } from '../../src/lib/bytes.js';
import { systemRandom } from '../../src/lib/random.js';
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
} from '../support/browser.js';
import { until } from '../support/processes.js';
import { silentLogger } from '../support/silent-logger.js';
import { goTo, PAYEE, review } from '../support/wallet-page.js';

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script> \u202Eevil\u202C';

interface Movement {
  readonly amount: number;
  readonly direction: string;
  readonly state: string;
}

let dataDir: string;
let network: DevNetwork;
let origin: string;
let browser: Browser;

const open = (path: string, options?: PageOptions) => openPage(browser, `${origin}${path}`, options);

async function movementsOf(amount: number): Promise<readonly Movement[]> {
  const answer = await fetch(`${origin}/v1/wallet/movements?limit=200`);
  const { movements } = (await answer.json()) as { movements: readonly Movement[] };
  return movements.filter((movement) => movement.amount === amount && movement.direction === 'out');
}

/** Makes an item in the wallet; its name once it can be spent. */
async function heldItem(): Promise<string> {
  const itemsOf = async () => {
    const answer = await fetch(`${origin}/v1/wallet/items`);
    return ((await answer.json()) as { items: readonly { genesis_hash: string; available: number }[] }).items;
  };
  const known = new Set((await itemsOf()).map(({ genesis_hash }) => genesis_hash));
  await fetch(`${origin}/v1/items`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ genesis_hash_spec: 'Create', item_amount: 1, metadata: 'to be traded' }),
  });
  return until('the item to be held', async () => {
    const found = (await itemsOf()).find(({ genesis_hash, available }) => !known.has(genesis_hash) && available === 1);
    return found?.genesis_hash;
  });
}

describe.runIf(HAS_BROWSER)('the wallet page', () => {
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'tessera-wallet-page-'));
    network = new DevNetwork({ dataDir, ports: 'any' }, { logger: silentLogger });
    [browser] = await Promise.all([launchBrowser(), network.start()]);
    origin = network.url ?? '';
  });

  afterAll(async () => {
    await browser?.close();
    await network?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  it('pays, with a confirmation, and the explorer sees it confirmed as it happens', async () => {
    const explorer = await open('/');
    await explorer.page.getByRole('region', { name: 'Blocks', exact: true }).waitFor();
    const { page } = await open('/wallet/pay');
    await review(page, '1.5', 'tokens');
    const confirm = page.getByRole('region', { name: 'Is this right?' });
    await confirm.getByText(PAYEE, { exact: true }).waitFor();
    await confirm.getByText('108,108,000 raw', { exact: true }).waitFor();
    expect(await movementsOf(108_108_000)).toEqual([]);
    await confirm.getByRole('button', { name: 'Pay now' }).click();
    const link = page.locator('main a[href^="/transactions/g"]').first();
    const path = (await link.getAttribute('href')) ?? '';
    await page.getByText('Confirmed', { exact: true }).first().waitFor();
    await explorer.page.getByRole('region', { name: 'Transactions' }).locator(`a[href="${path}"]`).waitFor();

    await page.getByRole('navigation').getByRole('link', { name: 'History' }).click();
    const history = page.getByRole('table', { name: 'History of the wallet' });
    await history.locator(`a[href="${path}"]`).waitFor();
    // What somebody else pays shows up by itself.
    const other = { kind: 'address', address: PAYEE, amount: 7_777, passphrase: '' };
    const answer = await fetch(`${origin}/v1/payments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(other),
    });
    const { tx_hash } = (await answer.json()) as { tx_hash: string };
    const row = history.getByRole('row').filter({ has: page.locator(`a[href="/transactions/${tx_hash}"]`) });
    await row.getByText('Confirmed').waitFor();
  });

  it.each(WAYS_TAKEN)(
    'takes a request for a payment, and keeps a note and the name of the payee, by %s',
    async (way) => {
      const { page } = await open('/wallet/receive', { context: WAYS[way] });
      const button = (name: string | RegExp) => page.getByRole('button', { name });
      const amount = way === 'mouse' ? 36_036_001 : 36_036_002;
      // An address is there at once.
      await page.getByRole('img', { name: 'QR code of the address' }).waitFor();
      await type(page.getByLabel('Amount', { exact: true }), '0.5', way);
      await type(page.getByLabel('For what, as the payer sees it'), 'Rent & water', way);
      expect(await page.locator('.request-uri code').innerText()).toMatch(
        /^tessera:[0-9a-f]{64}\?amount=36036000&label=Rent%20%26%20water$/,
      );
      expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
      expect(await axeFindings(page)).toEqual([]);
      await press(page.getByRole('navigation').getByRole('link', { name: 'Pay' }), way);
      await type(
        page.getByLabel('To', { exact: true }),
        `tessera:${PAYEE}?amount=${amount}&label=Rent%20%26%20water`,
        way,
      );
      expect(await page.getByLabel('To', { exact: true }).inputValue()).toBe(PAYEE);
      expect(await page.getByLabel('Note, for yourself').inputValue()).toBe('Rent & water');
      await type(page.getByLabel('Name of the payee, for the address book'), 'Landlord', way);
      await press(button('Review'), way);
      await press(button('Pay now'), way);
      await page.getByText('The payee is in the address book.').waitFor();
      await press(button('Another payment'), way);

      const book = page.getByRole('region', { name: 'Address book' });
      await press(button('Rename Landlord'), way);
      await type(page.getByLabel('Name in the address book'), 'Landlady <b>', way);
      await press(button(/^Save$/), way);
      await book.locator('.line-main').getByText('Landlady <b>', { exact: true }).waitFor();
      await press(button(/^Pay Landlady/), way);
      await page.locator('#payee-hint').getByText('Landlady').waitFor();
      expect(await page.getByLabel('To', { exact: true }).inputValue()).toBe(PAYEE);
      expect(await page.evaluate('document.activeElement.id')).toBe('amount');
      expect(await axeFindings(page)).toEqual([]);
      expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);

      await press(page.getByRole('navigation').getByRole('link', { name: 'Wallet' }), way);
      await page.getByRole('region', { name: 'Latest payments' }).getByText('Landlady <b>').first().waitFor();
      await press(page.getByRole('navigation').getByRole('link', { name: 'History' }), way);
      await page.getByLabel('Direction').selectOption('out');
      const history = page.getByRole('table', { name: 'History of the wallet' });
      const paid = history.getByRole('row').filter({ hasText: 'Rent & water' }).first();
      await paid.getByText('Landlady <b>', { exact: true }).waitFor();
      // The address is under the name.
      expect(await paid.getByTitle(PAYEE, { exact: true }).innerText()).toBe('Landlady <b>');
      const download = page.waitForEvent('download');
      await press(button('Save as CSV'), way);
      const file = await readFile(await (await download).path(), 'utf8');
      expect(file).toContain(`,-${amount},`);
      expect(file).toContain(`,Rent & water,Landlady <b>,`);
      await press(history.getByRole('button', { name: /^Note/ }).first(), way);
      await type(page.getByLabel('Note, for yourself'), `Heating by ${way}`, way);
      await press(button(/^Save$/), way);
      await history.getByText(`Heating by ${way}`).first().waitFor();
      expect(await axeFindings(page)).toEqual([]);
      expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
      await page.getByLabel('State').selectOption('rejected');
      await page.getByText('None.', { exact: true }).waitFor();

      await press(page.getByRole('navigation').getByRole('link', { name: 'Pay' }), way);
      await press(button(/^Rename Landlady/), way);
      await type(page.getByLabel('Name in the address book'), ' ', way);
      await press(button(/^Save$/), way);
      await book.waitFor({ state: 'detached' });
    },
  );

  it('tells what arrives, if the owner asks for it', async () => {
    const { page } = await open('/wallet', {
      context: { permissions: ['notifications'], ...WAYS.keyboard },
      prepare: (fresh) =>
        fresh.addInitScript(
          "window.told = []; window.Notification = class { static requestPermission() { return Promise.resolve('granted'); } constructor(_, { body }) { told.push(body); } };",
        ),
    });
    await press(page.getByRole('button', { name: 'Tell me when something arrives' }), 'keyboard');
    await page.getByRole('button', { name: 'Telling what arrives' }).waitFor();
    const { address } = await (await fetch(`${origin}/v1/wallet/addresses`, { method: 'POST' })).json();
    const order = { kind: 'address', address, amount: 144_144_000, passphrase: '' };
    const headers = { 'content-type': 'application/json' };
    // What arrives before the page has read its history once is not told.
    await until('the browser to tell it', async () => {
      await fetch(`${network.urls.miner}/v1/payments`, { method: 'POST', headers, body: JSON.stringify(order) });
      return (await page.evaluate("told.includes('2 tokens have arrived')")) || undefined;
    });
    await page.setViewportSize(WAYS.mouse.viewport);
    await page.emulateMedia({ colorScheme: 'light' });
    await press(page.getByRole('button', { name: 'Telling what arrives' }), 'mouse');
    await page.getByRole('button', { name: 'Tell me when something arrives' }).waitFor();
  });

  it('keeps the focus in the page after a payment by keyboard', async () => {
    const { page } = await open('/wallet/pay', { context: WAYS.keyboard });
    await review(page, '17', 'raw units', PAYEE, 'keyboard');
    const focused = page.locator('main:focus, main :focus');
    await press(page.getByRole('button', { name: 'Pay now' }), 'keyboard');
    await page.getByText('Confirmed', { exact: true }).first().waitFor();
    await focused.waitFor();
    await page.keyboard.press('Tab');
    await page.getByRole('button', { name: 'Another payment' }).press('Enter');
    await page.getByLabel('To', { exact: true }).waitFor();
    await focused.waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.id')).toBe('payee');
  });

  it('pays once, however often somebody clicks and although answers are lost', async () => {
    const { page } = await open('/wallet/pay');
    let isFirst = true;
    await page.route('**/v1/payments', async (route: Route) => {
      if (!isFirst) return route.continue();
      isFirst = false;
      // The node has paid, and nobody hears of it.
      await route.fetch();
      await route.abort();
    });
    await review(page, '4242', 'raw units');
    await page.getByRole('button', { name: 'Pay now' }).dblclick();
    await page.locator('main a[href^="/transactions/g"]').first().waitFor();
    await page.getByText('Confirmed', { exact: true }).first().waitFor();
    expect(await movementsOf(4_242)).toHaveLength(1);
  });

  it.each(WAYS_TAKEN)('says what is wrong while one types, and pays all that there is, by %s', async (way) => {
    const answer = await fetch(`${origin}/v1/wallet?page=0`);
    const { available_total_tokens: available } = (await answer.json()) as { available_total_tokens: number };
    const { page } = await open('/wallet/pay', { context: WAYS[way] });
    const amount = page.getByLabel('Amount', { exact: true });
    const reviewed = page.getByRole('button', { name: 'Review' });
    await type(page.getByLabel('To', { exact: true }), 'nobody', way);
    await type(amount, '0.00000001', way);
    await page.getByText(/^Neither an address/).waitFor();
    await page.getByText('Too many decimals: it lies between 0 and 1 raw units. Three decimals always fit.').waitFor();
    await page.getByLabel('To', { exact: true }).fill(PAYEE);
    await page.getByText(/^Available:/).waitFor();
    await page.getByLabel('Unit').selectOption('raw');
    for (const [typed, words] of [
      ['0', 'The amount has to be more than 0.'],
      ['1 000', 'Write it without spaces: 1000'],
      ['1,000', 'Write it without a comma: 1000'],
      [String(available + 1_234), /^This is 1,234 raw units too much\. [\d,]+ raw units can be paid now\.$/],
    ] as const) {
      await amount.fill(typed);
      await page.locator('#amount-hint').getByText(words).waitFor();
      expect(await reviewed.isDisabled(), typed).toBe(true);
      expect(await amount.getAttribute('aria-invalid')).toBe('true');
    }
    expect(await axeFindings(page)).toEqual([]);
    expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
    await press(page.getByRole('button', { name: 'Max' }), way);
    expect(await amount.inputValue()).toBe(String(available));
    await press(reviewed, way);
    await page.getByRole('heading', { name: 'Is this right?' }).waitFor();
  });

  it('says in words what the node refuses, with numbers that can be read', async () => {
    const { page } = await open('/wallet/pay', { context: WAYS.keyboard });
    await review(page, '5', 'raw units', PAYEE, 'keyboard');
    await page.route('**/v1/payments', (route: Route) =>
      // Somebody else has paid meanwhile.
      route.continue({ postData: (route.request().postData() ?? '').replace('"amount":5', `"amount":${2n ** 62n}`) }),
    );
    await press(page.getByRole('button', { name: 'Pay now' }), 'keyboard');
    await page.getByText('Nothing was done.').waitFor();
    await page.getByText(/needs 4,611,686,018,427,387,904 raw units: available [\d,]+, /).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await press(page.getByRole('button', { name: 'Back' }), 'mouse');
    expect(await page.getByLabel('Amount', { exact: true }).inputValue()).toBe('5');
  });

  it('receives at a new address, with a label and a QR code', async () => {
    // So high that all rows are in sight.
    const { page } = await open('/wallet/receive', {
      context: { ...WAYS.keyboard, viewport: { width: 360, height: 4_000 } },
    });
    await type(page.getByLabel('Label, for yourself'), HOSTILE, 'keyboard');
    await press(page.getByRole('button', { name: 'New address' }), 'keyboard');
    await page.getByRole('img', { name: 'QR code of the address' }).waitFor();
    await page.getByText('The new address is above.').waitFor();
    const address = await page.locator('.address .hash-text').innerText();
    expect(address).toMatch(/^[0-9a-f]{64}$/);
    const labels = page.getByRole('region', { name: 'Addresses with a label' });
    await labels.getByText('<script>document.title=2</script>').first().waitFor();
    expect(await labels.locator('img, script').count()).toBe(0);
    expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
    await page.setViewportSize({ width: 1_280, height: 4_000 });
    await page.emulateMedia({ colorScheme: 'light' });
    await press(labels.getByRole('button', { name: /^Show/ }).first(), 'mouse');
    await page.locator('.address').getByText(address).waitFor();
    await goTo(page, '/wallet/pay');
    await review(page, '3', 'raw units', address);
    await page.getByRole('button', { name: 'Pay now' }).click();
    await page.getByText('Confirmed', { exact: true }).first().waitFor();
    await goTo(page, '/wallet/receive');
    await page
      .getByRole('table', { name: 'Unspent outputs of the wallet' })
      .locator(`a[href="/addresses/${address}"]`)
      .waitFor();
  });

  it('creates items, shows the text of strangers as text, and sends some', async () => {
    const { page } = await open('/wallet/items', { context: WAYS.mouse });
    await page.getByRole('button', { name: 'Create items' }).click();
    await page.getByLabel('How many').fill('3');
    await page.getByLabel('Metadata').fill(HOSTILE);
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByRole('button', { name: 'Create now' }).click();
    await page.getByRole('button', { name: 'To the items' }).click();
    const card = page.getByRole('list', { name: 'Items' }).getByRole('listitem').first();
    await card.getByText('3 ×').waitFor();
    const text = await card.locator('.safe-text').innerText();
    expect(text).toContain('<script>document.title=2</script>');
    expect(text).toContain('U+202Eevil');
    expect(await card.locator('img, script').count()).toBe(0);
    await card.getByRole('button', { name: /^Send/ }).click();
    await page.getByLabel('To', { exact: true }).fill(PAYEE);
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByRole('button', { name: 'Send now' }).click();
    await page.getByText('Confirmed', { exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'To the items' }).click();
    await card.getByText('2 ×').waitFor();

    // Once more, by keyboard.
    const { page: phone } = await open('/wallet/items', { context: WAYS.keyboard });
    const button = (name: string | RegExp) => phone.getByRole('button', { name });
    await press(button('Create items'), 'keyboard');
    await type(phone.getByLabel('How many'), '2', 'keyboard');
    await type(phone.getByLabel('Metadata'), '{"name":"Ferry ticket","attributes":{"Seat":"7 <b>"}}', 'keyboard');
    await press(button('Review'), 'keyboard');
    await press(button('Create now'), 'keyboard');
    await press(button('To the items'), 'keyboard');
    for (const gallery of [phone, page]) {
      const ticket = gallery.getByRole('listitem').filter({ hasText: 'Ferry ticket' });
      await ticket.getByText('7 <b>', { exact: true }).waitFor();
      expect(await sidewaysScroll(gallery)).toBeLessThanOrEqual(0);
      expect(await axeFindings(gallery)).toEqual([]);
    }
    await press(phone.getByRole('listitem').filter({ hasText: 'Ferry ticket' }).getByRole('button'), 'keyboard');
    await type(phone.getByLabel('To', { exact: true }), PAYEE, 'keyboard');
    await press(button('Review'), 'keyboard');
    await press(button('Send now'), 'keyboard');
    await phone.getByText('Confirmed', { exact: true }).first().waitFor();
  });

  it.each(WAYS_TAKEN)('trades with another wallet, by %s', async (by) => {
    const context = WAYS[by];
    const click = (button: Locator) => press(button, by);
    const { page: maker } = await open('/wallet/trades', { context });
    const { page: taker } = await openPage(browser, `${network.urls.miner}/wallet/trades`, { context });
    const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
    const first = (page: Page) => page.getByRole('list', { name: 'Trades' }).getByRole('listitem').first();
    /** The document that the first trade of the page has to pass on. */
    const saved = async (page: Page) => {
      const href = await first(page).getByRole('link', { name: 'Save as a file' }).getAttribute('href');
      return decodeURIComponent((href ?? '').replace('data:application/json,', ''));
    };
    const goOn = async (page: Page, document: string) => {
      await page.getByLabel('Document or link').fill(document);
      await click(button(page, 'Go on'));
    };
    const genesis = await heldItem();
    const offer = async () => {
      await maker.getByLabel('Give', { exact: true }).fill('1');
      await maker.getByLabel('Want', { exact: true }).fill('0.25');
      await maker.getByText('choose items on one side').waitFor();
      await maker.getByLabel('Unit of what you give').selectOption('items');
      await maker.getByLabel('Items you give').selectOption(genesis);
      await click(button(maker, 'Review'));
      await maker.getByText('18,018,000 raw', { exact: true }).first().waitFor();
      await click(button(maker, 'Offer now'));
      await first(maker).getByText('Open', { exact: true }).waitFor();
    };
    await offer();
    await click(button(maker, 'Take back'));
    await first(maker).getByText('Taken back', { exact: true }).waitFor();

    await offer();
    const document = await saved(maker);
    const look = taker.getByRole('region', { name: 'Look at what you were sent' });
    const given = look.locator('dt:has-text("You give") + dd').getByText('0.25 tokens');
    await taker
      .getByLabel('Or a file')
      .setInputFiles({ name: 'o.json', mimeType: 'application/json', buffer: Buffer.from(document) });
    await given.waitFor();
    await taker.goto(`${network.urls.miner}/wallet/trades#document=${encodeURIComponent(document)}`);
    await taker.reload();
    await given.waitFor();
    for (const page of [maker, taker]) {
      expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
      expect(await axeFindings(page)).toEqual([]);
    }
    await click(button(taker, 'Accept'));
    await first(taker).getByText('Accepted', { exact: true }).waitFor();
    await goOn(maker, await saved(taker));
    await first(maker).getByText('Agreed', { exact: true }).waitFor();
    await goOn(taker, await saved(maker));
    for (const page of [maker, taker]) await first(page).getByText('Done', { exact: true }).waitFor();
  });

  it('shows what nodes answered to a request for a donation, as text', async () => {
    const requests = [
      { number: 1, peer: '127.0.0.1:1', asked_at: 1_700_000_000, outcome: 'declined', reason: HOSTILE },
    ];
    const { page } = await open('/wallet/donations', {
      prepare: (opened) =>
        opened.route('**/v1/donation-requests*', (route) =>
          route.request().method() === 'GET' ? route.fulfill({ json: { requests } }) : route.fulfill({ status: 202 }),
        ),
    });
    await page.getByText('Declined').waitFor();
    await page.getByText('<script>document.title=2</script>').waitFor();
    await page.getByLabel('Node to ask').fill('127.0.0.1:12360');
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByRole('button', { name: 'Ask now' }).click();
    await page.getByText('The node has answered.').waitFor();
  });

  it('is usable by everyone: on a phone, in both colours, by what axe-core can tell', async () => {
    const { page } = await open('/wallet', {
      context: { colorScheme: 'light', reducedMotion: 'reduce', viewport: { width: 360, height: 740 } },
    });
    const judge = async (what: string): Promise<void> => {
      await page.locator('main h1').waitFor();
      await until(`${what} to be there`, async () => (await page.locator('.loading').count()) === 0 || undefined);
      expect(await sidewaysScroll(page), what).toBeLessThanOrEqual(0);
      expect(await axeFindings(page), what).toEqual([]);
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.setViewportSize({ width: 1_280, height: 740 });
      expect(await sidewaysScroll(page), what).toBeLessThanOrEqual(0);
      expect(await axeFindings(page, ['color-contrast']), what).toEqual([]);
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize({ width: 360, height: 740 });
    };
    const names = ['', '/pay', '/receive', '/history', '/items', '/trades', '/donations', '/safety', '/none'];
    for (const name of names) {
      await goTo(page, `/wallet${name}`);
      await judge(`/wallet${name}`);
    }
    await goTo(page, '/wallet/pay');
    await review(page, '1', 'tokens');
    await judge('the confirmation');
    expect(await page.evaluate('document.activeElement.id')).toBe('confirm');
  });

  it('is that of a miner node too, which has no donations and no explorer', async () => {
    const { page } = await openPage(browser, `${network.urls.miner}/`);
    await page.getByText('Latest payments').waitFor();
    const links = page.getByRole('navigation').getByRole('link');
    await links.filter({ hasText: 'History' }).click();
    const history = page.getByRole('table', { name: 'History of the wallet' });
    await history.getByText('Mining reward').first().waitFor();
    expect(await history.locator('a').count()).toBe(0);
    expect(await links.allInnerTexts()).toEqual(['Wallet', 'Pay', 'Receive', 'History', 'Items', 'Trades', 'Security']);
  });

  it('warns of an own address of version 99999 where it shows it, and before it pays there', async () => {
    const { publicKey, seed } = generateKeyPair(systemRandom);
    const address = addressOf(publicKey, 99_999);
    const pair = { public_key: toHex(publicKey), secret_key: toHex(seed), address_version: 99_999 };
    const imported = await fetch(`${origin}/v1/wallet/keypairs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ addresses: { [address]: pair } }),
    });
    expect(imported.status).toBe(201);
    for (const path of ['/wallet', '/wallet/receive']) {
      const { page } = await open(path);
      await page.getByText(`${address}: other keys have the same address`).waitFor();
    }
    const { page } = await open('/wallet/pay');
    await review(page, '1', 'tokens', address);
    const confirm = page.getByRole('region', { name: 'Is this right?' });
    await confirm.getByText(`${address}: other keys have the same address`).waitFor();
    await review((await open('/wallet/pay')).page, '1', 'tokens');
  });

  it('saves a backup file and changes the passphrase', async () => {
    const { page } = await open('/wallet/safety');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save the backup file' }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^tessera-wallet-backup-.*\.json$/);
    expect(await readFile(await download.path(), 'utf8')).toContain('tessera-wallet-backup');
    await page.getByLabel('New passphrase', { exact: true }).fill('battery staple');
    await page.getByLabel('Repeat the new passphrase').fill('battery stable');
    expect(await page.getByRole('button', { name: 'Change' }).isDisabled()).toBe(true);
    await page.getByLabel('Repeat the new passphrase').fill('battery staple');
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByText(/^Changed\./).waitFor();
    await goTo(page, '/wallet/pay');
    await review(page, '11', 'raw units');
    await page.getByRole('button', { name: 'Pay now' }).click();
    await page.getByText('Nothing was done.').waitFor();
    await page.getByLabel('Passphrase of the wallet').fill('battery staple');
    await page.getByRole('button', { name: 'Pay now' }).click();
    await page.getByText('Confirmed', { exact: true }).first().waitFor();
    expect(await movementsOf(11)).toHaveLength(1);
  });
});
