/** API keys (decision H3): closed by default, scopes, hashes, and what `auth: "open"` may never open. */

import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ApiKeys, loadOrCreateApiKey } from '../../src/api/http/api-key.js';
import type { Operation } from '../../src/api/operation.js';
import { OPERATIONS } from '../../src/api/operations.js';
import { API_PERMISSIONS, type ApiPermission } from '../../src/config/api-keys.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { systemRandom } from '../../src/lib/random.js';
import { API_KEY, openApp, send } from '../support/api/app.js';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const address = (headers: Record<string, string> = {}) => ({
  method: 'POST' as const,
  url: '/v1/wallet/addresses',
  headers,
});

function isOpen(keys: ApiKeys, operation: Operation, apiKey: string): boolean {
  const page = { host: undefined, origin: undefined, fetchSite: undefined, preflighted: false };
  const caller = { ...page, apiKey, address: '127.0.0.1', forwarded: false };
  try {
    keys.check(operation, caller);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_api_key' });
    return false;
  }
}

const order = (operations: readonly Operation[], id: string) => operations.findIndex((one) => one.id === id);

describe('protected routes', () => {
  it('are at least those of the contract (Authentication, rule 2)', () => {
    const marked = OPERATIONS.filter((operation) => 'apiKey' in operation && operation.apiKey);
    expect(marked.map(({ method, path }) => `${method} ${path}`)).toEqual(
      expect.arrayContaining([
        'POST /v1/items',
        'POST /v1/donation-requests',
        'POST /v1/payments',
        'POST /v1/wallet/addresses',
        'GET /v1/wallet/keypairs',
        'POST /v1/wallet/keypairs',
        'PUT /v1/wallet/passphrase',
        'POST /v1/wallet/running-total:refresh',
      ]),
    );
  });

  it('answer 401 without a key, before the body is looked at', async () => {
    const app = await openApp('user');
    const sent = await send(app, { method: 'POST', url: '/v1/payments', payload: '{' });
    expect(sent.body).toMatchObject({ status: 401, code: 'missing_api_key' });
    expect(sent.headers['www-authenticate']).toBeDefined();
  });

  it('answer 401 to a wrong key', async () => {
    const app = await openApp('user');
    expect((await send(app, address({ 'x-api-key': `${API_KEY}x` }))).body.code).toBe('invalid_api_key');
  });

  it('are closed when no key is configured', async () => {
    const app = await openApp('user', { api: { keys: [] } });
    expect((await send(app, address({ 'x-api-key': API_KEY }))).status).toBe(401);
  });

  it('open to a key that is configured as its hash', async () => {
    const app = await openApp('user', { api: { keys: [{ name: 'ops', sha256: sha256('a-key-of-the-operator') }] } });
    expect((await send(app, address({ 'x-api-key': 'a-key-of-the-operator' }))).status).toBe(201);
    expect((await send(app, address({ 'x-api-key': sha256('a-key-of-the-operator') }))).status).toBe(401);
  });

  it('open to a key with a list of routes only where the list says so', async () => {
    const keys = [
      { name: 'ops', key: 'a-key-of-the-operator', routes: ['POST /v1/wallet/addresses', '* /v1/wallet/keypairs'] },
    ];
    const app = await openApp('user', { api: { keys } });
    const headers = { 'x-api-key': 'a-key-of-the-operator' };
    expect((await send(app, address(headers))).status).toBe(201);
    expect((await send(app, { url: '/v1/wallet/keypairs', headers })).status).toBe(200);
    const other = await send(app, { method: 'PUT', url: '/v1/wallet/passphrase', headers, payload: '{}' });
    expect(other.body.code).toBe('invalid_api_key');
  });

  it('open to a key with permissions only for what these allow, and each has one', async () => {
    // An older route has what its twin has: `wallet-routes.test.ts`.
    const all: readonly Operation[] = OPERATIONS;
    const marked = all.filter(({ apiKey, twin }) => apiKey && twin === undefined);
    expect(marked.filter(({ permission }) => permission === undefined).map(({ id }) => id)).toEqual([]);
    const opened = (...permissions: ApiPermission[]) => {
      const key = { name: 'shop', key: 'a-key-of-the-shop' };
      const keys = new ApiKeys({ host: '127.0.0.1', auth: 'keys', keys: [{ ...key, permissions }] }, OPERATIONS);
      return marked.filter((operation) => isOpen(keys, operation, key.key)).map(({ id }) => id);
    };
    expect(opened('read')).toEqual(
      [
        'getDonationRequests',
        'getWalletItems',
        'getWalletMovements',
        'getWalletLabels',
        'getWalletHistory',
        'getTrades',
        'getTrade',
        'refreshRunningTotal',
        'streamEvents',
      ].sort((a, b) => order(marked, a) - order(marked, b)),
    );
    expect(opened('pay')).toContain('createPayment');
    expect(opened('read', 'pay')).not.toContain('exportKeypairs');
    expect(opened('export')).toEqual(['exportKeypairs', 'backupWallet']);
    expect(opened('admin')).toEqual(['importKeypairs', 'changePassphrase']);
    expect(opened(...API_PERMISSIONS)).toEqual(marked.map(({ id }) => id));
    expect(opened()).toEqual([]);
  });

  it('open to a key with routes and permissions where both allow it', async () => {
    const key = { name: 'shop', key: 'a-key-of-the-shop', routes: ['* /v1/wallet/keypairs'] };
    const app = await openApp('user', { api: { keys: [{ ...key, permissions: ['export'] }] } });
    const headers = { 'x-api-key': key.key };
    expect((await send(app, { url: '/v1/wallet/keypairs', headers })).status).toBe(200);
    expect((await send(app, { method: 'POST', url: '/v1/wallet/keypairs', headers, payload: '{}' })).status).toBe(401);
    expect((await send(app, address(headers))).status).toBe(401);
  });

  it('never let their answers be stored', async () => {
    const app = await openApp('user');
    const sent = await send(app, { url: '/v1/wallet/keypairs', headers: { 'x-api-key': API_KEY } });
    expect(sent.headers['cache-control']).toBe('no-store');
  });

  it('leave the other routes open', async () => {
    const app = await openApp('user');
    expect((await send(app, { url: '/v1/wallet' })).status).toBe(200);
  });
});

describe('auth: "open"', () => {
  const open = { auth: 'open' as const, keys: [] };

  it('opens protected routes on loopback', async () => {
    const app = await openApp('user', { api: open });
    expect((await send(app, address())).status).toBe(201);
  });

  it.each(['0.0.0.0', '::', '192.168.1.5', 'node.example'])('is refused on %s', (host) => {
    expect(codeOf(() => new ApiKeys({ ...open, host }, OPERATIONS))).toBe('invalid_config');
  });

  describe('and GET /v1/wallet/keypairs, which is open only to callers on this machine', () => {
    it.each<[string, Record<string, string>, number]>([
      ['a program here', {}, 200],
      ['a page of this machine', { origin: 'http://localhost:8080', host: 'localhost:3000' }, 200],
      ['a page of elsewhere', { origin: 'https://evil.example' }, 401],
      ['a page without origin', { origin: 'null' }, 401],
      ['a page that has rebound its name', { host: 'evil.example:3000' }, 401],
      ['a proxy', { 'x-forwarded-for': '1.2.3.4' }, 401],
      ['another proxy', { forwarded: 'for=1.2.3.4' }, 401],
    ])('%s', async (_who, headers, status) => {
      const app = await openApp('user', { api: open });
      expect(
        (await send(app, { url: '/v1/wallet/keypairs', headers: { host: '127.0.0.1:3000', ...headers } })).status,
      ).toBe(status);
    });

    it('not to another machine', async () => {
      const app = await openApp('user', { api: open });
      const response = await app.inject({ url: '/v1/wallet/keypairs', remoteAddress: '10.0.0.9' });
      expect(response.statusCode).toBe(401);
    });
  });
});

describe('keys in the configuration', () => {
  it.each([
    ['neither key nor hash', { name: 'x' }],
    ['both', { name: 'x', key: 'k'.repeat(20), sha256: sha256('x') }],
    ['a short key', { name: 'x', key: 'short' }],
    ['a hash that is none', { name: 'x', sha256: 'ab' }],
    ['a route that no key opens', { name: 'x', key: 'k'.repeat(20), routes: ['GET /v1/supply'] }],
  ])('are refused with %s', (_what, key) => {
    const make = () => new ApiKeys({ host: '127.0.0.1', auth: 'keys', keys: [key] }, OPERATIONS);
    expect(codeOf(make)).toBe('invalid_config');
  });
});

describe('loadOrCreateApiKey', () => {
  it('writes a random key that only the owner can read, and gives it again', async () => {
    const path = join(await tempFolder(), 'api-key');
    const key = await loadOrCreateApiKey(path, systemRandom);
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await readFile(path, 'utf8')).trim()).toBe(key);
    expect(await loadOrCreateApiKey(path, systemRandom)).toBe(key);
  });

  it.each([
    ['no key', '\n'],
    ['nothing', ''],
    ['half a key', 'ab'.repeat(16)],
    ['two keys', 'ab'.repeat(64)],
    ['zeros, as a full disk leaves them', '\0'.repeat(64)],
    ['a key with something behind it', `${'ab'.repeat(32)}\n\0\0`],
  ])('refuses a damaged file instead of taking it for another key: %s', async (_what, text) => {
    const path = join(await tempFolder(), 'api-key');
    await writeFile(path, text);
    await expect(loadOrCreateApiKey(path, systemRandom)).rejects.toMatchObject({ code: 'invalid_config' });
    expect(await readFile(path, 'utf8')).toBe(text);
  });
});

async function tempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-key-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

function codeOf(run: () => unknown): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    return isTesseraError(error) ? error.code : String(error);
  }
}
