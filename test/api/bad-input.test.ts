/** Every kind of bad input: a problem document with the right status and code, and nothing changed. */

import { describe, expect, it } from 'vitest';
import { TesseraError } from '../../src/lib/errors.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { API_KEY, LIMITS, openApp, type Request, type Sent, send } from '../support/api/app.js';
import { isErrorCode } from '../support/api/codes.js';
import { ADDRESS, type Calls, fakeMempool, PASSPHRASE, TX_HASH, transactionBody } from '../support/api/fakes.js';

const KEY = { 'x-api-key': API_KEY };
const json = JSON.stringify;

function expectProblem(sent: Sent, status: number, code: string): void {
  expect(sent.headers['content-type']).toBe('application/problem+json');
  expect(sent.body).toMatchObject({ type: 'about:blank', status, code });
  expect(sent.status).toBe(status);
  expect(typeof sent.body.title).toBe('string');
  expect(sent.body.detail.length).toBeGreaterThan(10);
  expect(isErrorCode(code)).toBe(true);
}

/** Sends to a fresh app and returns the answer with the calls that reached the services. */
async function attempt(role: NodeRole, request: Request): Promise<Sent & { calls: Calls }> {
  const calls: Calls = [];
  const app = await openApp(role, { calls });
  return { ...(await send(app, request)), calls };
}

const list = (length: number) => Array.from({ length }, () => TX_HASH);
const payment = { kind: 'address', address: ADDRESS, amount: 1, passphrase: PASSPHRASE };

interface Bad {
  readonly what: string;
  readonly role: NodeRole;
  readonly request: Request;
  readonly status: number;
  readonly code: string;
}

const post = (url: string, payload: string | Buffer, headers: Record<string, string> = {}): Request => ({
  method: 'POST',
  url,
  payload,
  headers,
});

const CASES: readonly Bad[] = [
  // Refused by a scan, before a parser builds anything
  bad('1.7 MB of [', 'mempool', post('/v1/balances/query', '['.repeat(1_700_000)), 400, 'malformed_json'),
  bad(
    'a deep value in a member that nobody reads',
    'mempool',
    post('/v1/balances/query', `{"addresses":["${ADDRESS}"],"x":${'['.repeat(500_000)}${']'.repeat(500_000)}}`),
    400,
    'malformed_json',
  ),
  bad(
    'more member names than any honest body has',
    'mempool',
    post('/v1/balances/query', json(Object.fromEntries(list(20_000).map((_, i) => [`member ${i}`, i])))),
    400,
    'malformed_json',
  ),
  // Wrong types and missing members
  ...[
    ['a missing list', '{}'],
    ['a text for a list', '{"addresses":"x"}'],
    ['a number in a list of texts', '{"addresses":[5]}'],
    ['an empty text', '{"addresses":[""]}'],
    ['null for a list', '{"addresses":null}'],
    ['a list for the body', '[]'],
    ['a text for the body', '"x"'],
    ['null for the body', 'null'],
    ['an empty batch', '{"addresses":[]}'],
  ].map(([what = '', body = '']) => bad(what, 'mempool', post('/v1/balances/query', body), 400, 'invalid_request')),
  bad('no body at all', 'mempool', { method: 'POST', url: '/v1/balances/query' }, 400, 'invalid_request'),
  bad('an empty body', 'mempool', post('/v1/balances/query', ''), 400, 'invalid_request'),
  // Oversized batches (decision H4)
  bad(
    '1,001 hashes',
    'mempool',
    post('/v1/transactions/status:query', json({ hashes: list(1001) })),
    400,
    'invalid_request',
  ),
  bad(
    '1,001 transactions',
    'mempool',
    post('/v1/transactions', json({ transactions: list(1001) })),
    400,
    'invalid_request',
  ),
  bad(
    '1,001 keys',
    'storage',
    post('/v1/blockchain-entries/query', json({ keys: list(1001) })),
    400,
    'invalid_request',
  ),
  bad('101 numbers in a query', 'storage', { url: `/v1/blocks?${'num=1&'.repeat(101)}` }, 400, 'invalid_request'),
  bad(
    '101 addresses in a query',
    'mempool',
    { url: `/v1/balances?${'address=a&'.repeat(101)}` },
    400,
    'invalid_request',
  ),
  bad(
    'a body of more than 2 MiB',
    'mempool',
    post('/v1/transactions', `{"x":"${'x'.repeat(2 ** 21)}"}`),
    413,
    'payload_too_large',
  ),
  // Integers
  ...['-1', '1.5', '"5"', '18446744073709551616', '1e400', 'null', '-9007199254740993'].map((amount) =>
    bad(
      `an amount of ${amount}`,
      'user',
      post('/v1/payments', json(payment).replace(':1,', `:${amount},`), KEY),
      400,
      amount === '1e400' ? 'malformed_json' : 'invalid_request',
    ),
  ),
  bad('an amount of 0', 'user', post('/v1/payments', json({ ...payment, amount: 0 }), KEY), 422, 'payment_refused'),
  bad(
    'an amount of 2^63',
    'user',
    post('/v1/payments', json(payment).replace(':1,', ':9223372036854775808,'), KEY),
    422,
    'payment_refused',
  ),
  bad(
    'no items',
    'user',
    post('/v1/items', json({ genesis_hash_spec: 'Create', item_amount: 0 }), KEY),
    400,
    'invalid_request',
  ),
  bad(
    'items beyond int64',
    'user',
    post('/v1/items', '{"genesis_hash_spec":"Create","item_amount":9223372036854775808}', KEY),
    400,
    'invalid_request',
  ),
  bad(
    'an unknown specification',
    'user',
    post('/v1/items', json({ genesis_hash_spec: 'Other', item_amount: 1 }), KEY),
    400,
    'invalid_request',
  ),
  // Queries and paths (decision V27)
  ...[
    '',
    '?num=',
    '?num=x',
    '?num=-1',
    '?num=1.5',
    '?num=1e3',
    '?num=0x10',
    '?num=%201',
    '?num=9223372036854775808',
  ].map((query) => bad(`the query "${query}"`, 'storage', { url: `/v1/blocks${query}` }, 400, 'invalid_request')),
  ...['x', '-1', '1.5', '%20', 'Latest', '9223372036854775808', '99999999999999999999'].map((num) =>
    bad(`the block number "${num}"`, 'storage', { url: `/v1/blocks/${num}` }, 400, 'invalid_request'),
  ),
  bad('a block beyond 2^53', 'storage', { url: '/v1/blocks/9007199254740993' }, 404, 'block_not_found'),
  bad('a missing query value', 'mempool', { url: '/v1/balances' }, 400, 'invalid_request'),
  bad('an empty query value', 'mempool', { url: '/v1/balances?address=' }, 400, 'invalid_request'),
  bad('a status query without a hash', 'mempool', { url: '/v1/transactions/status' }, 400, 'invalid_request'),
  bad('a page that is no number', 'user', { url: '/v1/wallet?page=x' }, 400, 'invalid_request'),
  bad('a page below zero', 'user', { url: '/v1/wallet?page=-1' }, 400, 'invalid_request'),
  bad('a flag that is none', 'user', { url: '/v1/wallet?spent=maybe' }, 400, 'invalid_request'),
  bad('a broken percent encoding', 'storage', { url: '/v1/blockchain-entries/%ff' }, 400, 'invalid_request'),
  // Broken JSON
  ...[
    ['JSON that ends early', '{"transactions":['],
    ['100,000 levels', '['.repeat(100_000)],
    ['100,000 closed levels', `{"transactions":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['__proto__', '{"__proto__":{"transactions":[]}}'],
    ['constructor', '{"constructor":{"prototype":{}}}'],
    ['a duplicate key', '{"transactions":[],"transactions":[]}'],
  ].map(([what = '', body = '']) => bad(what, 'mempool', post('/v1/transactions', body), 400, 'malformed_json')),
  bad('bad UTF-8', 'mempool', post('/v1/transactions', Buffer.of(0x22, 0xc3, 0x28, 0x22)), 400, 'malformed_json'),
  // Malformed transactions and hex
  ...[
    ['no inputs', { inputs: undefined }],
    ['a text as version', { version: '2' }],
    ['a version below zero', { version: -1 }],
    ['inputs that are none', { inputs: [5] }],
    ['a null previous output', { inputs: [{ previous_out: null, script_signature: {} }] }],
    ['an amount beyond 2^64', { outputs: [{ value: { Token: 2 ** 65 }, locktime: 0, script_public_key: ADDRESS }] }],
  ].flatMap(([what, change]) => {
    const body = json({ transactions: [{ ...transactionBody(), ...(change as object) }] });
    return [
      bad(String(what), 'mempool', post('/v1/transactions', body), 400, 'malformed_transaction'),
      bad(`${what}, to serialize`, 'user', post('/v1/transactions:serialize', body), 400, 'malformed_transaction'),
    ];
  }),
  ...['xyz', '0', '00', `${'ff'.repeat(40)}`].map((hex) =>
    bad(
      `the hex ${hex}`,
      'user',
      post('/v1/transactions:deserialize', json({ transactions: [hex] })),
      400,
      'malformed_transaction',
    ),
  ),
  bad(
    'key pairs that are no hex',
    'user',
    post('/v1/wallet/keypairs', json({ addresses: { [ADDRESS]: { public_key: 'xx', secret_key: 'yy' } } }), KEY),
    400,
    'malformed_key_pair',
  ),
  bad(
    'a blank passphrase',
    'user',
    {
      ...post('/v1/wallet/passphrase', json({ old_passphrase: PASSPHRASE, new_passphrase: ' \t' }), KEY),
      method: 'PUT',
    },
    400,
    'blank_passphrase',
  ),
  bad('nothing to refresh', 'user', post('/v1/wallet/running-total:refresh', '{}', KEY), 400, 'no_addresses'),
  bad(
    'nothing to refresh, by an empty list',
    'user',
    post('/v1/wallet/running-total:refresh', '{"addresses":[],"all":false}', KEY),
    400,
    'no_addresses',
  ),
  bad(
    'nothing to refresh, without a body',
    'user',
    { method: 'POST', url: '/v1/wallet/running-total:refresh', headers: KEY },
    400,
    'no_addresses',
  ),
  ...[
    'x',
    '1.2.3.4',
    '1.2.3.4:0',
    '1.2.3.4:65536',
    'localhost:80',
    '::1:80',
    '[::1]',
    '999.1.1.1:80',
    '1.2.3.4:80x',
  ].map((address) =>
    bad(
      `the peer ${address}`,
      'user',
      post('/v1/donation-requests', json({ address }), KEY),
      400,
      'invalid_socket_address',
    ),
  ),
  // Media types
  bad(
    'a text',
    'mempool',
    post('/v1/transactions', '{}', { 'content-type': 'text/plain' }),
    415,
    'unsupported_media_type',
  ),
  bad(
    'a form',
    'mempool',
    post('/v1/transactions', 'a=1', { 'content-type': 'application/x-www-form-urlencoded' }),
    415,
    'unsupported_media_type',
  ),
  bad(
    'a type that is none',
    'mempool',
    post('/v1/transactions', '{}', { 'content-type': 'nonsense' }),
    415,
    'unsupported_media_type',
  ),
  ...['gzip', 'br', 'deflate, identity'].map((encoding) =>
    bad(
      `a body in ${encoding}`,
      'mempool',
      post('/v1/balances/query', json({ addresses: [ADDRESS] }), { 'content-encoding': encoding }),
      415,
      'unsupported_media_type',
    ),
  ),
  ...['iso-8859-1', '"UTF-16"'].map((charset) =>
    bad(
      `the charset ${charset}`,
      'mempool',
      post('/v1/balances/query', json({ addresses: [ADDRESS] }), {
        'content-type': `application/json; charset=${charset}`,
      }),
      415,
      'unsupported_media_type',
    ),
  ),
  // Routes and methods
  bad('an unknown route', 'mempool', { url: '/v1/nothing' }, 404, 'not_found'),
  bad('the bare prefix', 'mempool', { url: '/v1' }, 404, 'not_found'),
  bad('an unknown route with a broken body', 'mempool', post('/v1/nothing', '{'), 404, 'not_found'),
  bad(
    'an unknown route with a text',
    'mempool',
    post('/v1/nothing', 'x', { 'content-type': 'text/plain' }),
    404,
    'not_found',
  ),
  bad('a route of another role', 'mempool', { url: '/v1/wallet' }, 404, 'not_found'),
  bad('a wrong method', 'mempool', post('/v1/supply', '{}'), 405, 'method_not_allowed'),
  bad('a wrong method with a broken body', 'mempool', post('/v1/supply', '{'), 405, 'method_not_allowed'),
  bad(
    'a wrong method with a type that is none',
    'mempool',
    { method: 'DELETE', url: '/v1/supply', headers: { 'content-type': 'x' } },
    405,
    'method_not_allowed',
  ),
  bad('OPTIONS without CORS', 'mempool', { method: 'OPTIONS', url: '/v1/supply' }, 405, 'method_not_allowed'),
];

function bad(what: string, role: NodeRole, request: Request, status: number, code: string): Bad {
  return { what, role, request, status, code };
}

describe('bad input', () => {
  it.each(CASES)('$what: $status $code', async ({ role, request, status, code }) => {
    const sent = await attempt(role, request);
    expectProblem(sent, status, code);
    expect(sent.calls).toEqual([]);
  });

  it('names the limit that was passed (decision H4)', async () => {
    const sent = await attempt('mempool', post('/v1/balances/query', json({ addresses: list(1001) })));
    expect(sent.body.detail).toContain('1000');
  });

  it('names the limit of a body that is too large (decision H4)', async () => {
    const app = await openApp('mempool', { api: { limits: { ...LIMITS, bodyBytes: 5_000 } } });
    const sent = await send(app, post('/v1/transactions', `"${'x'.repeat(5_000)}"`));
    expectProblem(sent, 413, 'payload_too_large');
    expect(sent.body.detail).toContain('5000');
  });

  const itemBody = { genesis_hash_spec: 'Create', item_amount: 1 };
  it.each([
    [
      'mempool',
      '/v1/items',
      { ...itemBody, genesis_hash_spec: 'x' },
      'body.genesis_hash_spec must be Create or Default.',
    ],
    ['user', '/v1/items', { ...itemBody, metadata: 5 }, 'body.metadata must be a string or null.'],
    ['mempool', '/v1/balances/query', { addresses: [] }, 'body.addresses must not be empty.'],
    ['mempool', '/v1/balances/query', { addresses: [''] }, 'body.addresses[0] must not be empty.'],
    ['mempool', '/v1/balances/query', { addresses: 'x' }, 'body.addresses must be a list.'],
  ] as const)('says in words what is wrong: %s %s %j', async (role, url, body, detail) => {
    expect((await attempt(role, post(url, json(body), KEY))).body.detail).toBe(detail);
  });

  it('names the place of the fault', async () => {
    const sent = await attempt('mempool', post('/v1/balances/query', json({ addresses: ['a', 5] })));
    expect(sent.body.detail).toBe('body.addresses[1] must be a string.');
  });

  it('never repeats a passphrase', async () => {
    const sent = await attempt(
      'user',
      post('/v1/payments', json({ ...payment, amount: -1, passphrase: 'hunter2' }), KEY),
    );
    expect(sent.text).not.toContain('hunter2');
  });

  it('tells no client that a transaction is refused which the journal may have (docs/adr/0033-journal-in-etcd.md)', async () => {
    const submit = async () => {
      throw new TesseraError('mempool_unreachable', 'not confirmed: it may be taken yet', {
        details: { mayBeTaken: true },
      });
    };
    const app = await openApp('mempool', { modules: { mempool: { ...fakeMempool(), submit } } });
    const sent = await send(app, post('/v1/transactions', JSON.stringify({ transactions: [transactionBody()] })));
    expect([sent.status, sent.body.code]).toEqual([500, 'outcome_unknown']);
  });

  it('says which methods a route takes', async () => {
    const app = await openApp('user');
    expect((await send(app, { method: 'DELETE', url: '/v1/wallet/keypairs' })).headers.allow).toBe('GET, HEAD, POST');
    // What a stream would send is not known in advance.
    expect((await send(app, { method: 'HEAD', url: '/v1/events' })).headers.allow).toBe('GET');
    expect((await send(app, { method: 'PUT', url: '/v1/transactions%3Aserialize' })).headers.allow).toBe('POST');
  });

  it('says which nodes serve a route of another role', async () => {
    const sent = await attempt('storage', { url: '/v1/wallet' });
    expect(sent.body.detail).toContain('miner and user nodes');
  });
});

describe.each(['123456789012345.9999999999', '0.99999999999999999999', '1.0', '1e3', '1E+0', '1e-400', '-0', '-0.0'])(
  'the number %s, an integer only to those who round it',
  (number) => {
    const transaction = json(transactionBody()).replace('"Token":1000', `"Token":${number}`);

    it.each([
      ['user', '/v1/payments', json(payment).replace(':1,', `:${number},`)],
      ['user', '/v1/items', `{"genesis_hash_spec":"Create","item_amount":${number}}`],
      ['mempool', '/v1/transactions', `{"transactions":[${transaction}]}`],
      ['mempool', '/create_transactions', transaction],
      ['mempool', '/create_item_asset', `{"item_amount" :\n${number}}`],
      ['storage', '/block_by_num', `[ ${number}]`],
      ['storage', '/block_by_num', `[0,${number}]`],
      ['storage', '/block_by_num', number],
    ] as const)('is refused by its text: %s %s', async (role, url, body) => {
      const sent = await attempt(role, post(url, body, KEY));
      expect(sent.status).toBe(400);
      expect(sent.text).toContain('a whole number must be written in digits alone, at character ');
      expect(sent.calls).toEqual([]);
    });
  },
);

it('takes fractions in members that nobody reads (decision H6)', async () => {
  const body = json({ ...payment, note: [0.5, 1e-7] });
  expect((await attempt('user', post('/v1/payments', body, KEY))).status).toBe(202);
});

describe('input that must be accepted', () => {
  it.each([
    [
      'an unknown member (decision H6)',
      'mempool',
      post('/v1/balances/query', json({ addresses: [ADDRESS], more: 1 })),
      200,
    ],
    ['an unknown query value', 'mempool', { url: `/v1/balances?address=${ADDRESS}&more=1` }, 200],
    [
      'a GET with the JSON type and no body',
      'mempool',
      { url: '/v1/supply', headers: { 'content-type': 'application/json' } },
      200,
    ],
    ['no body where none is expected', 'user', { method: 'POST', url: '/v1/wallet/addresses', headers: KEY }, 201],
    ['an empty JSON body where none is expected', 'user', post('/v1/wallet/addresses', '', KEY), 201],
    ['{} where no body is expected (sdk-rust)', 'user', post('/v1/wallet/addresses', '{}', KEY), 201],
    [
      'a charset beside the type',
      'mempool',
      post('/v1/balances/query', json({ addresses: [ADDRESS] }), { 'content-type': 'application/json; charset=UTF-8' }),
      200,
    ],
    [
      'the charset in quotes',
      'mempool',
      post('/v1/balances/query', json({ addresses: [ADDRESS] }), {
        'content-type': 'application/json; charset="utf-8"',
      }),
      200,
    ],
    [
      'the content encoding identity',
      'mempool',
      post('/v1/balances/query', json({ addresses: [ADDRESS] }), { 'content-encoding': 'identity' }),
      200,
    ],
    ['1,000 entries', 'mempool', post('/v1/transactions/status:query', json({ hashes: list(1000) })), 200],
    ['100 values in a query', 'storage', { url: `/v1/blocks?${'num=7&'.repeat(100)}` }, 200],
    [
      'a colon as %3A (decision H5)',
      'mempool',
      post('/v1/transactions/status%3Aquery', json({ hashes: [TX_HASH] })),
      200,
    ],
    ['a colon as %3a', 'mempool', post('/v1/transactions/status%3aquery', json({ hashes: [TX_HASH] })), 200],
    ['the largest int64 as a number of a block', 'storage', { url: '/v1/blocks?num=9223372036854775807' }, 200],
  ] as const)('%s', async (_what, role, request, status) => {
    expect((await attempt(role, request)).status).toBe(status);
  });
});
