/** Whatever a node of an own authority sends, it is an answer or an error: it neither ends the program nor leaves it waiting. */

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { nodeFetch } from '../../src/client/node-fetch.js';
import { NODE_CERT, NODE_TLS_KEY } from '../support/certificates.js';

/** Asks a server that answers with these bytes. */
async function ask(answer: string): Promise<Response> {
  const server = createServer({ cert: NODE_CERT, key: NODE_TLS_KEY }, (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(answer));
    onTestFinished(() => void socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const send = nodeFetch({ certificate: NODE_CERT });
  return send(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`, {});
}

it('reads an answer', async () => {
  const response = await ask('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
  expect([response.status, await response.text()]).toEqual([200, '{}']);
});

it.each([
  ['a status that is none', 'HTTP/1.1 999 x\r\ncontent-length: 2\r\n\r\n{}'],
  ['a switch to another protocol', 'HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'],
  ['a redirect', 'HTTP/1.1 307 x\r\nlocation: https://127.0.0.1/\r\ncontent-length: 0\r\n\r\n'],
  ['what is no HTTP', 'hello\r\n\r\n'],
])('fails at %s', async (_what, answer) => {
  await expect(ask(answer)).rejects.toThrow('fetch failed');
});
