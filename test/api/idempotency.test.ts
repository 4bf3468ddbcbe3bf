/** Answers by x-cache-id (decision E3). */

import { describe, expect, it } from 'vitest';
import { IdempotencyCache } from '../../src/api/routes/envelope/idempotency.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { TesseraError } from '../../src/lib/errors.js';
import { openApp, type Request, send } from '../support/api/app.js';
import { type Calls, fakeMempool, transactionBody } from '../support/api/fakes.js';
import { ManualClock } from '../support/manual-clock.js';

const ID = 'a1d46199e5c89b00509e118f5af83172';
const OTHER_ID = 'b1d46199e5c89b00509e118f5af83172';

const create = (amount: number, id = ID): Request => ({
  method: 'POST',
  url: '/create_transactions',
  payload: JSON.stringify(transactionBody(amount)),
  headers: { 'x-cache-id': id },
});

describe('the same x-cache-id again', () => {
  it('gets the stored answer, and the handler is not run', async () => {
    const calls: Calls = [];
    const app = await openApp('mempool', { calls });
    const first = await send(app, create(1));
    const again = await send(app, create(1));
    expect(again.text).toBe(first.text);
    expect(calls).toHaveLength(1);
  });

  it('waits for the first when both come at once', async () => {
    const gate = createDeferred<void>();
    const usual = fakeMempool();
    let runs = 0;
    const submit: typeof usual.submit = async (transactions) => {
      runs++;
      await gate.promise;
      return usual.submit(transactions);
    };
    const app = await openApp('mempool', { modules: { mempool: { ...usual, submit } } });
    const both = [send(app, create(1)), send(app, create(1))];
    gate.resolve();
    const [first, second] = await Promise.all(both);
    expect(second?.text).toBe(first?.text);
    expect([first?.status, runs]).toEqual([200, 1]);
  });

  it.each([
    ['another body', create(2)],
    ['another route', { ...create(1), url: '/fetch_balance' }],
    ['a GET', { url: '/total_supply', headers: { 'x-cache-id': ID } }],
  ] as const)('is refused with %s', async (_what, request) => {
    const calls: Calls = [];
    const app = await openApp('mempool', { calls });
    await send(app, create(1));
    const sent = await send(app, request as Request);
    expect([sent.status, sent.body.status, calls.length]).toEqual([400, 'Error', 1]);
    expect(sent.body.reason).toContain('x-cache-id');
  });

  it('is as new after an error', async () => {
    const usual = fakeMempool();
    let runs = 0;
    const submit: typeof usual.submit = async (transactions) => {
      runs++;
      if (runs === 1) throw new TesseraError('mempool_unreachable', 'not up');
      return usual.submit(transactions);
    };
    const app = await openApp('mempool', { modules: { mempool: { ...usual, submit } } });
    expect((await send(app, create(1))).status).toBe(500);
    expect((await send(app, create(2))).status).toBe(200);
  });

  it('means nothing when there is none', async () => {
    const calls: Calls = [];
    const app = await openApp('mempool', { calls });
    const { headers: _none, ...request } = create(1);
    await send(app, request);
    await send(app, request);
    expect(calls).toHaveLength(2);
  });

  it('is another call under another id', async () => {
    const calls: Calls = [];
    const app = await openApp('mempool', { calls });
    await send(app, create(1));
    await send(app, create(1, OTHER_ID));
    expect(calls).toHaveLength(2);
  });
});

describe('the cache', () => {
  const answer = (text: string) => async () => text;

  it('forgets after the time to live', async () => {
    const clock = new ManualClock();
    const cache = new IdempotencyCache({ maxEntries: 10, ttlSeconds: 3600 }, { clock });
    expect(await cache.run('a', 'r', 'b', answer('first'))).toBe('first');
    clock.advance(3_599_999);
    expect(await cache.run('a', 'r', 'b', answer('second'))).toBe('first');
    clock.advance(1);
    expect(await cache.run('a', 'r', 'b', answer('third'))).toBe('third');
  });

  it('keeps the newest answers when it is full', async () => {
    const cache = new IdempotencyCache({ maxEntries: 2, ttlSeconds: 3600 }, { clock: new ManualClock() });
    for (const id of ['a', 'b', 'c']) await cache.run(id, 'r', 'b', answer(id));
    expect(await cache.run('c', 'r', 'b', answer('new'))).toBe('c');
    expect(await cache.run('b', 'r', 'b', answer('new'))).toBe('b');
    expect(await cache.run('a', 'r', 'b', answer('new'))).toBe('new');
  });

  it('is bounded by size too', async () => {
    const cache = new IdempotencyCache({ maxEntries: 10, ttlSeconds: 3600 }, { clock: new ManualClock() });
    const large = 'x'.repeat(40 * 1024 * 1024);
    await cache.run('a', 'r', 'b', answer(large));
    await cache.run('b', 'r', 'b', answer(large));
    expect(await cache.run('a', 'r', 'b', answer('new'))).toBe('new');
  });

  it('does not run a handler again while its answer is being made, even when full', async () => {
    const cache = new IdempotencyCache({ maxEntries: 1, ttlSeconds: 3600 }, { clock: new ManualClock() });
    const gate = createDeferred<string>();
    const slow = cache.run('slow', 'r', 'b', () => gate.promise);
    await cache.run('a', 'r', 'b', answer('a'));
    await cache.run('b', 'r', 'b', answer('b'));
    const again = cache.run('slow', 'r', 'b', answer('run again'));
    gate.resolve('once');
    expect(await Promise.all([slow, again])).toEqual(['once', 'once']);
  });

  it('is cleared with what is being made, which is not kept afterwards either', async () => {
    const cache = new IdempotencyCache({ maxEntries: 2, ttlSeconds: 3600 }, { clock: new ManualClock() });
    const gate = createDeferred<string>();
    const slow = cache.run('slow', 'r', 'b', () => gate.promise);
    await cache.run('a', 'r', 'b', answer('old'));
    cache.clear();
    expect(await cache.run('a', 'other', 'b', answer('new'))).toBe('new');
    expect(await cache.run('slow', 'r', 'b', answer('new'))).toBe('new');
    gate.resolve('x'.repeat(65 * 1024 * 1024));
    await slow;
    // It counts no more either: what came after it stays.
    expect(await cache.run('slow', 'r', 'b', answer('again'))).toBe('new');
    expect(await cache.run('a', 'other', 'b', answer('again'))).toBe('new');
  });

  it('gives both the same error when the one run fails', async () => {
    const cache = new IdempotencyCache({ maxEntries: 1, ttlSeconds: 3600 }, { clock: new ManualClock() });
    const gate = createDeferred<string>();
    const first = cache.run('a', 'r', 'b', () => gate.promise);
    const second = cache.run('a', 'r', 'b', answer('run again'));
    gate.reject(new Error('no'));
    await expect(first).rejects.toThrow('no');
    await expect(second).rejects.toThrow('no');
  });
});
