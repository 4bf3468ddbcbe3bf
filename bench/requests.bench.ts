/**
 * The dearest legal request of every route: how long it holds the event loop at most in one piece, and how long in all, in
 * milliseconds of CPU, so that other work on the machine does not count. Services answer at once with as much as they may;
 * what is measured is the API with its checks, parsers and writers. Also some requests that are refused, and fifty long
 * answers at once.
 */

import type { InjectOptions } from 'fastify';
import type { Operation } from '../src/api/operation.js';
import type { ApiModules } from '../src/api/options.js';
import type { NodeRole } from '../src/lib/roles.js';
import { printSection, record } from './report.js';
import { ADDRESS, BLOCK_HASH, heavyServices, TX_HASH, transactionOfBytes } from './request-data.js';

const MAX_BODY = 2 * 1024 * 1024;
const KEY = 'the-key-of-the-benchmark';
const RUNS = 3;

interface Request {
  readonly url: string;
  readonly body?: string;
}

const many = (count: number, text: (i: number) => string): string =>
  `[${Array.from({ length: count }, (_, i) => JSON.stringify(text(i))).join(',')}]`;
/** A list of texts that fills a body. */
const hashes = many(1_000, (i) => `g${String(i).padStart(31, '0')}`);
const addresses = many(1_000, (i) => String(i).padStart(64, '0'));
const transactions = `[${Array.from({ length: 1_000 }, () => transactionOfBytes(2_000)).join(',')}]`;
const keyPairs = Array.from(
  { length: 1_000 },
  (_, i) => `"${String(i).padStart(64, '0')}":{"public_key":"${'ab'.repeat(32)}","secret_key":"${'cd'.repeat(85)}"}`,
);
const item = `"item_amount":1,"public_key":"${'ab'.repeat(32)}","script_public_key":"${ADDRESS}","signature":"${'cd'.repeat(64)}"`;
const text = 'x'.repeat(MAX_BODY - 4_096);

/** By operation; one that has none here is asked for with its bare path, and named. */
const DEAREST: Readonly<Partial<Record<string, Request>>> & Readonly<Record<'getBalances', Request>> = {
  getDebug: { url: '/v1/debug' },
  getOpenApi: { url: '/v1/openapi.json' },
  getDocs: { url: '/v1/docs/static/index.html' },
  getLiveness: { url: '/livez' },
  getReadiness: { url: '/readyz' },
  getBalances: { url: `/v1/balances?address=${ADDRESS}` },
  queryBalances: {
    url: '/v1/balances/query',
    body: `{"addresses":${addresses.replace('[', `["${ADDRESS}",`).replace(/,"[^"]*"\]$/, ']')}}`,
  },
  getSupply: { url: '/v1/supply' },
  createTransactions: { url: '/v1/transactions', body: `{"transactions":${transactions}}` },
  getTransactionStatus: {
    url: `/v1/transactions/status?${Array.from({ length: 100 }, (_, i) => `hash=g${String(i).padStart(31, '0')}`).join('&')}`,
  },
  queryTransactionStatus: { url: '/v1/transactions/status:query', body: `{"hashes":${hashes}}` },
  createItem: { url: '/v1/items', body: `{"genesis_hash_spec":"Create","metadata":"${text}",${item}}` },
  getBlockchainEntry: { url: `/v1/blockchain-entries/${BLOCK_HASH}` },
  queryBlockchainEntries: { url: '/v1/blockchain-entries/query', body: `{"keys":${hashes}}` },
  getBlocks: { url: `/v1/blocks?${Array.from({ length: 100 }, (_, i) => `num=${i}`).join('&')}` },
  getBlock: { url: '/v1/blocks/7' },
  getLatestBlock: { url: '/v1/blocks/latest' },
  getItem: { url: `/v1/items/${TX_HASH}` },
  getCurrentBlock: { url: '/v1/mining/current-block' },
  getOutgoingTransactions: { url: '/v1/transactions/outgoing' },
  getWalletHistory: { url: '/v1/wallet/history' },
  getWallet: { url: '/v1/wallet' },
  createWalletAddress: { url: '/v1/wallet/addresses' },
  exportKeypairs: { url: '/v1/wallet/keypairs' },
  importKeypairs: { url: '/v1/wallet/keypairs', body: `{"addresses":{${keyPairs.join(',')}}}` },
  changePassphrase: { url: '/v1/wallet/passphrase', body: `{"old_passphrase":"a","new_passphrase":"b","x":"${text}"}` },
  refreshRunningTotal: { url: '/v1/wallet/running-total:refresh', body: `{"addresses":${addresses}}` },
  createPayment: {
    url: '/v1/payments',
    body: `{"kind":"address","address":"${ADDRESS}","amount":1,"passphrase":"","x":"${text}"}`,
  },
  requestDonation: { url: '/v1/donation-requests', body: `{"address":"127.0.0.1:12360","x":"${text}"}` },
  serializeTransactions: { url: '/v1/transactions:serialize', body: `{"transactions":${transactions}}` },
  deserializeTransactions: {
    url: '/v1/transactions:deserialize',
    body: `{"transactions":${many(1_000, () => '00'.repeat(16).concat('06', '00'.repeat(16)))}}`,
  },
  streamEvents: { url: '/v1/events?topics=nothing' },
  envelopeCreateTransactions: { url: '/create_transactions', body: transactions },
  envelopeBlockchainEntry: { url: '/blockchain_entry', body: hashes },
  envelopeFetchBalance: { url: '/fetch_balance', body: `["${ADDRESS}"]` },
  envelopeCreateItemAsset: { url: '/create_item_asset', body: `{${item},"metadata":"${text}"}` },
  envelopeLatestBlock: { url: '/latest_block' },
  envelopeBlockByNum: { url: '/block_by_num', body: `[${Array.from({ length: 400 }, (_, i) => i).join(',')}]` },
  envelopeIssuedSupply: { url: '/issued_supply' },
  envelopeTotalSupply: { url: '/total_supply' },
  envelopeDebugData: { url: '/debug_data' },
};

const fill = (unit: string, tail: string): string =>
  `[${`${unit},`.repeat(Math.floor(MAX_BODY / (unit.length + 1)) - 20)}${tail}]`;

/** Refused, after as much work as can be had from the node. */
const REFUSED: readonly (readonly [string, string])[] = [
  ['nested arrays', '['.repeat(MAX_BODY)],
  ['nested objects', '{"a":'.repeat(MAX_BODY / 5)],
  ['different member names', `{${Array.from({ length: 150_000 }, (_, i) => `"${i.toString(36)}":1`).join(',')}}`],
  ['empty objects', fill('{}', '{}')],
  ['numbers, the last one inexact', fill('1', '9007199254740993')],
  ['objects, the last one broken', fill('{"a":1}', '{')],
  ['one long number', '1'.repeat(MAX_BODY)],
];

interface Held {
  /** Most CPU between two turns of the event loop, in ms. */
  longest: number;
  /** CPU from request to answer, in ms. */
  total: number;
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Watches the event loop while something runs. */
async function watched(run: () => Promise<unknown>): Promise<Held> {
  let longest = 0;
  let running = true;
  let last = cpuMs();
  const turn = (): void => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (running) setImmediate(turn);
  };
  setImmediate(turn);
  const begun = cpuMs();
  await run();
  const total = cpuMs() - begun;
  running = false;
  await new Promise((resolve) => setImmediate(resolve));
  return { longest, total };
}

async function best(run: () => Promise<unknown>): Promise<Held> {
  const found: Held = { longest: Number.POSITIVE_INFINITY, total: Number.POSITIVE_INFINITY };
  for (let i = 0; i < RUNS; i++) {
    const { longest, total } = await watched(run);
    found.longest = Math.min(found.longest, longest);
    found.total = Math.min(found.total, total);
  }
  return found;
}

function print(name: string, { longest, total }: Held, note: string): void {
  const figures = `${longest.toFixed(1).padStart(9)} ms at once${total.toFixed(1).padStart(9)} ms in all`;
  console.log(`  ${name.padEnd(44)}${figures}  (${note})`);
  record({ name, value: total, unit: 'ms' });
  record({ name: ' at once', value: longest, unit: 'ms' });
}

async function createApps() {
  const built = <T>(path: string): Promise<T> => import(new URL(`../dist/${path}`, import.meta.url).href);
  const { createApi } = await built<typeof import('../src/api/app.js')>('api/app.js');
  const { systemClock } = await built<typeof import('../src/lib/clock.js')>('lib/clock.js');
  const { systemRandom } = await built<typeof import('../src/lib/random.js')>('lib/random.js');
  const { silentLogger } = await built<typeof import('../src/lib/logger.js')>('lib/logger.js');
  const { noMetrics } = await built<typeof import('../src/observability/metrics.js')>('observability/metrics.js');
  const { OPERATIONS } = await built<typeof import('../src/api/operations.js')>('api/operations.js');
  const { rolesOf } = await built<typeof import('../src/api/roles.js')>('api/roles.js');
  const modules: ApiModules = {
    logger: silentLogger,
    // Without timers: the guard against overload would see other work on the machine.
    clock: { ...systemClock, after: () => ({ cancel: () => undefined }) },
    random: systemRandom,
    metrics: noMetrics,
    node: { type: () => 'Mempool', peers: () => [], routesPow: {} },
    readiness: () => [],
    ...(await heavyServices(built)),
  };
  const open = (role: NodeRole) =>
    createApi(
      {
        roles: [role],
        api: {
          host: '127.0.0.1',
          auth: 'keys',
          keys: [{ name: 'bench', key: KEY }],
          cors: 'off',
          toolingEverywhere: false,
          openItemCreation: false,
          trustedProxies: [],
          limits: {
            bodyBytes: MAX_BODY,
            batch: 1_000,
            queryValues: 100,
            connectionsPerAddress: 64,
            requestTimeoutMs: 30_000,
            keepAliveTimeoutMs: 72_000,
          },
          rateLimit: { enabled: false, perMinute: 600 },
        },
        envelope: {
          enabled: true,
          requireCacheId: false,
          walletRoutes: false,
          answers: 'contract',
          blockByNum: 'blocks',
          cacheEntries: 100,
          cacheTtlSeconds: 60,
        },
      },
      modules,
    );
  const apps = {
    mempool: await open('mempool'),
    storage: await open('storage'),
    miner: await open('miner'),
    user: await open('user'),
  };
  return { apps, operations: OPERATIONS as readonly Operation[], rolesOf };
}

export async function requestsBench(): Promise<void> {
  const { apps, operations, rolesOf } = await createApps();
  const ask = ({ method }: Pick<Operation, 'method'>, { url, body }: Request): InjectOptions => ({
    method,
    url,
    headers: { 'x-api-key': KEY, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { payload: body }),
  });

  printSection('The dearest legal request of every route: the longest piece of the event loop, and the whole');
  for (const operation of operations) {
    const [role = 'mempool'] = rolesOf(operation);
    const dearest = DEAREST[operation.id];
    const request = ask(operation, dearest ?? { url: operation.path });
    let note = '';
    const held = await best(async () => {
      const { statusCode, rawPayload } = await apps[role].inject(request);
      note = `${statusCode}, ${(rawPayload.length / 1_024).toFixed(0)} KiB`;
    });
    print(operation.id, held, dearest === undefined ? `${note}; bench/requests.bench.ts has no request of it` : note);
  }

  printSection('Bodies of 2 MiB that are refused');
  for (const [name, body] of REFUSED) {
    let note = '';
    const held = await best(async () => {
      note = String(
        (await apps.mempool.inject(ask({ method: 'POST' }, { url: '/v1/balances/query', body }))).statusCode,
      );
    });
    print(name, held, note);
  }

  printSection('Fifty of the dearest reads at once');
  const fifty = await watched(() =>
    Promise.all(Array.from({ length: 50 }, () => apps.mempool.inject(ask({ method: 'GET' }, DEAREST.getBalances)))),
  );
  print('getBalances', fifty, 'eight are made, the others get 503');
  for (const app of Object.values(apps)) await app.close();
}
