/** Commands that ask a node which lies: nothing of it reaches the terminal as more than text, and nothing of it is endless. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { table } from '../../src/cli/output.js';
import { runCli } from '../../src/cli/run.js';
import { NodeClient } from '../../src/client/client.js';
import { readEvents } from '../../src/client/events.js';
import { createContext, type TestContext } from '../support/cli-context.js';

/** Clears the screen, turns the direction of text, and asks a terminal that knows C1 for the same. */
const ESCAPES = '\u001b[2J\u202e\u009b31m';
const UNSAFE = /[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|(?!\n)\p{Cc}/u;
const MIB = 1024 * 1024;

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function lyingNode(answer: Answer): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A stream of one text, which stays open. */
function stream(text: string): Answer {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(text);
  };
}

/** Until the text is written, or the command has ended. */
async function untilWritten(context: TestContext, text: string, running: Promise<number>): Promise<void> {
  let isOver = false;
  void running.finally(() => {
    isOver = true;
  });
  while (!isOver && !context.out().includes(text)) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function watch(text: string, ...flags: string[]): Promise<string> {
  const url = await lyingNode(stream(`${text}\n\nevent: end\ndata: {"the":"end"}\n\n`));
  const context = createContext();
  const running = runCli(['watch', '--url', url, ...flags], context);
  await untilWritten(context, 'end', running);
  context.raise('SIGINT');
  expect(await running).toBe(0);
  return context.out();
}

async function firstOf(url: string): Promise<unknown> {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  return (await readEvents({ url, apiKey: 'a key', signal: stop.signal }).next()).value;
}

describe('tessera watch', () => {
  it.each([
    ['a name', `event: ${ESCAPES}\ndata: {"a":1}`],
    ['a text', `event: block\ndata: {"a":${JSON.stringify(ESCAPES)}}`],
    ['a member', `event: block\ndata: {${JSON.stringify(ESCAPES)}:1}`],
    ['an id', `id: ${ESCAPES}\nevent: block\ndata: {"a":1}`],
    ['what is no JSON', `event: block\ndata: ${ESCAPES}`],
    ['what is no object', 'event: block\ndata: null'],
  ])('shows escapes in %s as text', async (_, text) => {
    expect(await watch(text)).not.toMatch(UNSAFE);
    const lines = (await watch(text, '--json')).trimEnd().split('\n');
    expect(lines.join('')).not.toMatch(UNSAFE);
    for (const line of lines) JSON.parse(line);
  });

  it('ends a connection whose event has no end', async () => {
    const url = await lyingNode(stream(`data: ${'x'.repeat(2 * MIB)}`));
    await expect(firstOf(url)).rejects.toMatchObject({ code: 'node_unreachable' });
  });

  it('resumes after no id that cannot be asked for', async () => {
    const url = await lyingNode(stream('id: 1-1\n\nid: \u4e2d\n\nid: \n\n'));
    const stop = new AbortController();
    const news = readEvents({ url, signal: stop.signal });
    for (let i = 0; i < 3; i++) expect((await news.next()).value?.id).toBe('1-1');
    stop.abort();
  });

  it('takes no other answer for events, and follows it nowhere with a key', async () => {
    const page = await lyingNode((_, response) => response.end('<html>'));
    await expect(firstOf(page)).rejects.toMatchObject({ code: 'invalid_request' });
    let shown: unknown;
    const other = await lyingNode((request, response) => {
      shown = request.headers['x-api-key'];
      stream(': x\n\n')(request, response);
    });
    const url = await lyingNode((_, response) => response.writeHead(307, { location: other }).end());
    await expect(firstOf(url)).rejects.toMatchObject({ code: 'node_unreachable' });
    expect(shown).toBeUndefined();
  });
});

describe('tessera call', () => {
  it('shows escapes in an answer as JSON can', async () => {
    const answer = { total: 1, issued: 1, [ESCAPES]: [ESCAPES, '\u{e0001}'] };
    const url = await lyingNode((_, response) => response.end(JSON.stringify(answer)));
    const context = createContext();
    expect(await runCli(['call', 'getSupply', '--url', url], context)).toBe(0);
    expect(context.out()).not.toMatch(UNSAFE);
    expect(JSON.parse(context.out())).toEqual(answer);
  });

  it('shows escapes in a refusal as text', async () => {
    const url = await lyingNode((_, response) =>
      response.writeHead(409, { 'content-type': 'application/problem+json' }).end(JSON.stringify({ detail: ESCAPES })),
    );
    const context = createContext();
    expect(await runCli(['call', 'getSupply', '--url', url], context)).toBe(1);
    expect(context.err()).toContain('\\u{1b}[2J');
    expect(context.err()).not.toMatch(UNSAFE);
  });
});

describe('a table', () => {
  it('shows escapes in a cell as text, and is as wide as that', () => {
    expect(table([{ title: 'A' }, { title: 'B' }], [[ESCAPES, 'x']])).not.toMatch(UNSAFE);
  });
});

describe('a client of a node', () => {
  it('reads no answer that is larger than any may be, also one that unpacks to that', async () => {
    const bomb = gzipSync(Buffer.alloc(8 * MIB, '0'));
    const url = await lyingNode((_, response) =>
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(bomb),
    );
    await expect(new NodeClient({ url, maxAnswerBytes: MIB }).api.getSupply()).rejects.toMatchObject({
      code: 'node_unreachable',
      message: expect.stringContaining('larger than'),
    });
  });
});
