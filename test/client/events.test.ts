/** Reading events: it ends when it is told to, however long it has lasted, and whatever pieces they come in. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { EventParser, readEvents } from '../../src/client/events.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

it('ends with the signal, after the garbage collector too', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('id: 7-1\nevent: block\ndata: {}\n\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const stop = new AbortController();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/events`;
  const news = readEvents({ url, signal: stop.signal });
  expect((await news.next()).value?.event?.name).toBe('block');
  const next = news.next().catch((error: unknown) => error);
  for (let i = 0; i < 10; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
  }
  stop.abort();
  expect(await next).toMatchObject({ code: 'node_unreachable' });
});

it('reads an event in a million pieces, each with the end of a line, without joining each with all before it', () => {
  const parser = new EventParser();
  const pieces = 500_000;
  for (let i = 0; i < pieces; i++) parser.take(':\n');
  expect(parser.take('data: {}\n')).toEqual([]);
  expect(parser.take('\n')).toMatchObject([{ event: { name: 'message', data: '{}' } }]);
});

it('reads events wherever the pieces end', () => {
  const text = 'id: 7-1\nevent: block\ndata: {}\n\n: beat\n\nid: 7-2\ndata: 1\ndata: 2\n\n';
  const whole = new EventParser().take(text);
  expect(whole).toHaveLength(3);
  for (let size = 1; size < text.length; size++) {
    const parser = new EventParser();
    const found = [];
    for (let at = 0; at < text.length; at += size) found.push(...parser.take(text.slice(at, at + size)));
    expect(found).toEqual(whole);
  }
});
