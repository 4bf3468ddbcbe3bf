/** What strangers and slow clients get: bodies that are too large, requests that never end, wrong keys, too many streams. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { streamPlaces } from '../../src/api/routes/events/handlers.js';
import { TesseraError } from '../../src/lib/errors.js';
import { limitedGroup } from '../../src/lib/ip-address.js';
import { API_KEY, type AppSetup, LIMITS, openApp, send } from '../support/api/app.js';
import { ADDRESS, fakeMempool, PASSPHRASE, transactionBody } from '../support/api/fakes.js';
import { ManualClock } from '../support/manual-clock.js';

const BODY_LIMIT = 64 * 1024;
const TOO_LARGE = 8 * 1024 * 1024;

async function listen(setup: AppSetup = {}): Promise<{ url: string; port: number }> {
  const limits = { ...LIMITS, bodyBytes: BODY_LIMIT, ...setup.api?.limits };
  const app = await openApp('mempool', { ...setup, api: { ...setup.api, limits } });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { url, port: Number(new URL(url).port) };
}

/** A connection, and everything that came in on it. */
function open(port: number): { socket: Socket; received: (pattern: RegExp) => Promise<string> } {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket.on('data', (data) => {
    text += data.toString();
    socket.emit('text');
  });
  socket.on('error', (error) => socket.emit('text', error));
  return {
    socket,
    async received(pattern) {
      while (!pattern.test(text)) {
        if (socket.destroyed) throw new Error(`the connection ended with ${text}`);
        await Promise.race([once(socket, 'text'), once(socket, 'close')]);
      }
      return text;
    },
  };
}

const HEAD = 'POST /v1/balances/query HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';
const NEXT_REQUEST = 'GET /v1/supply HTTP/1.1\r\nhost: x\r\n\r\n';

describe('a body over the limit', () => {
  it.each([
    ['of a known length', `${HEAD}content-length: ${TOO_LARGE}\r\n\r\n${'x'.repeat(TOO_LARGE)}`],
    [
      'in chunks',
      `${HEAD}transfer-encoding: chunked\r\n\r\n${TOO_LARGE.toString(16)}\r\n${'x'.repeat(TOO_LARGE)}\r\n0\r\n\r\n`,
    ],
    [
      'on an envelope route',
      `${HEAD.replace('/v1/balances/query', '/fetch_balance')}content-length: ${TOO_LARGE}\r\n\r\n${'x'.repeat(TOO_LARGE)}`,
    ],
  ])('%s: answered 413, read to its end, and the connection goes on', async (_how, request) => {
    const { port } = await listen();
    const { socket, received } = open(port);
    socket.write(request);
    await received(/^HTTP\/1.1 413 /);
    socket.write(NEXT_REQUEST);
    await received(/HTTP\/1.1 200 [\s\S]*"issued"/);
  });

  it('fetch gets the answer every time', async () => {
    const { url } = await listen();
    const post = () =>
      fetch(`${url}/v1/balances/query`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: 'x'.repeat(TOO_LARGE),
      }).then(async (response) => [response.status, ((await response.json()) as { code: string }).code]);
    for (let i = 0; i < 10; i++) expect(await post()).toEqual([413, 'payload_too_large']);
  });

  it.each([
    ['that says so', 'HTTP/1.1\r\nconnection: close'],
    ['of HTTP/1.0', 'HTTP/1.0'],
  ])('a client of one request, %s, gets the answer, and then the end of the connection', async (_how, version) => {
    const { port } = await listen();
    for (let i = 0; i < 4; i++) {
      const { socket, received } = open(port);
      const ended = once(socket, 'end');
      socket.write(`${HEAD.replace('HTTP/1.1', version)}content-length: ${TOO_LARGE}\r\n\r\n`);
      for (let sent = 0; sent < TOO_LARGE && !socket.destroyed; sent += BODY_LIMIT) {
        if (!socket.write('x'.repeat(BODY_LIMIT))) await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
      }
      expect(await received(/^HTTP\/1.1 413 [\s\S]*\}$/)).toContain('payload_too_large');
      await ended;
    }
  });

  it('the rest may take ten seconds; then the connection is closed', async () => {
    const clock = new ManualClock();
    // Nothing else is to close it: the time limits of requests and of idle connections would.
    const limits = { ...LIMITS, bodyBytes: BODY_LIMIT, requestTimeoutMs: 600_000, keepAliveTimeoutMs: 600_000 };
    const { port } = await listen({ modules: { clock }, api: { limits } });
    const { socket, received } = open(port);
    socket.write(`${HEAD}content-length: ${TOO_LARGE}\r\n\r\n`);
    await received(/^HTTP\/1.1 413 /);
    const closed = once(socket, 'close');
    clock.advance(10_000);
    await closed;
  });
});

describe('a request that does not arrive in its time', () => {
  it.each([
    ['half a header', 'GET /v1/supply HTTP/1.1\r\nhost: x\r\n'],
    ['half a body', `${HEAD}content-length: 100\r\n\r\n{"addresses":`],
  ])('%s: 408 when api.limits.request_timeout_ms is over, not half a minute later', async (_what, text) => {
    const { port } = await listen({ api: { limits: { ...LIMITS, requestTimeoutMs: 200 } } });
    const { socket, received } = open(port);
    socket.write(text);
    // The whole test has five seconds.
    expect(await received(/^HTTP\/1.1 408 [\s\S]*\}$/)).toContain('application/problem+json');
  });
});

describe('a full pool (decision B14)', () => {
  it.each([
    ['/v1/transactions', { transactions: [transactionBody()] }],
    ['/create_transactions', [transactionBody()]],
  ])('%s answers 500 with Retry-After', async (url, body) => {
    const submit = async () => {
      throw new TesseraError('mempool_full', 'The pool is full; try again after the next block.');
    };
    const app = await openApp('mempool', { modules: { mempool: { ...fakeMempool(), submit } } });
    const sent = await send(app, { method: 'POST', url, payload: JSON.stringify(body) });
    expect(sent.status).toBe(500);
    expect(Number(sent.headers['retry-after'])).toBeGreaterThan(0);
  });
});

describe('wrong API keys', () => {
  it('count for the rate limit, and so does a right one', async () => {
    const app = await openApp('user', { api: { rateLimit: { enabled: true, perMinute: 20 } } });
    const guess = async (key: string) =>
      (await send(app, { url: '/v1/wallet/keypairs', headers: { 'x-api-key': key } })).status;
    const statuses: number[] = [];
    for (let i = 0; i < 40; i++) statuses.push(await guess(`wrong-key-number-${i}`));
    expect(statuses.filter((status) => status === 401)).toHaveLength(20);
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
    expect(await guess(API_KEY)).toBe(429);
  });

  const keypairs = (remoteAddress: string, key: string) => ({
    url: '/v1/wallet/keypairs',
    remoteAddress,
    headers: { 'x-api-key': key },
  });

  it('are counted without api.rate_limit too, by address, and others are not concerned', async () => {
    const clock = new ManualClock();
    const app = await openApp('user', { modules: { clock } });
    const guess = (from: string, key: string) => app.inject(keypairs(from, key));
    for (let i = 0; i < 20; i++) expect((await guess('10.0.0.1', `wrong-key-number-${i}`)).statusCode).toBe(401);
    const refused = await guess('10.0.0.1', 'wrong-key-number-20');
    expect(refused.statusCode).toBe(429);
    expect(refused.json()).toMatchObject({ code: 'rate_limited' });
    expect(refused.headers['retry-after']).toBe('60');
    // The guess after the last may be the right one: it is not looked at.
    expect((await guess('10.0.0.1', API_KEY)).statusCode).toBe(429);
    expect((await guess('10.0.0.2', API_KEY)).statusCode).toBe(200);
    expect((await app.inject({ url: '/v1/wallet', remoteAddress: '10.0.0.1' })).statusCode).toBe(200);
    clock.advance(60_000);
    expect((await guess('10.0.0.1', API_KEY)).statusCode).toBe(200);
  });

  it('behind a proxy do not keep a right one out', async () => {
    const app = await openApp('user', { modules: { clock: new ManualClock() } });
    for (let i = 0; i < 20; i++) await app.inject(keypairs('127.0.0.1', `wrong-key-number-${i}`));
    expect((await app.inject(keypairs('127.0.0.1', 'wrong-key-number-20'))).statusCode).toBe(429);
    expect((await app.inject(keypairs('127.0.0.1', API_KEY))).statusCode).toBe(200);
  });

  it('the addresses of one IPv6 /64 count together', async () => {
    const app = await openApp('mempool', { api: { rateLimit: { enabled: true, perMinute: 2 } } });
    const from = async (remoteAddress: string) => (await app.inject({ url: '/v1/supply', remoteAddress })).statusCode;
    expect(await from('2001:db8::1')).toBe(200);
    expect(await from('2001:db8::2')).toBe(200);
    expect(await from('2001:db8::3')).toBe(429);
    expect(await from('2001:db8:0:1::3')).toBe(200);
  });
});

describe('event streams', () => {
  const codeOf = (run: () => unknown): string | undefined => {
    try {
      run();
      return undefined;
    } catch (error) {
      return error instanceof TesseraError ? error.code : String(error);
    }
  };

  it('one address has a part of them, and places that are left are free again', () => {
    const places = streamPlaces(40);
    const take = (address: string): (() => void) => places.take(limitedGroup(address), [1]);
    const [leave = () => undefined] = Array.from({ length: 16 }, () => take('10.0.0.1'));
    expect(codeOf(() => take('10.0.0.1'))).toBe('rate_limited');
    leave();
    take('10.0.0.1');
    for (let i = 0; i < 16; i++) take(`2001:db8::${i}`);
    expect(codeOf(() => take('2001:db8::ffff'))).toBe('rate_limited');
    for (let i = 2; i < 10; i++) take(`10.0.0.${i}`);
    expect(codeOf(() => take('10.0.0.10'))).toBe('overloaded');
  });

  it('loopback is bound by the total alone', () => {
    const places = streamPlaces(48);
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1'])
      for (let i = 0; i < 16; i++) places.take(limitedGroup(address), [1]);
    expect(codeOf(() => places.take(limitedGroup('127.0.0.1'), [1]))).toBe('overloaded');
  });
});

describe('small ones of the contract', () => {
  it('POST /debug_data is served as GET is (decision E5)', async () => {
    const app = await openApp('storage');
    const [get, post] = [
      await send(app, { url: '/debug_data' }),
      await send(app, { method: 'POST', url: '/debug_data', payload: '' }),
    ];
    expect(post.status).toBe(200);
    expect(post.body).toEqual(get.body);
  });

  it('an empty address of kind ip is no socket address, and the passphrase is checked first', async () => {
    const app = await openApp('user');
    const pay = (passphrase: string) =>
      send(app, {
        method: 'POST',
        url: '/v1/payments',
        headers: { 'x-api-key': API_KEY },
        payload: JSON.stringify({ kind: 'ip', address: '', amount: 1, passphrase }),
      });
    expect(await pay(PASSPHRASE)).toMatchObject({ status: 400, body: { code: 'invalid_socket_address' } });
    expect(await pay('wrong')).toMatchObject({ status: 401, body: { code: 'wrong_passphrase' } });
  });

  it('an empty address of a donation request is no socket address', async () => {
    const app = await openApp('user');
    const sent = await send(app, {
      method: 'POST',
      url: '/v1/donation-requests',
      headers: { 'x-api-key': API_KEY },
      payload: '{"address":""}',
    });
    expect(sent).toMatchObject({ status: 400, body: { code: 'invalid_socket_address' } });
  });

  it('item creation is open on request where the client signs, and never on a wallet', async () => {
    const item = {
      genesis_hash_spec: 'Create',
      item_amount: 1,
      public_key: 'ab'.repeat(32),
      script_public_key: ADDRESS,
      signature: 'cd'.repeat(64),
    };
    const create = async (role: 'mempool' | 'user' | 'miner', openItemCreation: boolean) => {
      const app = await openApp(role, { api: { openItemCreation } });
      return (await send(app, { method: 'POST', url: '/v1/items', payload: JSON.stringify(item) })).status;
    };
    expect(await create('mempool', false)).toBe(401);
    expect(await create('mempool', true)).toBe(201);
    expect(await create('user', true)).toBe(401);
    expect(await create('miner', true)).toBe(401);
  });
});
