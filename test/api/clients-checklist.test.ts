/**
 * The acceptance checklist of the client reference (§6), item by item, as far as it needs no network. What needs one is
 * with the network tests: the item vectors with real signatures, item spends with `metadata: null`, trades, retrievable
 * coinbases and links between blocks, and the scripted sessions.
 */

import { describe, expect, it } from 'vitest';
import { API_KEY, type AppSetup, openApp, type Request, send } from '../support/api/app.js';
import {
  ADDRESS,
  BLOCK_HASH,
  type Calls,
  fakeMempool,
  ODD_AMOUNT,
  OTHER_ADDRESS,
  PASSPHRASE,
  TX_HASH,
  transactionBody,
} from '../support/api/fakes.js';

const BASE36_ID = '60ddarpg7bnv7j1hl7jl2kkqhav47aom';
const OPEN: AppSetup = { api: { auth: 'open', keys: [] } };
const post = (url: string, body: unknown, headers: Record<string, string> = {}): Request => ({
  method: 'POST',
  url,
  payload: JSON.stringify(body),
  headers,
});

describe('checklist, envelope', () => {
  it.each(['mempool', 'storage'] as const)(
    'GET /debug_data without headers: 200, Success, routes_pow (%s)',
    async (role) => {
      const sent = await send(await openApp(role), { url: '/debug_data' });
      expect(sent.status).toBe(200);
      expect(sent.body.status).toBe('Success');
      expect(sent.body.content.routes_pow).toEqual({});
    },
  );

  it('POST /fetch_balance: list and {address_list}; only asked addresses; exact integers; unknown address 200', async () => {
    const app = await openApp('mempool');
    for (const body of [[ADDRESS], { address_list: [ADDRESS] }]) {
      const sent = await send(app, post('/fetch_balance', body));
      expect(Object.keys(sent.body.content.address_list)).toEqual([ADDRESS]);
      expect(sent.body.content.total.tokens).toBe(ODD_AMOUNT);
    }
    expect((await send(app, post('/fetch_balance', ['ee'.repeat(32)]))).status).toBe(200);
  });

  it('x-cache-id: base 36 and absent accepted, anything else a 400 envelope with JSON nulls', async () => {
    const app = await openApp('mempool');
    const ask = (id?: string) =>
      send(app, post('/fetch_balance', [ADDRESS], id === undefined ? {} : { 'x-cache-id': id }));
    expect((await ask(BASE36_ID)).body.id).toBe(BASE36_ID);
    expect((await ask()).body.id).toBe('');
    for (const id of ['a'.repeat(31), 'A'.repeat(32), `${'a'.repeat(31)}!`]) {
      const sent = await ask(id);
      expect(sent.status).toBe(400);
      expect(sent.body).toMatchObject({ id: null, status: 'Error', route: null, content: null });
    }
  });

  it('same x-cache-id and body twice: one transaction, identical reply', async () => {
    const calls: Calls = [];
    const app = await openApp('mempool', { calls });
    const request = post('/create_transactions', [transactionBody()], { 'x-cache-id': BASE36_ID });
    const [first, again] = [await send(app, request), await send(app, request)];
    expect(again.text).toBe(first.text);
    expect(calls).toHaveLength(1);
  });

  it('/create_transactions: object and list; Success; last key is the hash, equal to transaction.tx_hash', async () => {
    const app = await openApp('mempool');
    for (const body of [transactionBody(), [transactionBody()]]) {
      const { status, content } = (await send(app, post('/create_transactions', body))).body;
      expect(status).toBe('Success');
      expect(Object.keys(content).at(-1)).toBe(content.transaction.tx_hash);
    }
  });

  it('genesis_hash_spec and drs_tx_hash_spec, any case', async () => {
    const calls: Calls = [];
    const app = await openApp('mempool', { calls });
    const item = {
      item_amount: 1,
      script_public_key: ADDRESS,
      public_key: 'aa'.repeat(32),
      signature: 'bb'.repeat(64),
    };
    for (const spec of [
      { genesis_hash_spec: 'Create' },
      { drs_tx_hash_spec: 'create' },
      { drs_tx_hash_spec: 'CREATE' },
    ]) {
      expect((await send(app, post('/create_item_asset', { ...item, ...spec }))).status).toBe(200);
    }
    expect(calls.map(({ args }) => (args[0] as { spec: string }).spec)).toEqual(['Create', 'Create', 'Create']);
  });

  it.each([
    ['storage', '/latest_block'],
    ['mempool', '/issued_supply'],
    ['mempool', '/total_supply'],
  ] as const)('%s %s by GET, and by POST with an empty body and the JSON type', async (role, url) => {
    const app = await openApp(role);
    const get = await send(app, { url });
    const posted = await send(app, { method: 'POST', url, payload: '' });
    expect([get.status, posted.status, posted.text]).toEqual([200, 200, get.text]);
  });

  it('/blockchain_entry: text (block, transaction, unknown → 400) and list (tuples, filler)', async () => {
    const app = await openApp('storage');
    expect((await send(app, post('/blockchain_entry', BLOCK_HASH))).body.content.type).toBe('block');
    expect((await send(app, post('/blockchain_entry', TX_HASH))).body.content.type).toBe('transaction');
    expect((await send(app, post('/blockchain_entry', 'unknown'))).status).toBe(400);
    const { content } = (await send(app, post('/blockchain_entry', [TX_HASH, 'unknown']))).body;
    expect(content[0][1].outputs).toBeDefined();
    expect(content[1]).toEqual(['', '', '']);
  });

  it('/block_by_num: only known blocks; [], [-1], ["1"], {} → 400', async () => {
    const app = await openApp('storage');
    expect((await send(app, post('/block_by_num', [7, 999_999]))).body.content.blocks).toHaveLength(1);
    for (const body of [[], [-1], ['1'], {}]) expect((await send(app, post('/block_by_num', body))).status).toBe(400);
  });

  it('OPTIONS preflight with x-cache-id, x-nonce, x-api-key, content-type', async () => {
    const app = await openApp('mempool', { api: { cors: 'all' } });
    const sent = await send(app, {
      method: 'OPTIONS',
      url: '/create_transactions',
      headers: { origin: 'http://wallet.example', 'access-control-request-method': 'POST' },
    });
    expect(sent.status).toBe(204);
    for (const header of ['x-cache-id', 'x-nonce', 'x-api-key', 'content-type']) {
      expect(sent.headers['access-control-allow-headers']).toContain(header);
    }
  });
});

describe('checklist, v1', () => {
  it('sdk-js: balances query, items without a key, transactions with fees and druid_info.genesis_hash null', async () => {
    const app = await openApp('mempool', OPEN);
    const balances = await send(app, post('/v1/balances/query', { addresses: [OTHER_ADDRESS, ADDRESS] }));
    expect(Object.keys(balances.body.balance.address_list)).toEqual([OTHER_ADDRESS, ADDRESS]);
    const item = {
      item_amount: 1,
      genesis_hash_spec: 'Create',
      metadata: null,
      script_public_key: ADDRESS,
      public_key: 'aa'.repeat(32),
      signature: 'bb'.repeat(64),
    };
    expect((await send(app, post('/v1/items', item))).status).toBe(201);
    const half = {
      ...transactionBody(),
      fees: null,
      druid_info: {
        druid: 'DRUID0xd0f407436f7f1fc494d7aee22939090e',
        participants: 2,
        expectations: [{ from: ADDRESS, to: ADDRESS, asset: { Token: 5 } }],
        genesis_hash: null,
      },
    };
    expect((await send(app, post('/v1/transactions', { transactions: [half] }))).status).toBe(201);
  });

  it('explorer: 100 numbers in a URL, 200 keys in a body, issued as digits', async () => {
    const storage = await openApp('storage');
    const numbers = Array.from({ length: 100 }, (_, i) => `num=${i}`).join('&');
    expect((await send(storage, { url: `/v1/blocks?${numbers}` })).body).toHaveLength(1);
    const keys = Array.from({ length: 200 }, (_, i) => (i === 100 ? TX_HASH : `g${i}`));
    expect((await send(storage, post('/v1/blockchain-entries/query', { keys }))).body).toHaveLength(1);
    const mempool = await openApp('mempool');
    expect((await send(mempool, { url: '/v1/supply' })).text).toMatch(/"issued"\s*:\s*(\d+)/);
  });

  it('status by hash repeated, by tx_hash, by query body, with %3A', async () => {
    const app = await openApp('mempool');
    const url = '/v1/transactions/status';
    const expected = { [TX_HASH]: { status: 'Confirmed', timestamp: 1_700_000_000, additional_info: 'In block 7' } };
    for (const query of [
      `hash=${TX_HASH}`,
      `hash=unknown&hash=${TX_HASH}`,
      `tx_hash=${TX_HASH}`,
      `hash=x&tx_hash=${TX_HASH}`,
    ]) {
      expect((await send(app, { url: `${url}?${query}` })).body).toEqual(expected);
    }
    for (const path of [`${url}:query`, `${url}%3Aquery`]) {
      expect((await send(app, post(path, { hashes: [TX_HASH, 'unknown'] }))).body).toEqual(expected);
    }
  });

  it.each(['user', 'mempool', 'miner'] as const)('serialize and back is equal, in Pay2PkH form (%s)', async (role) => {
    const app = await openApp(role, { api: { toolingEverywhere: true } });
    const transaction = transactionBody(ODD_AMOUNT);
    const payload = `{"transactions":[${JSON.stringify(transactionBody('#' as never)).replace('"#"', String(ODD_AMOUNT))}]}`;
    const serialized = await send(app, { method: 'POST', url: '/v1/transactions%3Aserialize', payload });
    const hex = serialized.body.transactions[0].txn_hex;
    const back = await send(app, post('/v1/transactions:deserialize', { transactions: [hex] }));
    expect(back.body.transactions).toEqual([transaction]);
  });

  it.each([
    ['404 of an unknown route', { url: '/v1/nothing' }, 404],
    ['405', { method: 'DELETE', url: '/v1/supply' }, 405],
    ['413', { method: 'POST', url: '/v1/transactions', payload: `"${'x'.repeat(2 ** 21)}"` }, 413],
    ['415', { method: 'POST', url: '/v1/transactions', payload: 'x', headers: { 'content-type': 'text/plain' } }, 415],
    ['400 of malformed JSON', { method: 'POST', url: '/v1/transactions', payload: '{' }, 400],
  ] as const)('%s is a problem with an integer status', async (_what, request, status) => {
    const sent = await send(await openApp('mempool'), request);
    expect(sent.headers['content-type']).toBe('application/problem+json');
    expect(sent.body).toMatchObject({ status, title: expect.any(String), type: 'about:blank' });
  });

  it('401 only where a key is asked for; wrong passphrase 401; {} on wallet/addresses accepted', async () => {
    const open = await openApp('miner', OPEN);
    const payment = { kind: 'address', address: ADDRESS, amount: 1, locktime: null, passphrase: PASSPHRASE };
    expect((await send(open, post('/v1/payments', payment))).status).toBe(202);
    expect((await send(open, post('/v1/payments', { ...payment, passphrase: 'wrong' }))).status).toBe(401);
    expect((await send(open, post('/v1/wallet/addresses', {}))).status).toBe(201);
    const closed = await openApp('miner');
    expect((await send(closed, post('/v1/payments', payment))).status).toBe(401);
    expect((await send(closed, post('/v1/payments', payment, { 'x-api-key': API_KEY }))).status).toBe(202);
  });

  it('stack scripts with hex and with bytes have the hash of the Pay2PkH form', async () => {
    const app = await openApp('user');
    const short = transactionBody();
    const serialize = async (transaction: unknown) =>
      (await send(app, post('/v1/transactions:serialize', { transactions: [transaction] }))).body.transactions[0];
    const [signature, publicKey, data] = ['bb'.repeat(64), 'cc'.repeat(32), 'aa'.repeat(32)];
    const expected = await serialize(short);
    const address = addressIn(expected.txn_hex, data);
    const stack = (asBytes: boolean) => {
      const bytes = (hex: string) => (asBytes ? [...Buffer.from(hex, 'hex')] : hex);
      return [
        { Bytes: bytes(data) },
        { Signature: bytes(signature) },
        { PubKey: bytes(publicKey) },
        { Op: 'OP_DUP' },
        { Op: 'OP_HASH256' },
        { Bytes: bytes(address) },
        { Op: 'OP_EQUALVERIFY' },
        { Op: 'OP_CHECKSIG' },
      ];
    };
    for (const asBytes of [false, true]) {
      const inputs = [{ previous_out: { t_hash: TX_HASH, n: 0 }, script_signature: { stack: stack(asBytes) } }];
      expect(await serialize({ ...short, inputs })).toEqual(expected);
    }
  });

  it.each([360_360_000_000_000_000n, 9_007_199_254_740_993n])('%s survives request and response', async (amount) => {
    const usual = fakeMempool();
    const seen: bigint[] = [];
    const submit: typeof usual.submit = async (transactions) => {
      for (const { outputs } of transactions) seen.push(...outputs.map(({ value }) => value.amount));
      return usual.submit(transactions);
    };
    const app = await openApp('mempool', { modules: { mempool: { ...usual, submit } } });
    const payload = `{"transactions":[${JSON.stringify(transactionBody(1)).replace('"Token":1', `"Token":${amount}`)}]}`;
    const sent = await send(app, { method: 'POST', url: '/v1/transactions', payload });
    expect(seen).toEqual([amount]);
    expect(sent.text).toContain(`"amount":${amount}`);
  });
});

/** The address that the encoder put into the script, as text behind the text of the signed data. */
function addressIn(txHex: string, data: string): string {
  const text = Buffer.from(txHex, 'hex').toString('latin1');
  const found = /[0-9a-f]{64}/.exec(text.slice(text.indexOf(data) + data.length));
  if (found === null) throw new Error('no address in the script');
  return found[0];
}
