/** Whose guess a passphrase is: every operation that takes one tells the wallet the API key, by its name, and the address of the client. */

import { describe, expect, it } from 'vitest';
import { API_KEY, type AppSetup, openApp, type Request, send } from '../support/api/app.js';
import { ADDRESS, type Calls, PASSPHRASE } from '../support/api/fakes.js';

const PAYMENT = { kind: 'address', address: ADDRESS, amount: 1, passphrase: PASSPHRASE };
const TOKEN = { kind: 'token', amount: 1 };
const ITEM = { kind: 'item', amount: 1, genesis_hash: `g${'0'.repeat(31)}`, metadata: null };

const post = (url: string, body: unknown, headers: Record<string, string> = {}): Request => ({
  method: 'POST',
  url,
  payload: JSON.stringify(body),
  headers: { 'x-api-key': API_KEY, ...headers },
});

/** What the wallet is told of the caller; the status when it is not asked. */
async function toldOf(request: Request, setup: AppSetup = {}): Promise<unknown> {
  const calls: Calls = [];
  const app = await openApp('user', { ...setup, calls });
  const { status } = await send(app, request);
  const args = calls.flatMap((call) => call.args);
  for (const arg of args) {
    if (typeof arg !== 'object' || arg === null) continue;
    if ('caller' in arg) return arg.caller;
    if ('key' in arg) return arg;
  }
  return status;
}

describe('the caller', () => {
  it.each([
    ['POST /v1/payments', post('/v1/payments', PAYMENT)],
    ['POST /v1/payments by ip', post('/v1/payments', { ...PAYMENT, kind: 'ip', address: '127.0.0.1:12360' })],
    ['POST /v1/item-payments', post('/v1/item-payments', { ...PAYMENT, genesis_hash: ITEM.genesis_hash })],
    ['POST /v1/trades', post('/v1/trades', { give: TOKEN, want: ITEM, passphrase: PASSPHRASE })],
    ['POST /v1/trades/accept', post('/v1/trades/accept', { offer: { kind: 'x' }, passphrase: PASSPHRASE })],
    ['POST /v1/wallet/backup', post('/v1/wallet/backup', { passphrase: PASSPHRASE })],
    [
      'PUT /v1/wallet/passphrase',
      { ...post('/v1/wallet/passphrase', { old_passphrase: PASSPHRASE, new_passphrase: 'new' }), method: 'PUT' },
    ],
  ] as const)('of %s is told', async (_, request) => {
    expect(await toldOf(request)).toEqual({ key: 'test', address: '127.0.0.1' });
  });

  it('of an open node has no key, whatever it sends', async () => {
    const request = post('/v1/payments', PAYMENT, { host: '127.0.0.1' });
    expect(await toldOf(request, { api: { auth: 'open' } })).toEqual({ key: '', address: '127.0.0.1' });
  });

  it('behind a trusted proxy is the client, and an IPv6 /64 is one', async () => {
    const request = post('/v1/payments', PAYMENT, { 'x-forwarded-for': '2001:db8:1:2:3:4:5:6' });
    expect(await toldOf(request, { api: { trustedProxies: ['127.0.0.1'] } })).toEqual({
      key: 'test',
      address: '2001:db8:1:2::/64',
    });
  });
});
