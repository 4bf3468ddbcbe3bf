/** Large bodies that come at the same moment wait for each other, so that their objects do not fill the memory (rule P6). */

import { request as httpRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createDeferred } from '../../src/lib/deferred.js';
import { stringifyExact } from '../../src/lib/json.js';
import type { MempoolService } from '../../src/mempool/service.js';
import { LIMITS, openApp, send } from '../support/api/app.js';
import { fakeMempool, transactionBody } from '../support/api/fakes.js';

const MIB = 1024 * 1024;
const LIST = stringifyExact(Array.from({ length: 1_000 }, (_, i) => transactionBody(i + 1)));
/** 2 MiB: four are worked on at once. White space, so that the test itself stays small. */
const LARGE = `{"transactions":${LIST}${' '.repeat(2 * MIB - LIST.length - 17)}}`;
const AT_ONCE = 4;

/** A mempool that keeps every submission until it is let go, and an app before it. */
async function heldMempool() {
  const held = { now: 0, most: 0, let: createDeferred<void>() };
  const submit: MempoolService['submit'] = async (transactions) => {
    held.now++;
    held.most = Math.max(held.most, held.now);
    await held.let.promise;
    held.now--;
    return fakeMempool().submit(transactions);
  };
  const app = await openApp('mempool', {
    api: { limits: { ...LIMITS, bodyBytes: 4 * MIB } },
    modules: { mempool: { ...fakeMempool(), submit } },
  });
  return { app, held };
}

const post = (payload: string) => ({ method: 'POST', url: '/v1/transactions', payload }) as const;

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

describe('large bodies', () => {
  it('are worked on a few at a time, and all are answered', async () => {
    const { app, held } = await heldMempool();
    const answers = Array.from({ length: 12 }, () => send(app, post(LARGE)));
    await until(() => held.now === AT_ONCE);
    // A small body passes the large ones.
    const small = send(app, post(stringifyExact({ transactions: [transactionBody(1)] })));
    await until(() => held.now === AT_ONCE + 1);
    held.let.resolve();
    for (const { status } of await Promise.all([...answers, small])) expect(status).toBe(201);
    expect(held.most).toBe(AT_ONCE + 1);
  });

  it('are refused with 503 when too many wait', async () => {
    const { app, held } = await heldMempool();
    const answers = Array.from({ length: AT_ONCE + 32 + 3 }, () => send(app, post(LARGE)));
    await until(() => held.now === AT_ONCE);
    const refused = await Promise.race(answers);
    expect([refused.status, refused.body.code, refused.headers['retry-after']]).toEqual([503, 'overloaded', '1']);
    held.let.resolve();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 503)).toHaveLength(3);
    expect(statuses.filter((status) => status === 201)).toHaveLength(AT_ONCE + 32);
  });

  it('leave their place when their client goes', async () => {
    const { app, held } = await heldMempool();
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const open = () => {
      const sent = httpRequest(`${url}/v1/transactions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        agent: false,
      });
      sent.on('error', () => undefined);
      sent.end(LARGE);
      return sent;
    };
    const first = Array.from({ length: AT_ONCE }, open);
    await until(() => held.now === AT_ONCE);
    for (const sent of first) sent.destroy();
    const answers = Array.from({ length: 2 }, () => send(app, post(LARGE)));
    await until(() => held.now === AT_ONCE + 2);
    held.let.resolve();
    for (const { status } of await Promise.all(answers)) expect(status).toBe(201);
  });
});
