/** The wallet routes of the original node, and its statuses and shapes on the other older routes (decisions E10, E11). */

import { describe, expect, it } from 'vitest';
import type { ApiOptions } from '../../src/api/options.js';
import { TesseraError } from '../../src/lib/errors.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { API_KEY, type AppSetup, openApp, type Request, type Sent, send } from '../support/api/app.js';
import {
  ADDRESS,
  BLOCK_HASH,
  type Calls,
  fakeMempool,
  fakeStorage,
  fakeUser,
  GENESIS_HASH,
  PASSPHRASE,
  TX_HASH,
  transactionBody,
} from '../support/api/fakes.js';

const ID = '60ddarpg7bnv7j1hl7jl2kkqhav47aom';
const KEY = { 'x-api-key': API_KEY };
const KEY_PAIR = { public_key: '01'.repeat(32), secret_key: '02'.repeat(85), address_version: null };
const PAYMENT = { address: ADDRESS, amount: 1, passphrase: PASSPHRASE, locktime: null };
const PEER = '1.2.3.4:5';

const get = (url: string): Request => ({ url, headers: KEY });
const post = (url: string, body: unknown): Request => ({
  method: 'POST',
  url,
  payload: JSON.stringify(body),
  headers: KEY,
});
const ask = async (role: NodeRole, request: Request, setup?: AppSetup): Promise<Sent> =>
  send(await openApp(role, setup), request);

/** Each route with the role that serves it, its twin, and what it answers. */
const ROUTES: readonly (readonly [NodeRole, Request, twin: Request, reason: string, content: unknown])[] = [
  ['miner', get('/wallet_info'), get('/v1/wallet'), 'Wallet info successfully fetched', 'as its twin'],
  ['user', get('/wallet_info/spent'), get('/v1/wallet?spent=true'), 'Wallet info successfully fetched', 'as its twin'],
  ['user', get('/wallet_info/7'), get('/v1/wallet?page=7'), 'Wallet info successfully fetched', 'as its twin'],
  [
    'user',
    get('/outgoing_transactions'),
    get('/v1/transactions/outgoing'),
    'Successfully fetched last constructed transaction',
    [[TX_HASH, expect.objectContaining({ version: 6 })]],
  ],
  ['user', get('/export_keypairs'), get('/v1/wallet/keypairs'), 'Key-pairs successfully exported', 'as its twin'],
  [
    'miner',
    post('/import_keypairs', { addresses: { [ADDRESS]: KEY_PAIR } }),
    post('/v1/wallet/keypairs', { addresses: { [ADDRESS]: KEY_PAIR } }),
    'Key-pairs successfully imported',
    [ADDRESS],
  ],
  [
    'user',
    get('/payment_address'),
    { ...get('/v1/wallet/addresses'), method: 'POST' },
    'New payment address generated',
    ADDRESS,
  ],
  [
    'user',
    post('/make_payment', PAYMENT),
    post('/v1/payments', { ...PAYMENT, kind: 'address' }),
    'Payment processing',
    {
      success: true,
      reason: 'Payment transaction pending',
      tx_hash: TX_HASH,
      tx: expect.objectContaining({ version: 6 }),
    },
  ],
  [
    'user',
    post('/make_ip_payment', { ...PAYMENT, address: PEER }),
    post('/v1/payments', { ...PAYMENT, address: PEER, kind: 'ip' }),
    'IP payment processing',
    { [PEER]: { asset: { Token: 1 }, extra_info: null } },
  ],
  [
    'user',
    post('/request_donation', PEER),
    post('/v1/donation-requests', { address: PEER }),
    'Donation request sent',
    'null',
  ],
  [
    'miner',
    post('/update_running_total', [ADDRESS]),
    post('/v1/wallet/running-total:refresh', { addresses: [ADDRESS], all: false }),
    'Running total updated',
    'null',
  ],
  [
    'miner',
    post('/update_running_total', ['all']),
    post('/v1/wallet/running-total:refresh', { all: true }),
    'Running total updated',
    'null',
  ],
  [
    'user',
    post('/change_passphrase', { old_passphrase: PASSPHRASE, new_passphrase: 'new' }),
    { ...post('/v1/wallet/passphrase', { old_passphrase: PASSPHRASE, new_passphrase: 'new' }), method: 'PUT' },
    'Passphrase changed successfully',
    'null',
  ],
  [
    'user',
    post('/serialize_transactions', [transactionBody()]),
    post('/v1/transactions:serialize', { transactions: [transactionBody()] }),
    'Transaction(s) serialized',
    [{ txn_hash_hex: expect.stringMatching(/^g/), txn_hex: expect.stringMatching(/^[0-9a-f]+$/) }],
  ],
  [
    'user',
    post('/deserialize_transactions', [`${'00'.repeat(16)}06${'00'.repeat(16)}`]),
    post('/v1/transactions:deserialize', { transactions: [`${'00'.repeat(16)}06${'00'.repeat(16)}`] }),
    'Transaction(s) deserialized',
    [expect.objectContaining({ inputs: [], outputs: [], version: 6 })],
  ],
  [
    'miner',
    get('/current_mining_block'),
    get('/v1/mining/current-block'),
    'Current mining block successfully retrieved',
    { block: expect.objectContaining({ b_num: expect.any(Number) }), reward: expect.anything() },
  ],
  [
    'user',
    post('/create_item_asset', { item_amount: 3, genesis_hash_spec: 'Create', metadata: 'm' }),
    post('/v1/items', { item_amount: 3, genesis_hash_spec: 'Create', metadata: 'm' }),
    'Item asset(s) created',
    3,
  ],
  [
    'mempool',
    post('/transaction_status', [TX_HASH]),
    post('/v1/transactions/status:query', { hashes: [TX_HASH] }),
    'Transaction(s) status',
    'as its twin',
  ],
];

describe.each(ROUTES)('a %s node, %o', (role, request, twin, reason, content) => {
  it('does what the twin does, and shows it in the shape of the original', async () => {
    const [own, calls]: [Calls, Calls] = [[], []];
    const sent = await ask(role, request, { calls: own });
    const same = await ask(role, twin, { calls });
    expect(sent.body).toEqual({
      id: '',
      status: request.url === '/make_payment' ? 'InProgress' : 'Success',
      reason,
      route: request.url.split('/')[1],
      content: content === 'as its twin' ? same.body : content,
    });
    const done = own.filter(({ name }) => name !== 'outgoing' || request.url === '/outgoing_transactions');
    expect([sent.status, done]).toEqual([200, calls]);
  });

  it('is not there unless envelope.wallet_routes is set', async () => {
    const sent = await ask(role, request, { envelope: { walletRoutes: false } });
    expect([sent.status, sent.body.status]).toEqual([404, 'Error']);
    if (!request.url.includes('create_item')) expect(sent.body.reason).toContain('envelope.wallet_routes');
  });

  it('asks for a key as the twin does', async () => {
    const without = { ...request, headers: {} };
    const statuses = [(await ask(role, without)).status, (await ask(role, { ...twin, headers: {} })).status];
    expect(statuses[0] === 401).toBe(statuses[1] === 401);
    const other = 'another-key-0123456789';
    const route = `${twin.method ?? 'GET'} ${twin.url.split('?')[0]}`;
    if (statuses[0] !== 401) return;
    // A key for the twin alone is one for it, and a key for something else is not.
    const keys: ApiOptions['api']['keys'] = [{ name: 'one', key: other, routes: [route] }];
    const withKey = { ...request, headers: { 'x-api-key': other } };
    expect((await ask(role, withKey, { api: { keys } })).status).toBe(200);
    const elsewhere = [{ name: 'one', key: other, routes: ['GET /v1/trades'] }];
    expect((await ask(role, withKey, { api: { keys: elsewhere } })).status).toBe(401);
  });
});

describe('the wallet routes', () => {
  it.each([
    [post('/make_payment', { ...PAYMENT, passphrase: 'wrong' }), 401],
    [post('/make_payment', { ...PAYMENT, amount: '1' }), 400],
    [post('/make_payment', { address: ADDRESS }), 400],
    [post('/make_ip_payment', PAYMENT), 400],
    [post('/make_ip_payment', { ...PAYMENT, address: '1.2.3.4:1' }), 500],
    [post('/request_donation', 'nowhere'), 400],
    [post('/request_donation', { address: PEER }), 400],
    [post('/update_running_total', []), 400],
    [post('/change_passphrase', { old_passphrase: PASSPHRASE, new_passphrase: ' ' }), 400],
    [post('/import_keypairs', { addresses: { [ADDRESS]: { ...KEY_PAIR, secret_key: 'xx' } } }), 400],
    [post('/serialize_transactions', [{}]), 400],
    [post('/deserialize_transactions', ['zz']), 400],
    [post('/create_item_asset', { item_amount: 0, genesis_hash_spec: 'Create' }), 400],
    [post('/create_item_asset', null), 400],
    [{ ...get('/payment_address'), method: 'POST', payload: '{}' }, 405],
    [{ ...get('/payment_address'), method: 'HEAD' }, 405],
  ] as const)('refuse %o with %d, in an envelope', async (request, status) => {
    const sent = await ask('user', request);
    expect(sent.status).toBe(status);
    if (sent.text !== '') expect(sent.body).toMatchObject({ id: null, status: 'Error', route: null, content: null });
  });

  it.each([
    [2_000_000, 'Insufficient funds for payment.'],
    [0, 'The amount must be from 1 to 2^63 - 1.'],
  ])('answer a payment of %d, which cannot be made, as the original does', async (amount, reason) => {
    const sent = await ask('user', post('/make_payment', { ...PAYMENT, amount }));
    expect([sent.status, sent.body.content]).toEqual([200, { success: false, reason, tx_hash: '', tx: null }]);
  });

  it('are no way for a page of elsewhere to make addresses, where no key is asked for', async () => {
    const elsewhere: Record<string, string>[] = [
      { host: '127.0.0.1', origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' },
      // An image in the page, and a page that has rebound its name: neither says an origin.
      { host: '127.0.0.1', 'sec-fetch-site': 'cross-site' },
      { host: 'rebound.example:3000' },
    ];
    for (const headers of elsewhere) {
      const sent = await ask('user', { url: '/payment_address', headers }, { api: { auth: 'open' } });
      expect(sent.status).toBe(401);
    }
    const own = await ask('user', { url: '/payment_address', headers: {} }, { api: { auth: 'open' } });
    expect(own.status).toBe(200);
  });

  it('pay once for one x-cache-id, and hand it to the wallet as the key of the payment', async () => {
    const calls: Calls = [];
    const app = await openApp('user', { calls });
    const request = { ...post('/make_payment', PAYMENT), headers: { ...KEY, 'x-cache-id': ID } };
    expect((await send(app, request)).text).toBe((await send(app, request)).text);
    const paid = calls.filter(({ name }) => name === 'payAddress');
    expect(paid).toMatchObject([{ args: [{ idempotencyKey: ID }] }]);
  });

  it('keep no answer that has private keys', async () => {
    const calls: Calls = [];
    const app = await openApp('user', { calls });
    const request = { ...get('/export_keypairs'), headers: { ...KEY, 'x-cache-id': ID } };
    await send(app, request);
    await send(app, request);
    expect(calls.filter(({ name }) => name === 'exportKeyPairs')).toHaveLength(2);
  });

  it('tell two pages with one id apart', async () => {
    const app = await openApp('user');
    const page = (url: string) => ({ ...get(url), headers: { ...KEY, 'x-cache-id': ID } });
    expect((await send(app, page('/wallet_info/1'))).status).toBe(200);
    expect((await send(app, page('/wallet_info/2'))).status).toBe(400);
  });

  it('let the wallet sign an item beside a mempool node only when no client has, and with a key', async () => {
    const item = { item_amount: 3, genesis_hash_spec: 'Create' };
    const signed = {
      public_key: 'aa'.repeat(32),
      script_public_key: ADDRESS,
      signature: 'bb'.repeat(64),
    };
    const open = async (request: Request, walletRoutes = true) => {
      const sent = await send(await openApp(['mempool', 'user'], { envelope: { walletRoutes } }), request);
      return [sent.status, sent.body.content?.tx_hash ?? sent.body.content];
    };
    expect(await open(post('/create_item_asset', item))).toEqual([200, 3]);
    expect(await open({ ...post('/create_item_asset', item), headers: {} })).toEqual([401, null]);
    expect(await open({ ...post('/create_item_asset', { ...item, ...signed }), headers: {} })).toEqual([
      200,
      GENESIS_HASH,
    ]);
    expect(await open(post('/create_item_asset', item), false)).toEqual([400, null]);
  });

  it('are 500 where there is no wallet', async () => {
    const modules = { wallet: undefined, user: undefined };
    expect((await ask('user', get('/wallet_info'), { modules })).status).toBe(500);
  });
});

describe('the answers of the original node (decision E10)', () => {
  const original = { envelope: { answers: 'original' as const } };
  const refusing = (code: 'double_spend' | 'mempool_full', isBad: (list: readonly unknown[]) => boolean) => {
    const { submit } = fakeMempool();
    const taken: string[] = [];
    const only: typeof submit = async (list, sender) => {
      if (isBad(list)) throw new TesseraError(code, 'the rule that failed');
      const submitted = await submit(list, sender);
      taken.push(...submitted.map(({ hash }) => hash));
      return submitted;
    };
    return { taken, modules: { mempool: { ...fakeMempool(), submit: only } } };
  };

  it('name the call of an error, which is 500 for a transaction that a rule refuses', async () => {
    const { modules } = refusing('double_spend', () => true);
    const request = { ...post('/create_transactions', [transactionBody()]), headers: { 'x-cache-id': ID } };
    const sent = await ask('mempool', request, { ...original, modules });
    expect([sent.status, sent.body]).toEqual([
      500,
      {
        id: ID,
        status: 'Error',
        reason: 'Internal Server Error: the rule that failed',
        route: 'create_transactions',
        content: 'null',
      },
    ]);
    expect((await ask('mempool', request, { modules })).status).toBe(400);
  });

  it('take the good transactions of a list, and name all', async () => {
    const list = [transactionBody(1), transactionBody(2), transactionBody(3)];
    const { modules, taken } = refusing('double_spend', (some) => some.length !== 1 || taken.length === 1);
    const sent = await ask('mempool', post('/create_transactions', list), { ...original, modules });
    expect([sent.status, sent.body.reason]).toEqual([200, 'Transaction(s) processing']);
    expect(Object.values(sent.body.content)).toEqual(list.map(() => [ADDRESS, expect.anything()]));
    expect(taken).toEqual(Object.keys(sent.body.content).slice(0, 1));
    const strict = refusing('double_spend', (some) => some.length !== 1);
    expect((await ask('mempool', post('/create_transactions', list), { modules: strict.modules })).status).toBe(400);
    expect(strict.taken).toEqual([]);
  });

  it('refuse a list without a good one, and what is no refusal ends it', async () => {
    for (const code of ['double_spend', 'mempool_full'] as const) {
      const { modules } = refusing(code, () => true);
      const request = post('/create_transactions', [transactionBody(1), transactionBody(2)]);
      expect((await ask('mempool', request, { ...original, modules })).status).toBe(500);
    }
  });

  it.each([
    [401, post('/make_payment', { ...PAYMENT, passphrase: 'wrong' })],
    [401, post('/change_passphrase', { old_passphrase: PASSPHRASE, new_passphrase: '' })],
    [400, post('/request_donation', 'nowhere')],
    [404, get('/nothing')],
  ] as const)('are %d for %o', async (status, request) => {
    const sent = await ask('user', request, original);
    expect([sent.status, sent.body.content]).toEqual([status, 'null']);
  });

  it('have blocks and entries with their places, and three empty texts for what is missing', async () => {
    const { body } = await ask('storage', post('/block_by_num', [7, 999]), original);
    const place = { Block: { block_num: 7, tx_len: expect.any(Number) } };
    const missing = ['', '', ''];
    expect(body.content).toEqual([[BLOCK_HASH, { block: expect.anything() }, place], missing]);
    const entries = (await ask('storage', post('/blockchain_entry', [TX_HASH, 'x']), original)).body.content;
    expect(entries).toEqual([
      [TX_HASH, expect.anything(), { Tx: { block_num: 7, tx_num: expect.any(Number) } }],
      missing,
    ]);
    const latest = (await ask('storage', get('/latest_block'), original)).body.content;
    expect(Object.keys(latest)).toEqual(['block']);
    expect(Object.keys(latest.block)).toEqual(['header', 'transactions']);
  });

  it('say nothing before the first block', async () => {
    const modules = { storage: fakeStorage(undefined, true) };
    expect((await ask('storage', get('/latest_block'), { ...original, modules })).status).toBe(204);
  });

  it('have nothing in them that the original does not', async () => {
    const balance = (await ask('mempool', post('/fetch_balance', [ADDRESS]), original)).body.content;
    expect(Object.keys(balance).sort()).toEqual(['address_list', 'total']);
    const item = {
      ...{ item_amount: 10, script_public_key: ADDRESS, public_key: 'aa'.repeat(32), signature: 'bb'.repeat(64) },
      genesis_hash_spec: 'Create',
    };
    const created = (await ask('mempool', post('/create_item_asset', item), original)).body.content;
    expect(created).toEqual({
      asset: { asset: { Item: { amount: 10, genesis_hash: GENESIS_HASH, metadata: null } }, extra_info: null },
      to_address: ADDRESS,
      tx_hash: GENESIS_HASH,
    });
  });

  it('are not those of the routes under /v1', async () => {
    const user = { ...fakeUser(), payAddress: async () => Promise.reject(new TesseraError('cannot_pay', 'no')) };
    const request = post('/v1/payments', { ...PAYMENT, kind: 'address' });
    const sent = await ask('user', request, { ...original, modules: { user } });
    expect(sent.body).toMatchObject({ type: 'about:blank', code: 'cannot_pay' });
  });
});
