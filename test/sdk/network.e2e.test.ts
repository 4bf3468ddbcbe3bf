/**
 * The client library against a real network: the code of its page, which a reader pastes, and the example app, in the browsers of two
 * people who trade. What the app sends is looked at, request by request.
 */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Browser, chromium, type Page } from 'playwright-core';
import { build, type Rolldown } from 'vite';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { toHex } from '../../src/lib/bytes.js';
import { createClient } from '../../src/sdk/client.js';
import { exportSecretKey, HdKeys } from '../../src/sdk/wallet.js';
import { type RunningDevNetwork, startDevNetwork } from '../support/started-dev-network.js';
import { findTool } from '../support/tools.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const APP = fileURLToPath(new URL('../../examples/swap', import.meta.url));
const CHROMIUM = findTool('chromium');
/** Milliseconds for a step of a page: a busy machine must not fail what only waits. */
const STEP = 60_000;
const run = promisify(execFile);

let network: RunningDevNetwork;
/** What the compiler says of the example; it works while the other tests wait. */
let compiled: Promise<{ readonly stdout: string }>;
beforeAll(async () => {
  const compiler = fileURLToPath(new URL('../../node_modules/typescript-7/bin/tsc', import.meta.url));
  compiled = run(process.execPath, [compiler, '-p', APP], { cwd: ROOT }).catch((error) => error);
  network = await startDevNetwork();
});
afterAll(() => network.end());

/** One program of all blocks, each in a scope of its own. */
function programOf(page: string): string {
  const blocks = [...page.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code = '']) =>
    code
      .replaceAll(/^import \* as (\w+) from '([^']+)';$/gm, "const $1 = await import('$2');")
      .replaceAll(/^import (\{[^}]+\}) from '([^']+)';$/gm, "const $1 = await import('$2');"),
  );
  expect(blocks.length).toBeGreaterThan(4);
  return blocks.map((code) => `await (async () => {\n${code}\n})();`).join('\n');
}

it('the code of docs/client-library.md runs, and does what it says', async () => {
  const page = await readFile(new URL('../../docs/client-library.md', import.meta.url), 'utf8');
  const { url = '', urls } = network;
  const program = programOf(page)
    .replaceAll('http://127.0.0.1:8080', url)
    .replaceAll('http://127.0.0.1:3003', urls.mempool)
    .replaceAll('http://127.0.0.1:3001', urls.storage)
    .replaceAll('http://127.0.0.1:3000', urls.user);
  // Node.js finds the package by its own name, as whoever has installed it does.
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: ROOT });
  const hash = 'g[0-9a-f]{31}';
  const lines = [
    'paid: H',
    'paid by the node: H',
    'issued: \\d+ .* Storage node',
    'block \\d+ has \\d+ tr.*',
    '10 items: H',
  ];
  expect(stdout).toMatch(new RegExp(`^${[...lines, 'traded: H for H'].join('\n').replaceAll('H', hash)}\n$`));
  const halves = stdout.match(new RegExp(hash, 'g'))?.slice(-2) ?? [];
  const status = await createClient({ url }).queryTransactionStatus({ hashes: halves });
  expect(Object.values(status).map((one) => one.status)).toEqual(['Confirmed', 'Confirmed']);
});

describe('the example', () => {
  it.runIf(CHROMIUM !== undefined)(
    'trades items for tokens between two browsers, and no request tells a key',
    { timeout: 6 * STEP },
    async () => {
      const origin = await servedApp();
      const browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] });
      onTestFinished(() => browser.close());
      const [alice, bob] = await Promise.all([newUser(browser, origin), newUser(browser, origin)]);

      // Alice has tickets, Bob has tokens.
      await alice.page.fill('#create [name=metadata]', '<b>a ticket</b>');
      await alice.page.click('#create button');
      await alice.page.locator('#items li', { hasText: '5 × <b>a ticket</b>' }).waitFor({ timeout: STEP });
      await bob.page.click('#faucet');
      await shows(bob.page, '#tokens', '10');

      // Alice offers two of them for one and a half tokens. Documents go from page to page by hand.
      await alice.page.fill('#offer [name=give]', '2');
      await alice.page.selectOption('#offer [name=give-what]', { index: 1 });
      await alice.page.fill('#offer [name=want]', '1.5');
      await alice.page.click('#offer button');
      await tell(bob.page, await told(alice.page, 'offer'));
      await bob.page.locator('#terms-text', { hasText: 'and give 1.5 tokens' }).waitFor({ timeout: STEP });
      await bob.page.click('#agree');
      await tell(alice.page, await told(bob.page, 'acceptance'));
      await tell(bob.page, await told(alice.page, 'confirmation'));

      for (const { page } of [alice, bob]) {
        await page.locator('#log li', { hasText: 'The trade is done.' }).waitFor({ timeout: STEP });
      }
      await shows(alice.page, '#tokens', '1.5');
      await shows(bob.page, '#tokens', '8.5');
      await bob.page.locator('#items li', { hasText: '2 × <b>a ticket</b>' }).waitFor({ timeout: STEP });

      for (const { page, words, sent, faults } of [alice, bob]) {
        expect(sent.length).toBeGreaterThan(5);
        expect(sent.filter((request) => request.includes('/v1/transactions')).length).toBeGreaterThan(0);
        for (const secret of await secretsOf(words)) {
          expect(sent.filter((request) => request.toLowerCase().includes(secret))).toEqual([]);
        }
        expect(
          await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])'),
        ).toBe('[{},{},""]');
        expect(faults).toEqual([]);
      }
    },
  );

  it('has the types that the package declares, which need none of Node.js', async () => {
    expect((await compiled).stdout).toBe('');
  });
});

interface User {
  readonly page: Page;
  readonly words: string;
  /** Every request of the page: method, address, headers, body. */
  readonly sent: readonly string[];
  readonly faults: readonly string[];
}

/** Somebody with a browser and a new wallet. */
async function newUser(browser: Browser, origin: string): Promise<User> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const sent: string[] = [];
  const faults: string[] = [];
  page.on('request', (request) => {
    sent.push(`${request.method()} ${request.url()} ${JSON.stringify(request.headers())} ${request.postData() ?? ''}`);
  });
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('websocket', (socket) => faults.push(`a socket to ${socket.url()}`));
  await page.goto(origin);
  await page.fill('[name=url]', network.url ?? '');
  await page.click('#new-words');
  const words = await page.inputValue('[name=words]');
  expect(words.split(' ')).toHaveLength(12);
  await page.click('#open button[type=submit]');
  await page.locator('#wallet').waitFor({ timeout: STEP });
  return { page, words, sent, faults };
}

async function shows(page: Page, selector: string, text: string): Promise<void> {
  await expect.poll(() => page.textContent(selector), { timeout: STEP }).toBe(text);
}

/** What the page has for the other one. */
async function told(page: Page, kind: string): Promise<string> {
  const document = (): Promise<string> => page.inputValue('#document');
  await expect.poll(document, { timeout: STEP }).toContain(`tessera-trade-${kind}`);
  return document();
}

async function tell(page: Page, document: string): Promise<void> {
  await page.fill('#answer [name=document]', document);
  await page.click('#answer button');
}

/** The words, and every form in which a key of theirs could be written. */
async function secretsOf(words: string): Promise<readonly string[]> {
  const keys = await HdKeys.fromMnemonic(words);
  const pair = keys.keyPair('receive', 0);
  const base64 = Buffer.from(pair.seed).toString('base64').toLowerCase();
  const some = words.split(' ').slice(0, 3);
  return [some.join(' '), some.join('+'), some.join('%20'), toHex(pair.seed), exportSecretKey(pair), base64];
}

/** The app as Vite builds it, at an origin of its own; the network is another one. */
async function servedApp(): Promise<string> {
  const made = await build({
    root: APP,
    configFile: false,
    logLevel: 'warn',
    build: { write: false, modulePreload: false },
  });
  const { output } = made as Rolldown.RolldownOutput;
  const files = new Map(
    output.map((part) => [`/${part.fileName}`, part.type === 'chunk' ? part.code : Buffer.from(part.source)]),
  );
  const types: Readonly<Record<string, string>> = { html: 'text/html', js: 'text/javascript', css: 'text/css' };
  const server = createServer((request, response) => {
    const path = request.url === '/' ? '/index.html' : (request.url ?? '');
    const file = files.get(path);
    response.statusCode = file === undefined ? 404 : 200;
    response.setHeader('content-type', types[path.split('.').at(-1) ?? ''] ?? 'text/plain').end(file);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
