/** examples/shops, as complete programs against one dev network: killed, paid twice, too little and too much; each order is delivered once. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../src/sdk/client.js';
import * as wallet from '../../src/sdk/wallet.js';
import { type DevNetwork, startDevNetwork } from '../../src/testing/index.js';
import { freePort } from '../support/free-port.js';

const PACKAGE = fileURLToPath(new URL('../../', import.meta.url));
const TOKEN = 72_072_000n;
const PATIENCE_MS = 60_000;

let folder = '';
let network: DevNetwork;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tessera-shops-'));
  cpSync(join(PACKAGE, 'examples/shops'), folder, { recursive: true });
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(PACKAGE, join(folder, 'node_modules', 'tessera-node'));
  network = await startDevNetwork({ nodeAddresses: true });
});

afterAll(async () => {
  await network.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Program {
  readonly url: string;
  kill(): Promise<void>;
}

/** Starts a program of the example; resolves when it says its address. */
async function run(...args: string[]): Promise<Program> {
  const child: ChildProcess = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  onTestFinished(kill);
  let said = '';
  child.stdout?.on('data', (text) => {
    said += String(text);
  });
  await expect.poll(() => said).toContain('\n');
  return { url: said.trim(), kill };
}

async function send(method: string, url: string, body?: unknown) {
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(url, { method, ...text });
  return { status: response.status, body: await response.json() };
}

const shopOrder = async ({ url }: Program, id: string, order: unknown) =>
  (await send('PUT', `${url}/orders/${id}`, order)).body;
const isDelivered = async ({ url }: Program, id: string) => (await send('GET', `${url}/orders/${id}`)).body.isDelivered;

/** A receiver of webhooks, which ships each order once, and says what it was told. `before` runs before it answers. */
async function receiver(before: { run: () => Promise<void> }) {
  const calls: string[] = [];
  const shipped = new Map<string, { surplus: string }>();
  const server: Server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const id = String(request.headers['idempotency-key']);
    calls.push(id);
    if (!shipped.has(id)) shipped.set(id, JSON.parse(text));
    await before.run();
    response.end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { calls, shipped, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

it('the shop delivers what is paid, once, whatever is killed', async () => {
  const before = { run: async (): Promise<void> => undefined };
  const told = await receiver(before);
  const start = () => run('payment-shop.mjs', network.url, 'shop.json', told.url);
  let shop = await start();
  const order = { price: '1.5' };
  const price = (TOKEN * 3n) / 2n;
  const { address } = await shopOrder(shop, 'a', order);
  expect((await shopOrder(shop, 'a', order)).address).toBe(address);
  expect((await send('PUT', `${shop.url}/orders/b`, { price: '1,5' })).status).toBe(400);
  const little = await shopOrder(shop, 'little', order);

  // Killed between the payment and the answer to its delivery; the order is told again and shipped once.
  before.run = () => shop.kill();
  await network.faucet(little.address, price - 1n);
  await network.faucet(address, price);
  await expect.poll(() => told.calls).toEqual(['a']);
  before.run = async () => undefined;
  // Paid again, too much, while the shop is away.
  await network.faucet(address, price + 7n);
  shop = await start();
  await expect.poll(() => isDelivered(shop, 'a')).toBe(true);
  expect(told.calls).toEqual(['a', 'a']);

  // The rest of what was too little; then again, too late. The nodes restart in between.
  const snapshot = await network.snapshot();
  expect(snapshot).toBeGreaterThan(0);
  await network.faucet(little.address, 1n);
  await expect.poll(() => isDelivered(shop, 'little')).toBe(true);
  await network.faucet(little.address, price);
  await shop.kill();
  shop = await start();
  const last = await shopOrder(shop, 'last', { price: '0.5' });
  await network.faucet(last.address, TOKEN);
  await expect.poll(() => isDelivered(shop, 'last')).toBe(true);
  expect(told.calls).toEqual(['a', 'a', 'little', 'last']);
  expect(told.shipped.get('last')?.surplus).toBe(String(TOKEN / 2n));
  expect((await send('GET', `${shop.url}/orders/little`)).body.paid).toBe(String(2n * price));
});

it('the item shop sends the items that are paid, once', async () => {
  const buyer = wallet.addressOf(wallet.randomKeyPair().publicKey);
  let shop = await run('item-shop.mjs', network.url, 'items.json');
  const order = await shopOrder(shop, 'one', { count: 2, to: buyer });
  expect((await send('PUT', `${shop.url}/orders/two`, { count: 11, to: buyer })).status).toBe(400);
  const paid = network.faucet(order.address, BigInt(order.price));
  await shop.kill();
  await paid;
  shop = await run('item-shop.mjs', network.url, 'items.json');
  await expect.poll(() => isDelivered(shop, 'one')).toBe(true);
  // As after a crash between the delivery and its note in the books.
  await shop.kill();
  const books = join(folder, 'items.json');
  writeFileSync(books, readFileSync(books, 'utf8').replace('"isDelivered": true', '"isDelivered": false'));
  shop = await run('item-shop.mjs', network.url, 'items.json');
  await expect.poll(() => isDelivered(shop, 'one')).toBe(true);
  await network.faucet(order.address, BigInt(order.price));
  const again = await shopOrder(shop, 'again', { count: 1, to: buyer });
  expect(again.item).toBe(order.item);
  await network.faucet(again.address, BigInt(again.price));
  await expect.poll(() => isDelivered(shop, 'again')).toBe(true);
  const { balance } = await createClient({ url: network.url }).getBalances({ address: [buyer] });
  expect(balance.total.items).toEqual({ [order.item]: 3n });
});

it('the bot buys what it wants, at its price', async () => {
  const client = createClient({ url: network.url });
  const maker = wallet.randomKeyPair();
  const created = await client.createItem(wallet.signItemCreation({ amount: 10n }, maker));
  const item = 'tx_hash' in created ? created.tx_hash : '';
  await client.waitForTransaction(item);
  const bot = await run('bot.mjs', network.url, item, '2');
  const expiresAt = Math.floor(Date.now() / 1_000) + 3_600;
  const offerFor = (amount: bigint) =>
    wallet.createOffer({ give: { amount: 3n, item }, want: { amount }, key: maker, network: 'tessera-dev', expiresAt });
  const dear = await send('POST', `${bot.url}/offers`, offerFor(6n * TOKEN + 1n));
  expect([dear.status, dear.body.error]).toEqual([422, 'I pay up to 2 for each']);

  const offer = offerFor(6n * TOKEN);
  const { body: acceptance } = await send('POST', `${bot.url}/offers`, offer);
  expect((await send('POST', `${bot.url}/offers`, offer)).body).toEqual(acceptance);
  const unspent = wallet.unspentOutputs(await client.getBalances({ address: [wallet.addressOf(maker.publicKey)] }));
  const confirmed = wallet.confirmTrade(acceptance, { offer, key: maker, keys: [maker], unspent });
  await wallet.submitTransactions(client, [confirmed.half.transaction]);
  const ended = await send('POST', `${bot.url}/confirmations`, confirmed.confirmation);
  await client.waitForTransaction(ended.body.tx_hash);
  const { balance } = await client.getBalances({ address: [wallet.addressOf(maker.publicKey)] });
  expect(balance.total).toMatchObject({ tokens: 6n * TOKEN, items: { [item]: 7n } });
});

/** Programs that run beside the lines of the documents, with the ports that these name. */
const PORTS = { 'webhook.mjs': '9000', 'payment-shop.mjs': '8090', 'item-shop.mjs': '8091', 'bot.mjs': '8092' };

it.each([
  ['docs/shop.md', '"isDelivered":true'],
  ['docs/item-shop.md', '"items":{"g[0-9a-f]*":2}'],
  ['docs/trading-bot.md', '"tx_hash":"g'],
])('the lines of %s can be pasted', async (page, outcome) => {
  const text = readFileSync(join(PACKAGE, page), 'utf8');
  const lines = [...text.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block = '']) => block.trim().split('\n'));
  const own = lines.filter((line) => !line.startsWith('cd '));
  // What it asks for last is there a moment later.
  const last = own.pop() ?? '';
  let script = own
    .join('\n')
    .replace(/^node (.*) &$/gm, 'start $1')
    .replace('sleep 1', 'until npx tessera wallet items --url http://127.0.0.1:3004 | grep -q ticket; do :; done');
  script += `\nuntil { ${last}; } | tee answer | grep -q '${outcome}'; do :; done\n`;
  script = script.replaceAll('tessera faucet', 'tessera faucet --url http://127.0.0.1:8080');
  script = script.replaceAll('127.0.0.1:8080', new URL(network.url).host);
  script = script.replaceAll('127.0.0.1:3004', new URL(network.urls.miner ?? '').host);
  let ports = '';
  for (const [name, port] of Object.entries(PORTS)) {
    const free = await freePort();
    ports += `[${name}]=${free} `;
    script = script.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${free}`);
  }
  const before = `set -euo pipefail
declare -A ports=(${ports}); pids=()
trap 'kill "\${pids[@]}"' EXIT
npx() { node '${join(PACKAGE, 'dist/main.js')}' "\${@:2}"; }
start() { exec {out}< <(PORT=\${ports[$1]} exec node "$@"); pids+=($!); read -ru "$out"; }
`;
  await promisify(execFile)('bash', ['-c', before + script], { cwd: folder, timeout: PATIENCE_MS });
});
