/** The older routes: forms of bodies, contents for the contract and for existing clients, errors as envelopes. */

import { describe, expect, it } from 'vitest';
import { TesseraError } from '../../src/lib/errors.js';
import { type AppSetup, openApp, type Request, type Sent, send } from '../support/api/app.js';
import {
  ADDRESS,
  BLOCK_HASH,
  type Calls,
  fakeMempool,
  fakeStorage,
  GENESIS_HASH,
  ODD_AMOUNT,
  TX_HASH,
  transactionBody,
} from '../support/api/fakes.js';

const ID = '60ddarpg7bnv7j1hl7jl2kkqhav47aom';
const UNKNOWN = 'ee'.repeat(32);

const mempool = async (request: Request, setup?: AppSetup) => send(await openApp('mempool', setup), request);
const storage = async (request: Request, setup?: AppSetup) => send(await openApp('storage', setup), request);
const post = (url: string, body?: unknown, headers: Record<string, string> = {}): Request => ({
  method: 'POST',
  url,
  headers,
  payload: body === undefined ? '' : JSON.stringify(body),
});

/** Status, and an envelope with JSON nulls that says what is wrong (decision E7). */
function expectError(sent: Sent, status: number, start: string): void {
  expect(sent.status).toBe(status);
  expect(sent.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(sent.body).toEqual({ id: null, status: 'Error', reason: sent.body.reason, route: null, content: null });
  expect(sent.body.reason.startsWith(start)).toBe(true);
  expect(sent.body.reason.length).toBeGreaterThan(start.length + 5);
}

describe('the envelope', () => {
  it('has the members of the existing network, in their order', async () => {
    const sent = await mempool({ url: '/issued_supply', headers: { 'x-cache-id': ID } });
    expect(sent.text).toBe(
      `{"id":"${ID}","status":"Success","reason":"Successfully fetched issued supply","route":"issued_supply","content":${ODD_AMOUNT}}`,
    );
  });

  it('has an empty id when none was sent (decision E1)', async () => {
    expect((await mempool({ url: '/total_supply' })).body.id).toBe('');
  });

  it('can require the id', async () => {
    const sent = await mempool({ url: '/total_supply' }, { envelope: { requireCacheId: true } });
    expectError(sent, 400, 'Bad Request');
  });

  it.each(['a'.repeat(31), 'a'.repeat(33), 'A'.repeat(32), `${'a'.repeat(31)}-`, ''])(
    'refuses the id %j (decision E2)',
    async (id) => {
      expectError(await mempool({ url: '/total_supply', headers: { 'x-cache-id': id } }), 400, 'Bad Request');
    },
  );
});

describe('errors as envelopes (decision E7)', () => {
  it.each([
    ['broken JSON', post('/fetch_balance'), '['],
    ['100,000 levels', post('/fetch_balance'), '['.repeat(100_000)],
    ['a duplicate key', post('/fetch_balance'), '{"address_list":[],"address_list":[]}'],
  ])('%s is 400', async (_what, request, payload) => {
    expectError(await mempool({ ...request, payload }), 400, 'Bad Request');
  });

  it('an unknown route is 404', async () => {
    expectError(await mempool({ url: '/nothing' }), 404, 'Not Found');
  });

  it('a route of another role is 404', async () => {
    expectError(await mempool({ url: '/latest_block' }), 404, 'Not Found');
  });

  it.each([
    ['DELETE', '/total_supply', 'POST, GET, HEAD'],
    ['GET', '/fetch_balance', 'POST'],
    ['PUT', '/debug_data', 'GET, POST, HEAD'],
  ] as const)('%s %s is 405', async (method, url, allow) => {
    const sent = await mempool({ method, url });
    expectError(sent, 405, 'Method Not Allowed');
    expect(sent.headers.allow).toBe(allow);
  });

  it('another media type is 415', async () => {
    const headers = { 'content-type': 'text/plain' };
    expectError(await mempool(post('/fetch_balance', [ADDRESS], headers)), 415, 'Unsupported Media Type');
  });

  it.each([{ 'content-encoding': 'gzip' }, { 'content-type': 'application/json; charset=latin1' }])(
    '%j is 415',
    async (headers) => {
      expectError(await mempool(post('/fetch_balance', [ADDRESS], headers)), 415, 'Unsupported Media Type');
    },
  );

  it('a body that is too large is 413 and names the limit (decision H4)', async () => {
    const sent = await mempool(post('/fetch_balance', ['x'.repeat(2 ** 21)]));
    expectError(sent, 413, 'Payload Too Large');
    expect(sent.body.reason).toContain(String(2 ** 21));
  });

  it.each([
    ['mempool_unreachable', 500],
    ['outcome_unknown', 500],
    ['mempool_full', 500],
    ['transaction_rejected', 400],
    ['double_spend', 400],
    ['unknown_input', 400],
    ['invalid_signature', 400],
  ] as const)('%s is %d', async (code, status) => {
    const submit = async () => {
      throw new TesseraError(code, 'the rule that failed');
    };
    const modules = { mempool: { ...fakeMempool(), submit } };
    const sent = await mempool(post('/create_transactions', transactionBody()), { modules });
    expectError(sent, status, status === 500 ? 'Internal Server Error' : 'Bad Request');
    expect(sent.body.reason).toContain('the rule that failed');
  });

  it('a fault inside the node is 500 and hidden', async () => {
    const supply = () => {
      throw new Error('the secret');
    };
    const sent = await mempool({ url: '/total_supply' }, { modules: { mempool: { ...fakeMempool(), supply } } });
    expectError(sent, 500, 'Internal Server Error');
    expect(sent.text).not.toContain('the secret');
  });

  it('a mempool that is not up is 500 (decision V24)', async () => {
    expectError(
      await mempool({ url: '/total_supply' }, { modules: { mempool: undefined } }),
      500,
      'Internal Server Error',
    );
  });
});

describe('/create_transactions', () => {
  it.each([
    ['one object', transactionBody()],
    ['a list of one', [transactionBody()]],
  ])('takes %s (docs/clients.md#c4)', async (_what, body) => {
    const sent = await mempool(post('/create_transactions', body));
    expect(sent.body.status).toBe('Success');
    const keys = Object.keys(sent.body.content);
    const hash = sent.body.content.transaction.tx_hash;
    expect(keys).toEqual(['transaction', hash]);
    expect(sent.body.content[hash]).toEqual([ADDRESS, { asset: { Token: 1000 }, metadata: null, extra_info: null }]);
    expect(sent.body.content.transaction.hex).toMatch(/^[0-9a-f]+$/);
  });

  it('lists all hashes last for several', async () => {
    const sent = await mempool(post('/create_transactions', [transactionBody(1), transactionBody(2)]));
    const { content } = sent.body;
    const hashes = content.transactions.map(({ tx_hash }: { tx_hash: string }) => tx_hash);
    expect(Object.keys(content)).toEqual(['transaction', 'transactions', ...hashes]);
  });

  it.each([[[]], [{}], ['x'], [5], [null], [[5]], [[transactionBody(), {}]]])('refuses %j', async (body) => {
    const calls: Calls = [];
    expectError(await mempool(post('/create_transactions', body), { calls }), 400, 'Bad Request');
    expect(calls).toEqual([]);
  });

  it('refuses more than the limit, and names it', async () => {
    const sent = await mempool(
      post(
        '/create_transactions',
        Array.from({ length: 1001 }, () => 5),
      ),
    );
    expectError(sent, 400, 'Bad Request');
    expect(sent.body.reason).toContain('1000');
  });
});

describe('/create_item_asset', () => {
  const item = {
    item_amount: 10,
    script_public_key: ADDRESS,
    public_key: 'aa'.repeat(32),
    signature: 'bb'.repeat(64),
    version: null,
  };

  it('answers with everything that clients read (reference, §2.2)', async () => {
    const sent = await mempool(post('/create_item_asset', { ...item, genesis_hash_spec: 'Create', metadata: 'm' }));
    expect(sent.body.content).toEqual({
      asset: {
        asset: { Item: { amount: 10, genesis_hash: GENESIS_HASH, drs_tx_hash: GENESIS_HASH, metadata: 'm' } },
        extra_info: null,
      },
      to_address: ADDRESS,
      tx_hash: GENESIS_HASH,
      item_amount: 10,
      metadata: 'm',
    });
  });

  it.each([
    [{}, 'Default'],
    [{ genesis_hash_spec: 'CREATE' }, 'Create'],
    [{ drs_tx_hash_spec: 'default' }, 'Default'],
    [{ drs_tx_hash_spec: 'Create' }, 'Create'],
    [{ genesis_hash_spec: { Create: null } }, 'Create'],
    [{ genesis_hash_spec: { type: 'create' } }, 'Create'],
    [{ genesis_hash_spec: { type: 'default' } }, 'Default'],
    [{ genesis_hash_spec: 'Create', drs_tx_hash_spec: 'create' }, 'Create'],
    [{ genesis_hash_spec: null, drs_tx_hash_spec: 'create' }, 'Create'],
  ])('reads the specification %j as %s (docs/clients.md#c10)', async (spec, expected) => {
    const calls: Calls = [];
    await mempool(post('/create_item_asset', { ...item, ...spec }), { calls });
    expect(calls).toMatchObject([{ name: 'createItem', args: [{ spec: expected, amount: 10n }, expect.any(String)] }]);
  });

  it('stores metadata that is an object as its compact JSON', async () => {
    const calls: Calls = [];
    await mempool(post('/create_item_asset', { ...item, metadata: { a: [1, 2], b: 'c' } }), { calls });
    expect(calls).toMatchObject([{ args: [{ metadata: '{"a":[1,2],"b":"c"}' }, expect.any(String)] }]);
  });

  it.each([
    ['another specification', { genesis_hash_spec: 'Other' }],
    ['two specifications that differ', { genesis_hash_spec: 'Create', drs_tx_hash_spec: 'Default' }],
    ['an older name that is wrong', { genesis_hash_spec: 'Create', drs_tx_hash_spec: 'Other' }],
    ['two specifications at once', { genesis_hash_spec: { Create: 1, Default: 1 } }],
    ['a number as specification', { genesis_hash_spec: 1 }],
    ['no amount', { item_amount: undefined }],
    ['nothing to create', { item_amount: 0 }],
    ['a text as amount', { item_amount: '1' }],
    ['a fraction', { item_amount: 1.5 }],
    ['a short key', { public_key: 'aa' }],
    ['a signature that is no hex', { signature: 'zz'.repeat(64) }],
    ['no address', { script_public_key: undefined }],
    ['a number as metadata', { metadata: 5 }],
  ])('refuses %s', async (_what, change) => {
    const calls: Calls = [];
    expectError(await mempool(post('/create_item_asset', { ...item, ...change }), { calls }), 400, 'Bad Request');
    expect(calls).toEqual([]);
  });
});

describe('/fetch_balance', () => {
  it.each([[[ADDRESS, UNKNOWN]], [{ address_list: [ADDRESS, UNKNOWN] }]])(
    'takes %j (docs/clients.md#c7)',
    async (body) => {
      const { content } = (await mempool(post('/fetch_balance', body))).body;
      expect(content.total).toEqual({ tokens: ODD_AMOUNT, items: { [GENESIS_HASH]: 2 } });
      expect(Object.keys(content.address_list)).toEqual([ADDRESS]);
      expect(content.balances).toEqual([
        {
          address: ADDRESS,
          assets: [
            { name: 'Token', value: ODD_AMOUNT },
            { name: 'Item', value: 2, id: GENESIS_HASH },
          ],
        },
        { address: UNKNOWN, assets: [{ name: 'Token', value: 0 }] },
      ]);
    },
  );

  it.each([[[]], [{}], [{ address_list: [] }], ['x'], [[5]], [['short']], [null], [undefined]])(
    'refuses %j',
    async (body) => {
      expectError(await mempool(post('/fetch_balance', body)), 400, 'Bad Request');
    },
  );
});

describe('supply', () => {
  it.each(['/issued_supply', '/total_supply'])(
    'GET and POST %s agree, with any body (decision E5, docs/clients.md#c1)',
    async (url) => {
      const app = await openApp('mempool');
      const get = await send(app, { url });
      const json = { 'content-type': 'application/json' };
      expect((await send(app, { url, headers: json })).text).toBe(get.text);
      for (const payload of ['', 'null', '{}', '""', '[]', ' ', ' \t\r\n ']) {
        expect((await send(app, { method: 'POST', url, payload })).text).toBe(get.text);
      }
      expect((await send(app, { method: 'POST', url })).text).toBe(get.text);
    },
  );

  it('repeats the answer for no body when white space comes with the same id (reference, §2.0)', async () => {
    const app = await openApp('mempool');
    const headers = { 'x-cache-id': ID };
    const first = await send(app, { method: 'POST', url: '/total_supply', payload: '', headers });
    expect((await send(app, { method: 'POST', url: '/total_supply', payload: ' \n', headers })).text).toBe(first.text);
  });

  it('is a bare, exact integer', async () => {
    expect((await mempool({ url: '/total_supply' })).text).toContain('"content":360360000000000000}');
  });
});

describe('/latest_block', () => {
  it.each(['GET', 'POST'] as const)('answers %s with the names of all releases', async (method) => {
    const { content } = (await storage({ method, url: '/latest_block' })).body;
    expect(content).toMatchObject({
      height: 7,
      block_hash: BLOCK_HASH,
      prev_block: `b${'0'.repeat(64)}`,
      merkle: 'aa'.repeat(32),
      tx_ids: [TX_HASH],
      header: { b_num: 7, timestamp: 1_700_000_000 },
      block: { header: { b_num: 7 }, transactions: [TX_HASH] },
    });
  });

  it('counts white space as no body (reference, §2.0)', async () => {
    expect((await storage({ method: 'POST', url: '/latest_block', payload: ' \n' })).status).toBe(200);
    expect((await storage({ method: 'GET', url: '/debug_data', payload: ' \n' })).status).toBe(200);
  });

  it('takes white space for no body only where there is none', async () => {
    expectError(await storage({ method: 'POST', url: '/block_by_num', payload: ' ' }), 400, 'Bad Request');
  });

  it('is 400 before the first block', async () => {
    const modules = { storage: fakeStorage(undefined, true) };
    expectError(await storage({ url: '/latest_block' }, { modules }), 400, 'Bad Request');
  });
});

describe('/block_by_num', () => {
  it('leaves numbers without a block out', async () => {
    const { content } = (await storage(post('/block_by_num', [0, 7, 999_999]))).body;
    expect(content.blocks.map(({ height }: { height: number }) => height)).toEqual([7]);
  });

  it('can answer with a list of pairs (decision E9)', async () => {
    const { content } = (await storage(post('/block_by_num', [0, 7]), { envelope: { blockByNum: 'pairs' } })).body;
    expect(content[0]).toEqual(['', '']);
    expect(content[1][0]).toBe(BLOCK_HASH);
    expect(content[1][1].block.header.b_num).toBe(7);
  });

  it.each([[[]], [[-1]], [['1']], [{}], [[1.5]], [5], [null]])('refuses %j', async (body) => {
    expectError(await storage(post('/block_by_num', body)), 400, 'Bad Request');
  });

  it('refuses numbers beyond int64, and takes those beyond 2^53 as unknown', async () => {
    const raw = (payload: string): Request => ({ method: 'POST', url: '/block_by_num', payload });
    expectError(await storage(raw('[9223372036854775808]')), 400, 'Bad Request');
    expect((await storage(raw('[9007199254740993]'))).body.content).toEqual({ blocks: [] });
  });
});

describe('/blockchain_entry', () => {
  it('gives a block for a text (docs/clients.md#c8)', async () => {
    const { content } = (await storage(post('/blockchain_entry', BLOCK_HASH))).body;
    expect(content).toMatchObject({
      type: 'block',
      height: 7,
      block_hash: BLOCK_HASH,
      tx_ids: [TX_HASH],
      header: { b_num: 7 },
    });
    expect(content.Block.block.transactions).toEqual([TX_HASH]);
  });

  it('gives a transaction for a text, with exact amounts', async () => {
    const { content } = (await storage(post('/blockchain_entry', TX_HASH))).body;
    expect(content).toMatchObject({ type: 'transaction', tx_hash: TX_HASH, version: 6, druid_info: null });
    expect(content.outputs[0].value.Token).toBe(ODD_AMOUNT);
    expect(content.Transaction.inputs).toEqual(content.inputs);
  });

  it('gives a tuple for each key of a list, with fillers', async () => {
    const { content } = (await storage(post('/blockchain_entry', [TX_HASH, 'unknown', BLOCK_HASH]))).body;
    expect(content[0][0]).toBe(TX_HASH);
    expect(content[0][1].outputs[0].value.Token).toBe(ODD_AMOUNT);
    expect(content[0][2]).toEqual({ type: 'tx', block_num: 7, tx_num: 1 });
    expect(content[1]).toEqual(['', '', '']);
    expect(content[2][1].block.header.b_num).toBe(7);
  });

  it('answers 200 when all keys of a list are unknown', async () => {
    const sent = await storage(post('/blockchain_entry', ['unknown']));
    expect([sent.status, sent.body.content]).toEqual([200, [['', '', '']]]);
  });

  it.each([['unknown'], [''], [[]], [{}], [5], [[5]], [null]])('refuses %j', async (body) => {
    expectError(await storage(post('/blockchain_entry', body)), 400, 'Bad Request');
  });
});

describe('GET /debug_data (decision E8)', () => {
  it.each(['mempool', 'storage', 'miner', 'user'] as const)('answers on a %s node without any header', async (role) => {
    const sent = await send(await openApp(role), { url: '/debug_data' });
    expect(sent.body).toMatchObject({
      status: 'Success',
      route: 'debug_data',
      content: { node_peers: [['127.0.0.1:12330', '127.0.0.1:12330', 'Storage']], routes_pow: {} },
    });
    expect(sent.body.content.node_api).toContain('debug_data');
    for (const name of sent.body.content.node_api) expect(name).not.toContain('/');
  });

  it('names routes with proof of work without their slash', async () => {
    const node = { type: () => 'Mempool', peers: () => [], routesPow: { '/create_transactions': 2 } };
    const sent = await mempool({ url: '/debug_data' }, { modules: { node } });
    expect(sent.body.content.routes_pow).toEqual({ create_transactions: 2 });
  });
});

describe('envelope.enabled = false', () => {
  it('takes the routes away', async () => {
    expect((await mempool({ url: '/total_supply' }, { envelope: { enabled: false } })).status).toBe(404);
  });
});
