/** Web pages and a node that asks for no key: none changes anything here that `api.cors` does not allow. */

import { describe, expect, it } from 'vitest';
import type { AllowedOrigins } from '../../src/api/http/web-pages.js';
import type { Operation } from '../../src/api/operation.js';
import { OPERATIONS, operationsOf } from '../../src/api/operations.js';
import { devOperations } from '../../src/api/routes/dev/operations.js';
import type { DevService } from '../../src/api/routes/dev/service.js';
import { NODE_ROLES } from '../../src/lib/roles.js';
import { API_KEY, openApp, send } from '../support/api/app.js';
import type { Calls } from '../support/api/fakes.js';

type Headers = Readonly<Record<string, string>>;
type Cors = AllowedOrigins;

const LISTED = ['https://wallet.example'];
const JSON_TYPE = { 'content-type': 'application/json' };
const EVIL = { origin: 'https://evil.example' };
const REBOUND = { host: 'evil.example:3000', origin: 'http://evil.example:3000' };
const HERE = { host: '127.0.0.1:3000' };

/** The status of a change without a body, at a node that asks for no key. */
async function statusOf(cors: Cors, headers: Headers): Promise<number> {
  const app = await openApp('user', { api: { auth: 'open', keys: [], cors } });
  return (await send(app, { method: 'POST', url: '/v1/wallet/addresses', headers: { ...HERE, ...headers } })).status;
}

describe('a node that asks for no key', () => {
  it.each<[string, Cors, Headers]>([
    ['a page of elsewhere', 'off', EVIL],
    ['a page of elsewhere that has asked before', 'off', { ...EVIL, ...JSON_TYPE }],
    ['a page that is on no list', LISTED, { ...EVIL, ...JSON_TYPE }],
    ['a page of elsewhere, where those of this machine are allowed', 'loopback', { ...EVIL, ...JSON_TYPE }],
    ['a page that has rebound its name, where those of this machine are', 'loopback', { ...REBOUND, ...JSON_TYPE }],
    ['a page without an origin, where those of this machine are', 'loopback', { origin: 'null', ...JSON_TYPE }],
    ['a page of this machine that needs no preflight', 'loopback', { origin: 'http://localhost:8080' }],
    ['a page without an origin', 'off', { origin: 'null', ...JSON_TYPE }],
    ['a page that hides its origin', 'off', { 'sec-fetch-site': 'cross-site', ...JSON_TYPE }],
    ['a page of another port that needs no preflight', 'off', { origin: 'http://127.0.0.1:8080' }],
    ['a page that needs no preflight', 'all', EVIL],
    ['a form', 'all', { ...EVIL, 'content-type': 'application/x-www-form-urlencoded' }],
    ['a page that calls JSON text', 'all', { ...EVIL, 'content-type': 'text/plain; charset=application/json' }],
    ['a listed page that needs no preflight', LISTED, { origin: 'https://wallet.example' }],
    ['a page that has rebound its name', 'off', REBOUND],
    ['a page that has rebound its name, with JSON', 'off', { ...REBOUND, ...JSON_TYPE }],
    ['a page that has rebound its name, where all are allowed', 'all', { ...REBOUND, ...JSON_TYPE }],
    ['a page that has rebound its name, where some are', LISTED, { ...REBOUND, ...JSON_TYPE }],
    ['a page that has rebound its name and hides it', 'all', { host: 'evil.example', 'sec-fetch-site': 'same-origin' }],
    [
      'a page of a name like loopback',
      'off',
      { host: '127.0.0.1.evil.example', origin: 'http://127.0.0.1.evil.example' },
    ],
  ])('is not changed by %s (cors %j)', async (_who, cors, headers) => {
    expect(await statusOf(cors, headers)).toBe(401);
  });

  it.each<[string, Cors, Headers]>([
    ['a program', 'off', {}],
    ['a program that knows it by the name of a service', 'off', { host: 'user:3000' }],
    ['a program that knows it by a public name', 'off', { host: 'node.example' }],
    ['its own page', 'off', { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-origin' }],
    ['its own page, by another name', 'off', { host: 'localhost:3000', origin: 'http://localhost:3000' }],
    ['its own page, at an address of the machine', 'off', { host: '10.0.0.5', origin: 'http://10.0.0.5' }],
    ['its own page, at an IPv6 address', 'off', { host: '[::1]:3000', origin: 'http://[::1]:3000' }],
    [
      'its own page, under a listed name',
      ['https://node.example'],
      { host: 'node.example', origin: 'https://node.example' },
    ],
    ['another page of this machine that asks before', 'off', { origin: 'http://localhost:8080', ...JSON_TYPE }],
    ['a page of this machine (decision V25)', 'loopback', { origin: 'http://localhost:8080', ...JSON_TYPE }],
    ['a listed page', LISTED, { origin: 'https://wallet.example', ...JSON_TYPE }],
    ['any page that asks before', 'all', { ...EVIL, 'content-type': 'Application/JSON; charset=utf-8' }],
    ['a page of an existing client, which sends a header of its own', 'all', { ...EVIL, 'x-cache-id': 'a' }],
  ])('is changed by %s (cors %j)', async (_who, cors, headers) => {
    expect(await statusOf(cors, headers)).toBe(201);
  });

  it('keeps from such pages all that changes something, and nothing else', async () => {
    const calls: Calls = [];
    const dev = new Proxy({}, { get: (_dev, name) => () => calls.push(String(name) as never) }) as DevService;
    const api = { auth: 'open', keys: [], toolingEverywhere: true } as const;
    const app = await openApp(NODE_ROLES, { api, modules: { dev: () => dev }, calls });
    const operations: readonly Operation[] = [...OPERATIONS, ...devOperations];
    const changes = operations.filter(({ apiKey, method }) => apiKey === true && method !== 'GET');
    expect(changes.length).toBeGreaterThan(20);
    for (const { method, path, family } of changes) {
      // An envelope has no code.
      const code = family === 'envelope' ? undefined : 'missing_api_key';
      for (const headers of [{ ...HERE, ...EVIL }, REBOUND]) {
        const url = path.replace(/\{\w+\}/, '2');
        const { status, body } = await send(app, { method, url, headers, payload: '{}' });
        expect([path, status, body.code]).toEqual([path, 401, code]);
      }
    }
    // Any page may ask before; none may do it without asking, as a form does.
    const asked = await openApp(NODE_ROLES, { api: { ...api, cors: 'all' }, modules: { dev: () => dev }, calls });
    for (const { method, path } of changes) {
      if (method === 'PUT') continue;
      const headers = { ...HERE, ...EVIL, 'content-type': 'text/plain' };
      const { status } = await send(asked, { method, url: path.replace(/\{\w+\}/, '2'), headers, payload: '{}' });
      expect([path, status]).toEqual([path, 401]);
    }
    expect(calls).toEqual([]);
    expect((await send(app, { url: '/v1/wallet/history', headers: { ...HERE, ...EVIL } })).status).toBe(200);
  });

  it('takes a key instead', async () => {
    const app = await openApp('user', { api: { auth: 'open' } });
    const headers = { ...REBOUND, 'x-api-key': API_KEY };
    expect((await send(app, { method: 'POST', url: '/v1/wallet/addresses', headers })).status).toBe(201);
  });

  const OWN = { auth: 'open', keys: [], cors: 'off' } as const;
  const PUBLIC = ['/v1/supply', '/v1/blocks/latest', '/v1/events', '/v1/wallet'];
  const PRIVATE = ['/v1/wallet/history', '/v1/wallet/keypairs'];

  it.each<[string, Cors]>([
    ['evil.example:3000', 'off'],
    ['evil.example:3000', 'loopback'],
    ['127.0.0.1.evil.example', 'off'],
    ['evil.example.', 'off'],
    ['localhost.evil.example', 'off'],
    ['1.2.3.4.evil.example', 'off'],
    ['..', 'off'],
  ])('tells nothing to who has pointed %s at it, who reads as its own page does (cors %j)', async (host, cors) => {
    const app = await openApp(NODE_ROLES, { api: { ...OWN, cors } });
    for (const url of PUBLIC) {
      const { status, body } = await send(app, { url, headers: { host } });
      expect([url, status, body.code]).toEqual([url, 421, 'unknown_host']);
    }
    const asked = {
      method: 'POST',
      url: '/v1/balances/query',
      headers: { host, ...JSON_TYPE },
      payload: '{"addresses":[]}',
    } as const;
    expect((await send(app, asked)).status).toBe(421);
    for (const url of PRIVATE) expect((await send(app, { url, headers: { host } })).status).toBe(401);
  });

  it('tells it nothing by any operation that reads', async () => {
    const app = await openApp(NODE_ROLES, { api: OWN });
    const reads = operationsOf(NODE_ROLES).filter(({ method, family }) => method === 'GET' && family === 'v1');
    expect(reads.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['getWalletMovements', 'getWalletHistory', 'getSupply']),
    );
    for (const { id, path, apiKey } of reads) {
      const { status } = await send(app, { url: path.replace(/\{\w+\}/g, '1'), headers: REBOUND });
      expect([id, status]).toEqual([id, apiKey === true ? 401 : 421]);
    }
  });

  it.each<[string, Cors]>([
    ['127.0.0.1:3000', 'off'],
    ['localhost:3000', 'off'],
    ['[::1]:3000', 'off'],
    ['10.0.0.5', 'off'],
    ['user:3000', 'off'],
    ['chain.localhost', 'off'],
    ['host.docker.internal:3000', 'off'],
    ['node.example', ['https://node.example']],
    ['evil.example', 'all'],
  ])('tells it under %s (cors %j)', async (host, cors) => {
    const app = await openApp(NODE_ROLES, { api: { ...OWN, cors } });
    for (const url of ['/v1/supply', '/v1/wallet'])
      expect((await send(app, { url, headers: { host } })).status).toBe(200);
  });

  it('tells under any name what a node with keys tells without one, and the rest with one', async () => {
    const headers = { host: 'evil.example' };
    const app = await openApp(NODE_ROLES);
    expect((await send(app, { url: '/v1/supply', headers })).status).toBe(200);
    expect((await send(app, { url: '/v1/wallet/history', headers })).status).toBe(401);
    const open = await openApp('user', { api: { auth: 'open' } });
    expect(
      (await send(open, { url: '/v1/wallet/history', headers: { ...headers, 'x-api-key': API_KEY } })).status,
    ).toBe(200);
  });
});
