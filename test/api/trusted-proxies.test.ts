/**
 * Limits by address behind a proxy (SECURITY.md): without `api.trusted_proxies` all of its clients are one address, with it
 * each is its own, and nobody can choose what he counts as.
 */

import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it } from 'vitest';
import { API_KEY, openApp } from '../support/api/app.js';
import { fakeMempool, transactionBody } from '../support/api/fakes.js';
import { ManualClock } from '../support/manual-clock.js';

const PROXY = '10.0.0.9';
const ATTACKER = '203.0.113.66';
const EXCHANGE = '198.51.100.7';
const MEBIBYTE = 1024 * 1024;
/** More bytes of refused bodies than an address may send in a minute. */
const TOO_MANY = 18;

const junk = JSON.stringify({ transactions: 'x'.repeat(MEBIBYTE) });
const honest = JSON.stringify({ transactions: [transactionBody()] });

async function post(app: FastifyInstance, remoteAddress: string, forwardedFor: string, payload: string) {
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': forwardedFor };
  const answer = await app.inject({ method: 'POST', url: '/v1/transactions', remoteAddress, headers, payload });
  // A request is counted when its answer is out, a moment after it is here.
  await new Promise((resolve) => setImmediate(resolve));
  return answer.statusCode;
}

async function flood(app: FastifyInstance, from: string, forwardedFor: (i: number) => string): Promise<number> {
  let last = 0;
  for (let i = 0; i < TOO_MANY; i++) last = await post(app, from, forwardedFor(i), junk);
  return last;
}

const appWith = (trustedProxies: readonly string[]) =>
  openApp('mempool', { api: { trustedProxies }, modules: { clock: new ManualClock() } });

/** The sender that a mempool node sees behind a transaction of this connection. */
async function senderOf(trustedProxies: readonly string[], from: string, forwardedFor: string): Promise<string> {
  const senders: string[] = [];
  const mempool = fakeMempool();
  const app = await openApp('mempool', {
    api: { trustedProxies },
    modules: {
      mempool: {
        ...mempool,
        submit(transactions, sender) {
          senders.push(sender ?? '');
          return mempool.submit(transactions, sender);
        },
      },
    },
  });
  await post(app, from, forwardedFor, honest);
  return senders.join();
}

describe('clients of a proxy', () => {
  it('are one address for the refused bodies when the proxy is not trusted', async () => {
    const app = await appWith([]);
    expect(await flood(app, PROXY, () => ATTACKER)).toBe(429);
    expect(await post(app, PROXY, EXCHANGE, honest)).toBe(429);
  });

  it('are an address each when it is trusted', async () => {
    const app = await appWith([PROXY]);
    expect(await flood(app, PROXY, () => ATTACKER)).toBe(429);
    expect(await post(app, PROXY, EXCHANGE, honest)).toBe(201);
  });

  it('are not loopback because a trusted proxy is', async () => {
    const app = await appWith(['127.0.0.1']);
    expect(await flood(app, '127.0.0.1', () => ATTACKER)).toBe(429);
    expect(await post(app, '127.0.0.1', EXCHANGE, honest)).toBe(201);
  });

  it.each([
    ['without the option', [], 401, 429],
    ['with it', [PROXY], 429, 200],
  ])('and wrong API keys, %s', async (_name, trustedProxies, _attacker, operator) => {
    const app = await openApp('user', { api: { trustedProxies }, modules: { clock: new ManualClock() } });
    const keypairs = async (client: string, key: string) =>
      (
        await app.inject({
          url: '/v1/wallet/keypairs',
          remoteAddress: PROXY,
          headers: { 'x-api-key': key, 'x-forwarded-for': client },
        })
      ).statusCode;
    for (let i = 0; i < 20; i++) expect(await keypairs(ATTACKER, `wrong-key-number-${i}`)).toBe(401);
    expect(await keypairs(ATTACKER, API_KEY)).toBe(429);
    expect(await keypairs(EXCHANGE, API_KEY)).toBe(operator);
  });

  it('are limited each by api.rate_limit', async () => {
    const rateLimit = { enabled: true, perMinute: 1 };
    const app = await openApp('mempool', { api: { rateLimit, trustedProxies: ['10.0.0.0/8'] } });
    const ask = async (client: string) =>
      (await app.inject({ url: '/v1/supply', remoteAddress: PROXY, headers: { 'x-forwarded-for': client } }))
        .statusCode;
    expect([await ask(ATTACKER), await ask(ATTACKER), await ask(EXCHANGE)]).toEqual([200, 429, 200]);
  });
});

describe('the sender of a transaction', () => {
  it.each([
    ['the proxy, when none is trusted', [], PROXY, EXCHANGE, PROXY],
    ['the client of a trusted proxy', [PROXY], PROXY, EXCHANGE, EXCHANGE],
    ['the client of a proxy in a trusted network', ['10.0.0.0/8'], PROXY, EXCHANGE, EXCHANGE],
    ['the client of a proxy that IPv6 names', [PROXY], `::ffff:${PROXY}`, EXCHANGE, EXCHANGE],
    ['the /64 of an IPv6 client', ['2001:db8::/32'], '2001:db8::1', '2a00:1:2:3::7', '2a00:1:2:3::/64'],
    ['the client before two trusted proxies', [PROXY, '10.0.0.8'], PROXY, `${EXCHANGE}, 10.0.0.8`, EXCHANGE],
    ['the last proxy that is not trusted', [PROXY], PROXY, `${EXCHANGE}, 10.0.0.8`, '10.0.0.8'],
    ['a client with a port', [PROXY], PROXY, `${EXCHANGE}:50123`, EXCHANGE],
    ['an IPv6 client with a port', [PROXY], PROXY, '[2a00:1:2:3::7]:50123', '2a00:1:2:3::/64'],
    ['a trusted proxy that asks for itself', [PROXY], PROXY, '', PROXY],
  ])('is %s', async (_name, trusted, from, header, sender) => {
    expect(await senderOf(trusted, from, header)).toBe(sender);
  });

  it.each([
    ['a header from an address that is not trusted', [PROXY], ATTACKER, EXCHANGE, ATTACKER],
    ['a header over loopback when only another is trusted', [PROXY], '127.0.0.1', EXCHANGE, '127.0.0.1'],
    ['entries before the last', [PROXY], PROXY, `127.0.0.1, ${EXCHANGE}, ${ATTACKER}`, ATTACKER],
    ['a trusted address before the last', [PROXY], PROXY, `${EXCHANGE}, ${PROXY}, ${ATTACKER}`, ATTACKER],
    ['commas and spaces', [PROXY], PROXY, `${EXCHANGE},, ,${ATTACKER} , `, ATTACKER],
  ])('is not changed by %s', async (_name, trusted, from, header, sender) => {
    expect(await senderOf(trusted, from, header)).toBe(sender);
  });

  it.each([
    '127.0.0.1',
    '::1',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    'localhost',
    '[::1]:80',
    'x',
    '_',
  ])('is nobody known, and not loopback, when a trusted proxy names %s', async (name) => {
    expect(await senderOf([PROXY], PROXY, name)).toBe('unknown');
    expect(await senderOf(['127.0.0.1'], '127.0.0.1', name)).toBe('unknown');
  });

  it('cannot be chosen by new entries in each request', async () => {
    const app = await appWith([PROXY]);
    expect(await flood(app, PROXY, (i) => `198.51.100.${i}, ${ATTACKER}`)).toBe(429);
    const direct = await appWith([PROXY]);
    expect(await flood(direct, ATTACKER, (i) => `198.51.100.${i}`)).toBe(429);
  });
});

describe('over a real connection', () => {
  /** The statuses of requests with these values of X-Forwarded-For, one after the other. A list is sent as several headers. */
  async function ask(trustedProxies: readonly string[], clients: readonly (string | string[])[]): Promise<number[]> {
    const api = { rateLimit: { enabled: true, perMinute: 1 }, trustedProxies };
    const app = await openApp('mempool', { api, modules: { clock: new ManualClock() } });
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const statuses: number[] = [];
    for (const client of clients) {
      const options = { host: '127.0.0.1', port, path: '/v1/supply', headers: { 'x-forwarded-for': client } };
      statuses.push(
        await new Promise<number>((resolve, reject) => {
          const sent = request(options, (answer) => {
            answer.resume();
            answer.once('end', () => resolve(answer.statusCode ?? 0));
          });
          sent.once('error', reject);
          sent.end();
        }),
      );
    }
    return statuses;
  }

  it('the clients of a trusted proxy are told apart, by the last header if there are several', async () => {
    const clients = [ATTACKER, EXCHANGE, ATTACKER, [EXCHANGE, '198.51.100.8'], ['198.51.100.9', '198.51.100.8']];
    expect(await ask(['127.0.0.0/8'], clients)).toEqual([200, 200, 429, 200, 429]);
  });

  it('the header of one that is not trusted is ignored', async () => {
    expect(await ask([], [ATTACKER, EXCHANGE])).toEqual([200, 429]);
    expect(await ask([PROXY], [ATTACKER, EXCHANGE])).toEqual([200, 429]);
  });
});

describe('routes that are open on loopback', () => {
  it('are closed to clients of a trusted proxy on loopback', async () => {
    const app = await openApp('user', { api: { auth: 'open', keys: [], trustedProxies: ['127.0.0.1'] } });
    const keypairs = async (headers: Record<string, string>) =>
      (await app.inject({ url: '/v1/wallet/keypairs', headers: { host: '127.0.0.1', ...headers } })).statusCode;
    expect(await keypairs({})).toBe(200);
    for (const client of [ATTACKER, '127.0.0.1', 'localhost', ''])
      expect(await keypairs({ 'x-forwarded-for': client })).toBe(401);
  });
});
