/** Large bodies that arrive at once are read, and answers that look at the whole pool made, in turns of the event loop (docs/performance.md#requests-and-admission). */

import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { addJsonBodyParser } from '../../src/api/http/json.js';
import { createDeferred } from '../../src/lib/deferred.js';
import type { TxStatus } from '../../src/mempool/service.js';
import { openApp } from '../support/api/app.js';
import { fakeMempool, TX_HASH } from '../support/api/fakes.js';
import { tickingClock } from '../support/ticking-clock.js';

const BODIES = 64;
/** Some 35 KB. */
const HASHES = Array.from({ length: 1_000 }, (_, i) => `g${i.toString(16).padStart(31, '0')}`);

it('many large bodies at once are read a few at a time, and all of them answered', async () => {
  const read = new Map<number, number>();
  let turn = 0;
  let isOver = false;
  const count = (): void => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  const statuses = async (): Promise<ReadonlyMap<string, TxStatus>> => {
    read.set(turn, (read.get(turn) ?? 0) + 1);
    return new Map();
  };
  const app = await openApp('mempool', { modules: { mempool: { ...fakeMempool(), statuses }, clock: tickingClock() } });
  const ask = () => app.inject({ method: 'POST', url: '/v1/transactions/status:query', payload: { hashes: HASHES } });
  await ask();
  read.clear();
  setImmediate(count);
  const answers = await Promise.all(Array.from({ length: BODIES }, ask));
  isOver = true;
  expect(answers.map(({ statusCode }) => statusCode)).toEqual(answers.map(() => 200));
  // A turn as it is counted here may see the end of one and the beginning of the next.
  expect(Math.max(...read.values())).toBeLessThanOrEqual(10);
});

it('one whose client is gone before its turn is not read', async () => {
  const turn = createDeferred<void>();
  const waiting = createDeferred<void>();
  let read = 0;
  const app = Fastify();
  const slices = {
    turn: () => {
      waiting.resolve();
      return turn.promise;
    },
  };
  app.decorate('bodyBudget', { take: () => undefined } as never);
  app.decorate('slices', slices as never);
  app.decorate('refusedBodies', { reads: () => read++ } as never);
  app.decorateRequest('response', null);
  app.addHook('onRequest', async (request, { raw }) => {
    request.response = raw;
    waiting.promise.then(
      () => raw.destroy(),
      () => undefined,
    );
  });
  addJsonBodyParser(app);
  app.post('/', async () => 'read');
  const asked = app.inject({ method: 'POST', url: '/', payload: { hashes: HASHES } });
  await expect(asked).rejects.toThrow('destroyed');
  turn.resolve();
  // What is read is read in the microtasks of its turn.
  await new Promise((resolve) => setImmediate(resolve));
  expect(read).toBe(0);
});

it.each(['/v1/mempool', `/v1/mempool/${TX_HASH}`])(
  'who asks once does not wait for whoever asks often: %s',
  async (url) => {
    const app = await openApp('mempool', { modules: { mempool: fakeMempool(), clock: tickingClock() } });
    const answered: string[] = [];
    const ask = async (remoteAddress: string): Promise<void> => {
      const { statusCode } = await app.inject({ url, remoteAddress });
      answered.push(statusCode === 200 ? remoteAddress : String(statusCode));
    };
    await Promise.all([...Array.from({ length: BODIES }, () => ask('198.51.100.1')), ask('203.0.113.1')]);
    expect(answered).toHaveLength(BODIES + 1);
    expect(answered.indexOf('203.0.113.1')).toBeLessThan(BODIES / 2);
  },
);
