/**
 * Requests that are sent ahead of the answers before them. A response whose turn has not come has no connection, so that
 * nothing tells when the client is gone: what such a request took was never given back.
 */

import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { openApp } from '../support/api/app.js';

const EVENTS = 'GET /v1/events HTTP/1.1\r\nHost: a\r\n\r\n';
const TYPE = 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n';
const QUERY = '/v1/blockchain-entries/query';

async function listening(): Promise<{ readonly app: FastifyInstance; readonly url: string }> {
  const app = await openApp('storage');
  return { app, url: await app.listen({ host: '127.0.0.1', port: 0 }) };
}

/** A connection that has sent this, and what it was answered so far. */
async function send(app: FastifyInstance, ...texts: readonly string[]) {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
  });
  let answers = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    answers += text;
  });
  socket.on('error', () => undefined);
  const [accepted] = (await Promise.all([once(app.server, 'connection'), once(socket, 'connect')]))[0] as [Socket];
  const read = new Promise<void>((resolve) => socket.write(texts.join(''), () => resolve()));
  return { socket, accepted, read, answers: () => answers };
}

/** The client is gone, and the node knows. */
async function disconnect({ socket, accepted }: { readonly socket: Socket; readonly accepted: Socket }): Promise<void> {
  const gone = accepted.closed ? undefined : once(accepted, 'close');
  socket.destroy();
  await gone;
}

it('are answered in their order', async () => {
  const { app } = await listening();
  const { answers } = await send(
    app,
    TYPE.repeat(20),
    'GET /v1/nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  );
  await expect.poll(answers, { timeout: 60_000 }).toContain('404');
  const statuses = [...answers().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  expect(statuses).toEqual([...Array<string>(20).fill('200'), '404']);
});

it('take no place for an event stream that nobody gives back (rule P6)', async () => {
  const { app, url } = await listening();
  for (let i = 0; i < 20; i++) {
    const client = await send(app, EVENTS.repeat(16));
    await expect.poll(client.answers, { timeout: 60_000 }).toContain('retry:');
    await disconnect(client);
  }
  const stop = new AbortController();
  const { status } = await fetch(`${url}/v1/events`, { signal: stop.signal });
  stop.abort();
  expect(status).toBe(200);
});

it('take no share of large bodies that nobody gives back (rule P6)', async () => {
  const { app, url } = await listening();
  const body = `{"keys":["${'a'.repeat(2 * 1024 * 1024 - 100)}"]}`;
  const post = `POST ${QUERY} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  for (let i = 0; i < 3; i++) {
    const client = await send(app, EVENTS, post, body);
    await expect.poll(client.answers, { timeout: 60_000 }).toContain('retry:');
    client.socket.destroy();
  }
  const keys = Array<string>(400).fill(`g${'0'.repeat(31)}`);
  const answer = await fetch(`${url}${QUERY}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ keys }),
  });
  expect(answer.status).toBe(200);
});

it('do not hold up a node that stops (rule P7)', async () => {
  const { app } = await listening();
  const client = await send(app, EVENTS, EVENTS);
  await expect.poll(client.answers, { timeout: 60_000 }).toContain('retry:');
  await disconnect(client);
  await app.close();
});

it.each([
  ['behind a stream', EVENTS + TYPE.repeat(200)],
  ['that cost little', TYPE.repeat(500)],
])('end the connection when there are more than 64, %s, and the client sees that', async (_what, text) => {
  const { app, url } = await listening();
  const { socket, answers } = await send(app, text);
  if (!socket.closed) await once(socket, 'close');
  expect(answers().split('HTTP/1.1 200').length - 1).toBeLessThanOrEqual(1);
  expect((await fetch(`${url}/livez`)).status).toBe(200);
});

it('are all answered when there are 64', async () => {
  const { app } = await listening();
  const { answers } = await send(app, TYPE.repeat(65));
  await expect.poll(() => answers().split('HTTP/1.1 200').length - 1, { timeout: 60_000 }).toBe(65);
});
