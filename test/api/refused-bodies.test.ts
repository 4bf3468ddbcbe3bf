/** What an address makes the node read in vain is bounded (SECURITY.md). */

import type { FastifyInstance } from 'fastify';
import { describe, expect, it } from 'vitest';
import { TesseraError } from '../../src/lib/errors.js';
import { openApp } from '../support/api/app.js';
import { fakeMempool, transactionBody } from '../support/api/fakes.js';
import { ManualClock } from '../support/manual-clock.js';

const MEBIBYTE = 1024 * 1024;
/** Bytes of refused bodies that an address may send in a minute. */
const ALLOWED = 16;
const STRANGER = '10.0.0.1';

const junk = JSON.stringify({ transactions: 'x'.repeat(MEBIBYTE) });

async function post(app: FastifyInstance, remoteAddress: string, payload: string, url = '/v1/transactions') {
  const headers = { 'content-type': 'application/json' };
  const answer = await app.inject({ method: 'POST', url, remoteAddress, headers, payload });
  // A request is counted when its answer is out, a moment after it is here.
  await new Promise((resolve) => setImmediate(resolve));
  return answer;
}

async function statusesOf(app: FastifyInstance, from: string, payload: string, url?: string): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < ALLOWED + 6; i++) statuses.push((await post(app, from, payload, url)).statusCode);
  return statuses;
}

describe('bodies that are refused', () => {
  it('are not read any more when there were too many of one address, for a minute, and others are not concerned', async () => {
    const clock = new ManualClock();
    const app = await openApp('mempool', { modules: { clock } });
    const statuses = await statusesOf(app, STRANGER, junk);
    const read = statuses.filter((status) => status === 400).length;
    expect(read).toBeGreaterThanOrEqual(ALLOWED);
    expect(read).toBeLessThanOrEqual(ALLOWED + 2);
    expect(new Set(statuses.slice(read))).toEqual(new Set([429]));

    const refused = await post(app, STRANGER, 'not even JSON');
    expect(refused.json()).toMatchObject({ code: 'rate_limited' });
    expect(refused.headers['retry-after']).toBe('60');
    // Questions without a body are answered as before, and so is everybody else.
    expect((await app.inject({ url: '/v1/supply', remoteAddress: STRANGER })).statusCode).toBe(200);
    expect((await post(app, '10.0.0.2', junk)).statusCode).toBe(400);
    clock.advance(60_000);
    expect((await post(app, STRANGER, junk)).statusCode).toBe(400);
  });

  it('are counted for an address that asks for a path that cannot be read', async () => {
    const app = await openApp('mempool', { modules: { clock: new ManualClock() } });
    expect((await app.inject({ url: '/%zz', remoteAddress: STRANGER })).statusCode).toBe(400);
    expect((await statusesOf(app, STRANGER, junk)).at(-1)).toBe(429);
  });

  it('count on envelope routes too', async () => {
    const app = await openApp('mempool', { modules: { clock: new ManualClock() } });
    const statuses = await statusesOf(app, STRANGER, junk, '/create_transactions');
    expect(statuses.at(-1)).toBe(429);
  });

  it('are not counted over loopback, where a proxy may stand', async () => {
    const app = await openApp('mempool', { modules: { clock: new ManualClock() } });
    expect(new Set(await statusesOf(app, '127.0.0.1', junk))).toEqual(new Set([400]));
  });

  it('are counted for what they say, not for what the node cannot do now', async () => {
    const padded = JSON.stringify({ transactions: [transactionBody()] }).padEnd(MEBIBYTE);
    const codes = [
      ['mempool_full', 500],
      ['invalid_signature', 429],
    ] as const;
    for (const [code, last] of codes) {
      const submit = () => Promise.reject(new TesseraError(code, 'refused'));
      const mempool = { ...fakeMempool(), submit };
      const app = await openApp('mempool', { modules: { clock: new ManualClock(), mempool } });
      expect((await statusesOf(app, STRANGER, padded)).at(-1)).toBe(last);
    }
  });
});
