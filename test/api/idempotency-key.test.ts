/** The header Idempotency-Key at the edge: its forms, and which operations take it. */

import { describe, expect, it } from 'vitest';
import type { NodeRole } from '../../src/lib/roles.js';
import { API_KEY, openApp, type Request, send } from '../support/api/app.js';
import { ADDRESS, type Calls, PASSPHRASE } from '../support/api/fakes.js';

const PAYMENT = { kind: 'address', address: ADDRESS, amount: 1, passphrase: PASSPHRASE };
const PEER = '127.0.0.1:12360';

const post = (url: string, body: unknown, key?: string): Request => ({
  method: 'POST',
  url,
  payload: JSON.stringify(body),
  headers: { 'x-api-key': API_KEY, ...(key === undefined ? {} : { 'idempotency-key': key }) },
});

/** The key that the service is given, wherever it takes it; 'no call' when it is not asked. */
async function keyGiven(role: NodeRole, request: Request): Promise<unknown> {
  const calls: Calls = [];
  const app = await openApp(role, { calls });
  const { status } = await send(app, request);
  const [call] = calls;
  if (call === undefined) return status;
  for (const arg of call.args) {
    if (typeof arg === 'object' && arg !== null && 'idempotencyKey' in arg) return arg.idempotencyKey;
  }
  return undefined;
}

describe('Idempotency-Key', () => {
  it.each([
    ['POST /v1/payments by address', post('/v1/payments', PAYMENT, 'k')],
    ['POST /v1/payments by ip', post('/v1/payments', { ...PAYMENT, kind: 'ip', address: PEER }, 'k')],
    ['POST /v1/items', post('/v1/items', { genesis_hash_spec: 'Default', item_amount: 1 }, 'k')],
    ['POST /v1/donation-requests', post('/v1/donation-requests', { address: PEER }, 'k')],
  ])('reaches the service from %s', async (_, request) => {
    expect(await keyGiven('user', request)).toBe('k');
  });

  it.each([
    ['as it is', 'a key, with = and spaces', 'a key, with = and spaces'],
    ['in the quotes of the draft', '"8e03978e-40d5-43dd-bc93-6894a57f9324"', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
    ['with escapes in quotes', '"a\\"b\\\\c"', 'a"b\\c'],
    ['of 255 characters', 'x'.repeat(255), 'x'.repeat(255)],
    ['not at all', undefined, undefined],
  ])('is read %s', async (_, sent, key) => {
    expect(await keyGiven('user', post('/v1/payments', PAYMENT, sent))).toBe(key);
  });

  it.each([
    ['empty', ''],
    ['empty in quotes', '""'],
    ['too long', 'x'.repeat(256)],
    ['not ASCII', 'schlüssel'],
    ['cut in quotes', '"a'],
    ['wrongly escaped', '"a\\b"'],
  ])('is refused when it is %s, and nothing is paid', async (_, sent) => {
    expect(await keyGiven('user', post('/v1/payments', PAYMENT, sent))).toBe(400);
  });

  it('is refused by a mempool node, which cannot keep its promise', async () => {
    const app = await openApp('mempool');
    const item = {
      genesis_hash_spec: 'Create',
      item_amount: 1,
      public_key: 'aa'.repeat(32),
      script_public_key: ADDRESS,
      signature: 'bb'.repeat(64),
    };
    expect((await send(app, post('/v1/items', item))).status).toBe(201);
    const { status, body } = await send(app, post('/v1/items', item, 'k'));
    expect([status, body.code, body.detail]).toEqual([400, 'invalid_request', expect.stringContaining('mempool node')]);
  });

  it('may be sent by web pages', async () => {
    const app = await openApp('user', { api: { cors: 'all' } });
    const headers = {
      origin: 'http://a.test',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'idempotency-key',
    };
    const { headers: answer } = await send(app, { method: 'OPTIONS', url: '/v1/payments', headers });
    expect(answer['access-control-allow-headers']).toContain('idempotency-key');
  });

  it('is described where it is taken', async () => {
    const takers = async (role: NodeRole): Promise<readonly string[]> => {
      const { body } = await send(await openApp(role), { url: '/v1/openapi.json' });
      const paths = body.paths as Record<string, Record<string, { parameters?: { name: string }[] }>>;
      return Object.entries(paths).flatMap(([path, { post: operation }]) =>
        operation?.parameters?.some(({ name }) => name === 'Idempotency-Key') ? [path] : [],
      );
    };
    const older = ['/make_ip_payment', '/make_payment'];
    const ofWallets = ['/v1/item-payments', '/v1/items', '/v1/payments', '/v1/trades'];
    const ofUsers = [...older, '/request_donation', '/v1/donation-requests', ...ofWallets];
    expect([...(await takers('user'))].sort()).toEqual(ofUsers);
    expect([...(await takers('miner'))].sort()).toEqual([...older, ...ofWallets]);
    expect(await takers('mempool')).toEqual([]);
  });
});
