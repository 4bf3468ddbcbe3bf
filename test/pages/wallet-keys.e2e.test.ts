/**
 * The wallet page of a node that asks for API keys, over TLS and under a name that is not this machine's: who may do what, what
 * the browser keeps, and what becomes of a payment when answer, key and page are lost and the node is restarted.
 */

import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { IN_CODE } from '../../src/config/sources.js';
import { DevNetwork } from '../../src/node/dev-network.js';
import {
  axeFindings,
  HAS_BROWSER,
  LOOK,
  press,
  sidewaysScroll,
  type,
  WAYS,
  type Way,
  watchedPage,
} from '../support/browser.js';
import { NODE_CERT, NODE_TLS_KEY } from '../support/certificates.js';
import { freePort } from '../support/free-port.js';
import { silentLogger } from '../support/silent-logger.js';
import { findTool } from '../support/tools.js';
import { goTo, PAYEE, review } from '../support/wallet-page.js';

const KEY = 'a-key-for-everything-0123456789';
const NEXT_KEY = 'the-key-after-that-0123456789';
const READ_KEY = 'a-key-that-only-reads-0123456789';
const PASSPHRASE = 'correct horse battery staple';

let folder: string;
let network: DevNetwork;
/** `https://wallet.example:port` */
let origin: string;
let context: BrowserContext;
/** A page of somebody else. */
let stranger: Server;

async function start(keys: readonly object[], port: number): Promise<DevNetwork> {
  const options = {
    'wallet.passphrase': PASSPHRASE,
    'api.auth': 'keys',
    'api.keys': keys,
    'api.tls.cert_file': join(folder, 'cert.pem'),
    'api.tls.key_file': join(folder, 'key.pem'),
  };
  const flags = Object.entries(options).map(([option, value]) => ({ option, value, flag: IN_CODE }));
  const started = new DevNetwork(
    { dataDir: join(folder, 'data'), ports: 'any', port, haveNodesAddresses: false, flags },
    { logger: silentLogger },
  );
  await started.start();
  return started;
}

const READER = { name: 'reader', key: READ_KEY, permissions: ['read'] };

/** Stops the network, waits until the page has seen it, and starts it with this key at the same port. */
async function restart(key: string, page: Page): Promise<void> {
  const port = Number(new URL(network.url ?? '').port);
  await network.stop();
  await page.getByText('Disconnected.').waitFor();
  network = await start([{ name: 'owner', key }, READER], port);
}

/** A page of the wallet before it has a key; whatever it did that it must not is seen at the end of the test. */
async function open(path = '/wallet'): Promise<Page> {
  const { page, faults, elsewhere } = await watchedPage(context, origin);
  onTestFinished(async () => {
    await page.close();
    expect(faults).toEqual([]);
    expect(elsewhere).toEqual([]);
  });
  await page.goto(`${origin}${path}`);
  return page;
}

async function enter(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key of this node').fill(key);
  await page.getByRole('button', { name: 'Open the wallet' }).click();
}

/** As the page itself asks. */
async function ask<T>(page: Page, path: string, body?: object, own: Readonly<Record<string, string>> = {}): Promise<T> {
  const headers = { 'x-api-key': KEY, ...own, ...(body && { 'content-type': 'application/json' }) };
  const init = { method: body === undefined ? 'GET' : 'POST', headers, ...(body && { body: JSON.stringify(body) }) };
  return page.evaluate<T>(`fetch(${JSON.stringify(path)}, ${JSON.stringify(init)}).then((answer) => answer.json())`);
}

async function paymentsOf(page: Page, amount: number, key = KEY): Promise<number> {
  const path = '/v1/wallet/movements?limit=200';
  const { movements } = await ask<{ movements: { amount: number; direction: string }[] }>(page, path, undefined, {
    'x-api-key': key,
  });
  return movements.filter((movement) => movement.amount === amount && movement.direction === 'out').length;
}

async function confirmPayment(page: Page, button = 'Pay now', way: Way = 'mouse'): Promise<void> {
  await type(page.getByLabel('Passphrase of the wallet'), PASSPHRASE, way);
  await press(page.getByRole('button', { name: button }), way);
}

describe.runIf(HAS_BROWSER)('the wallet page with API keys, over TLS', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tessera-wallet-keys-'));
    await mkdir(join(folder, 'data'));
    await writeFile(join(folder, 'cert.pem'), NODE_CERT);
    await writeFile(join(folder, 'key.pem'), NODE_TLS_KEY, { mode: 0o600 });
    const spki = new X509Certificate(NODE_CERT).publicKey.export({ type: 'spki', format: 'der' });
    stranger = createServer((_request, answer) => {
      answer.setHeader('content-type', 'text/html').end('<!doctype html><title>stranger</title>');
    });
    // A profile on the disk, as that of an owner: what the browser writes to it can be read.
    await once(stranger.listen(0, '127.0.0.1'), 'listening');
    [network, context] = await Promise.all([
      start([{ name: 'owner', key: KEY }, READER], await freePort()),
      chromium.launchPersistentContext(join(folder, 'profile'), {
        executablePath: findTool('chromium') ?? '',
        locale: 'en-US',
        viewport: { width: 1_280, height: 900 },
        ...LOOK,
        args: [
          '--no-sandbox',
          '--host-resolver-rules=MAP wallet.example 127.0.0.1, MAP stranger.example 127.0.0.1',
          // This certificate and no other: it is what an owner does who has made it.
          `--ignore-certificate-errors-spki-list=${createHash('sha256').update(spki).digest('base64')}`,
        ],
      }),
    ]);
    origin = `https://wallet.example:${new URL(network.url ?? '').port}`;
  });

  afterAll(async () => {
    await context?.close();
    await network?.stop();
    stranger?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('asks for the API key once, says why it refuses one, and keeps it in memory', async () => {
    const page = await open();
    await enter(page, 'a-key-of-another-node');
    await page.getByText('The x-api-key is not a key of this node').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    // What was asked after that has not taken the words away.
    await page.waitForLoadState('networkidle');
    expect(await page.getByRole('alert').innerText()).toContain('The x-api-key is not a key of this node');
    await enter(page, KEY);
    await page.getByText('Latest payments').waitFor();
    for (const name of ['History', 'Receive', 'Security']) {
      await page.getByRole('navigation').getByRole('link', { name }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
    }
    const kept = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, name])';
    expect(await page.evaluate(kept)).not.toContain(KEY);
    expect(JSON.stringify(await context.storageState({ indexedDB: true }))).not.toContain(KEY);
    // The explorer opens beside it, because the key would be gone with this page.
    const [beside] = await Promise.all([
      context.waitForEvent('page'),
      page.getByRole('navigation').getByRole('link', { name: 'Explorer' }).click(),
    ]);
    await beside.getByRole('heading', { level: 1 }).waitFor();
    expect(await beside.evaluate('[opener, document.referrer]')).toEqual([null, '']);
    await beside.goto(`${origin}/wallet`);
    await beside.getByLabel('API key of this node').waitFor();
    await beside.close();
    await page.getByRole('button', { name: 'Forget the API key now' }).click();
    await page.getByLabel('API key of this node').waitFor();
    await enter(page, KEY);
    await page.getByRole('heading', { level: 1, name: 'Security' }).waitFor();
    await page.reload();
    await page.getByLabel('API key of this node').waitFor();
  });

  it('lets a key that only reads look at everything and pay nothing, and says what it needs', async () => {
    const page = await open('/wallet/pay');
    await enter(page, READ_KEY);
    await review(page, '77', 'raw units');
    await confirmPayment(page);
    await page.getByText('Nothing was done.').waitFor();
    await page.getByText('The API key of this page needs the permission pay for it.').waitFor();
    // It is a key all the same: the wallet stays open.
    await page.getByRole('navigation').getByRole('link', { name: 'History' }).click();
    await page.getByRole('table', { name: 'History of the wallet' }).waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Security' }).click();
    await page.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
    await page.getByRole('button', { name: 'Save the backup file' }).click();
    await page.getByText('does not cover this route').waitFor();
    expect(await paymentsOf(page, 77)).toBe(0);
  });

  it('pays from another machine, with the passphrase, and copies what is shown', async () => {
    const page = await open('/wallet/pay');
    await enter(page, KEY);
    await review(page, '1.5', 'tokens');
    expect(await page.evaluate('isSecureContext')).toBe(true);
    expect(await page.getByText('This connection is not encrypted').count()).toBe(0);
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin });
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(PAYEE);
    await page.getByLabel('Passphrase of the wallet').fill('wrong');
    await page.getByRole('button', { name: 'Pay now' }).click();
    await page.getByText('Nothing was done.').waitFor();
    await confirmPayment(page);
    await page.getByText('Confirmed', { exact: true }).first().waitFor();
    expect(await paymentsOf(page, 108_108_000)).toBe(1);
  });

  it('goes on by itself after a restart of the node, with the key that it has', async () => {
    const page = await open('/wallet/history');
    await enter(page, KEY);
    const history = page.getByRole('table', { name: 'History of the wallet' });
    await history.waitFor();
    await restart(KEY, page);
    await page.getByText('Disconnected.').waitFor({ state: 'detached' });
    const body = { kind: 'address', address: PAYEE, amount: 31, passphrase: PASSPHRASE };
    const { tx_hash } = await ask<{ tx_hash: string }>(page, '/v1/payments', body);
    const row = history.getByRole('row').filter({ has: page.locator(`a[href="/transactions/${tx_hash}"]`) });
    await row.getByText('Confirmed').waitFor();
  });

  it('pays once when the answer is lost, the key is taken away, and the page is loaded again', async () => {
    const page = await open('/wallet/pay');
    await enter(page, KEY);
    await page.route('**/v1/payments', (route) => route.abort());
    await review(page, '4242', 'raw units');
    await confirmPayment(page);
    await page.getByText('No answer yet.').waitFor();
    await restart(NEXT_KEY, page);
    await page.getByLabel('API key of this node').waitFor();
    await page.reload();
    await page.unrouteAll({ behavior: 'wait' });
    await enter(page, NEXT_KEY);
    const unanswered = page.getByText('A payment has no answer');
    await unanswered.waitFor();
    await page.getByText(PAYEE, { exact: true }).waitFor();
    await page.getByText('The history of this node does not have it so far.').waitFor();
    expect(await page.locator('main').innerText()).not.toMatch(/“/);
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
    expect(await axeFindings(page)).toEqual([]);
    await page.setViewportSize({ width: 1_280, height: 900 });
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).not.toContain(PASSPHRASE);
    // Whoever pays the same anew is given the same request.
    await goTo(page, '/wallet/pay');
    await review(page, '4242', 'raw units');
    await unanswered.waitFor({ state: 'detached' });
    await confirmPayment(page, 'Ask again');
    await page.getByText('Confirmed', { exact: true }).first().waitFor();
    expect(await paymentsOf(page, 4_242, NEXT_KEY)).toBe(1);
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });

  it('says that it is paid when the history of the node has the payment whose answer was lost', async () => {
    const page = await open('/wallet/pay');
    await page.setViewportSize(WAYS.keyboard.viewport);
    await page.emulateMedia({ colorScheme: 'dark' });
    await enter(page, NEXT_KEY);
    const other = await open('/wallet');
    await page.route('**/v1/payments', async (route) => {
      // The node has paid, and nobody hears of it.
      const { 'idempotency-key': key = '' } = route.request().headers();
      const own = { 'idempotency-key': key, 'x-api-key': NEXT_KEY };
      await ask(other, '/v1/payments', route.request().postDataJSON(), own);
      await route.abort();
    });
    // While it is shown the page says it at once; what it has sent is repeated no more.
    await review(page, '4243', 'raw units', PAYEE, 'keyboard');
    await confirmPayment(page, 'Pay now', 'keyboard');
    await page.getByText('The node has accepted it').waitFor();
    await page.getByText('Confirmed', { exact: true }).first().waitFor();
    // Also after the page was loaded again, without passphrase.
    await press(page.getByRole('button', { name: 'Another payment' }), 'keyboard');
    await page.route('**/v1/wallet/movements?*idempotency_key*', (route) => route.abort());
    await review(page, '4244', 'raw units', PAYEE, 'keyboard');
    await confirmPayment(page, 'Pay now', 'keyboard');
    await page.getByText('No answer yet.').waitFor();
    await page.reload();
    await enter(page, NEXT_KEY);
    await page.getByText('A payment has no answer').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    const paid = page.getByRole('status').filter({ has: page.getByText('Paid', { exact: true }) });
    await paid.getByText('The history of this node has it:').waitFor();
    await paid.locator('a[href^="/transactions/g"]').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
    await press(page.getByRole('button', { name: 'Close' }), 'keyboard');
    for (const amount of [4_243, 4_244]) expect(await paymentsOf(page, amount, NEXT_KEY)).toBe(1);
    await other.close();
  });

  it('gives nothing to the pages of others', async () => {
    const wallet = await open();
    await enter(wallet, NEXT_KEY);
    await wallet.getByText('Latest payments').waitFor();
    const page = await context.newPage();
    onTestFinished(() => page.close());
    await page.goto(`http://stranger.example:${(stranger.address() as AddressInfo).port}/`);
    const payment = JSON.stringify({ kind: 'address', address: PAYEE, amount: 666, passphrase: '' });
    const seen = await page.evaluate(`(async () => {
      const send = (init) => fetch('${origin}/v1/payments', { method: 'POST', body: ${JSON.stringify(payment)}, ...init })
        .then(({ type, status }) => type + status, () => 'refused');
      const frame = document.createElement('iframe');
      frame.src = '${origin}/wallet';
      document.body.append(frame);
      await new Promise((resolve) => { frame.onload = resolve; });
      const form = document.createElement('form');
      Object.assign(form, { method: 'post', enctype: 'text/plain', action: '${origin}/v1/payments', target: 'nowhere' });
      const field = document.createElement('input');
      Object.assign(field, { name: ${JSON.stringify(payment.slice(0, -1))} + ',"x":"', value: '"}' });
      form.append(field);
      document.body.append(form);
      form.submit();
      const taken = window.open('${origin}/wallet');
      return [
        await send({ mode: 'no-cors', credentials: 'include' }),
        await send({ headers: { 'content-type': 'application/json' } }),
        await fetch('${origin}/v1/wallet/movements', { credentials: 'include' }).then(({ status }) => status, () => 'refused'),
        frame.contentDocument,
        typeof taken,
      ];
    })()`);
    expect(seen).toEqual(['opaque0', expect.stringMatching(/refused|cors401/), expect.anything(), null, 'object']);
    expect(await paymentsOf(wallet, 666, NEXT_KEY)).toBe(0);
  });

  it('leaves neither key nor passphrase in the files of the browser', async () => {
    await context.close();
    const files = await readdir(join(folder, 'profile'), { recursive: true, withFileTypes: true });
    const found: string[] = [];
    for (const file of files.filter((one) => one.isFile())) {
      const bytes = await readFile(join(file.parentPath, file.name));
      for (const secret of [KEY, NEXT_KEY, READ_KEY, PASSPHRASE]) {
        if (bytes.includes(secret) || bytes.includes(Buffer.from(secret, 'utf16le')))
          found.push(`${file.name}: ${secret}`);
      }
    }
    expect(files.length).toBeGreaterThan(10);
    expect(found).toEqual([]);
  });
});
