/** Requests are counted from their turn to the end of their connection or answer, and have a line in the log when answered. */

import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createDeferred } from '../../src/lib/deferred.js';
import type { MempoolService } from '../../src/mempool/service.js';
import { MetricsRegistry } from '../../src/observability/metrics.js';
import { openApp } from '../support/api/app.js';

const STATUS = 'GET /v1/transactions/status?hash=g1 HTTP/1.1\r\nHost: a\r\n\r\n';
const UNKNOWN = 'GET /v1/nothing HTTP/1.1\r\nHost: a\r\n\r\n';

async function listening(mempool: Partial<MempoolService>) {
  const metrics = new MetricsRegistry('mempool');
  const written: string[] = [];
  const requestLines = { write: (text: string) => written.push(text) };
  const app = await openApp('mempool', { modules: { metrics, requestLines, mempool: mempool as MempoolService } });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const send = async (text: string) => {
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    socket.write(text);
    return socket;
  };
  const underWay = async (): Promise<string | undefined> =>
    /^tessera_http_requests_in_flight (\d+)$/m.exec((await metrics.render()).body)?.[1];
  const operations = (): string[] => {
    app.requestLog.flush();
    return [...written.join('').matchAll(/"operation":"(\w+)"/g)].map(([, name]) => String(name));
  };
  return { send, underWay, operations };
}

it('are under way until they are answered', async () => {
  const answer = createDeferred<Awaited<ReturnType<MempoolService['statuses']>>>();
  const { send, underWay, operations } = await listening({ statuses: () => answer.promise });
  await send(STATUS);
  await send(STATUS);
  await expect.poll(underWay).toBe('2');
  expect(operations()).toEqual([]);
  answer.resolve(new Map());
  await expect.poll(underWay).toBe('0');
  expect(operations()).toEqual(['getTransactionStatus', 'getTransactionStatus']);
});

it('end with their connection, and have no line then', async () => {
  const asked = createDeferred<void>();
  const { send, underWay, operations } = await listening({
    statuses: () => {
      asked.resolve();
      return new Promise(() => undefined);
    },
  });
  const socket = await send(STATUS);
  await asked.promise;
  expect(await underWay()).toBe('1');
  socket.destroy();
  await expect.poll(underWay).toBe('0');
  expect(operations()).toEqual([]);
});

it('are counted and logged on unknown routes too', async () => {
  const { send, underWay, operations } = await listening({});
  await send(UNKNOWN);
  await expect.poll(operations).toEqual(['not_found']);
  expect(await underWay()).toBe('0');
});
