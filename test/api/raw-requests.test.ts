/** What no HTTP client sends, over a socket: Node's own answers to it have no body, those of the node are problem documents. */

import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it } from 'vitest';
import { openApp } from '../support/api/app.js';

/** What the node sends until it closes the connection. */
async function answerTo(app: FastifyInstance, text: string): Promise<string> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  let answer = '';
  socket.setEncoding('latin1').on('data', (part: string) => {
    answer += part;
  });
  socket.on('error', () => undefined);
  socket.write(text);
  await once(socket, 'close');
  return answer;
}

function problemIn(answer: string): unknown {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  expect(head.toLowerCase()).toContain('content-type: application/problem+json');
  const chunk = /transfer-encoding: chunked/i.test(head) ? body.split('\r\n')[1] : body;
  return JSON.parse(chunk ?? '');
}

async function listening(): Promise<FastifyInstance> {
  const app = await openApp('mempool');
  await app.listen({ host: '127.0.0.1', port: 0 });
  return app;
}

const get = (...headers: readonly string[]): string =>
  `${['GET /livez HTTP/1.1', 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`;
const QUERY = 'POST /v1/balances/query HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n';

describe('a problem document answers', () => {
  it.each([
    ['a request without Host', get(), 400, 'Send a Host header'],
    ['one with two', get('Host: a', 'hOST: b'), 400, 'Send one Host header only.'],
    ['the same one twice', get('Host: a', 'Host: a'), 400, 'Send one Host header only.'],
    ['a Host that is none', get('Host: a b'), 400, 'The Host header holds no host.'],
    ['a Host without a name', get('Host: @'), 400, 'The Host header holds no host.'],
    ['a Host with the path', get('Host: a/b'), 400, 'The Host header holds no host.'],
    [
      'an expectation that is not known',
      `${QUERY}Expect: tea\r\nContent-Length: 2\r\n\r\n{}`,
      417,
      'no expectation but',
    ],
    ['headers of more than 16 KiB', get('Host: a', `X: ${'x'.repeat(20_000)}`), 431, 'The header is too large.'],
    ['what is no HTTP', 'NONSENSE\r\n\r\n', 400, 'This is not a valid HTTP request.'],
    ['a later version of it', 'GET /livez HTTP/3.0\r\nHost: a\r\n\r\n', 400, 'This is not a valid HTTP request.'],
    ['a method that there is not', 'BREW /livez HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'This is not a valid HTTP request.'],
    ['two lengths', `${QUERY}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400, 'not a valid HTTP request'],
    [
      'a length and chunks',
      `${QUERY}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
      'not a valid',
    ],
    ['a chunk without length', `${QUERY}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`, 400, 'not a valid'],
  ])('%s', async (_, text, status, detail) => {
    const answer = await answerTo(await listening(), text);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(problemIn(answer)).toMatchObject({
      type: 'about:blank',
      status,
      code: 'invalid_request',
      detail: expect.stringContaining(detail),
    });
  });
});

it.each([
  ['an address with a port', get('Host: [::1]:3003')],
  ['no name, which a client sends that knows none', get('Host:')],
  ['a name with an underscore', get('Host: tessera_storage_1:3001')],
  ['none in HTTP/1.0', 'GET /livez HTTP/1.0\r\n\r\n'],
])('takes as Host %s', async (_, text) => {
  expect(await answerTo(await listening(), text)).toContain('200 OK');
});

it('answers what expects 100-continue', async () => {
  const body = '{"addresses":["a"]}';
  const text = `${QUERY}Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const answer = await answerTo(await listening(), text);
  expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 \d+ /);
});

it('answers older routes without Host with an envelope', async () => {
  const answer = await answerTo(
    await listening(),
    'POST /fetch_balance HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
  );
  expect(answer).toContain('400 Bad Request');
  expect(answer).toContain('"status":"Error"');
});
