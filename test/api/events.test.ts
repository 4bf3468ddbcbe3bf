/** The event stream over real sockets: order, resume, slow readers, keys, and the end. */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EventHub } from '../../src/api/routes/events/event-hub.js';
import { EventParser, type ReceivedEvent, readEvents } from '../../src/client/events.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { API_KEY, type AppSetup, openApp, send } from '../support/api/app.js';
import { ODD_AMOUNT } from '../support/api/fakes.js';
import { ManualClock } from '../support/manual-clock.js';

const EPOCH = 1_700_000_000_000;

async function listen(role: NodeRole, hub: EventHub, setup: AppSetup = {}) {
  const app = await openApp(role, { ...setup, modules: { ...setup.modules, events: hub } });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { app, url: `${url}/v1/events`, port: (app.server.address() as AddressInfo).port };
}

interface Reader {
  /** The next event. */
  next(): Promise<ReceivedEvent | undefined>;
  /** The place to read on from, once the stream is open. */
  readonly place: () => string;
  close(): void;
}

async function read(url: string, options: { lastEventId?: string; apiKey?: string } = {}): Promise<Reader> {
  const stop = new AbortController();
  const news = readEvents({ url, ...options, signal: stop.signal });
  let place = '';
  // The first news is the place, without an event.
  place = (await news.next()).value?.id ?? '';
  onTestFinished(() => stop.abort());
  return {
    place: () => place,
    close: () => stop.abort(),
    async next() {
      for (;;) {
        const { value, done } = await news.next();
        if (done) return undefined;
        place = value.id;
        if (value.event !== undefined) return value.event;
      }
    },
  };
}

const block = (hub: EventHub, num: number): void => hub.publish('blocks', 'block', { block_num: num });

describe('the event stream', () => {
  it('tells events in their order, with rising ids of this start and exact integers', async () => {
    const hub = new EventHub({ epoch: EPOCH });
    const { url } = await listen('user', hub);
    const reader = await read(url, { apiKey: API_KEY });
    block(hub, 1);
    hub.publish('wallet', 'balance', { running: ODD_AMOUNT });
    block(hub, 2);
    expect([await reader.next(), await reader.next(), await reader.next()]).toEqual([
      { id: `${EPOCH}-1`, name: 'block', data: '{"block_num":1}' },
      { id: `${EPOCH}-2`, name: 'balance', data: `{"running":${ODD_AMOUNT}}` },
      { id: `${EPOCH}-3`, name: 'block', data: '{"block_num":2}' },
    ]);
  });

  it('tells only of the topics asked for', async () => {
    const hub = new EventHub({ epoch: EPOCH });
    const { url } = await listen('mempool', hub);
    const reader = await read(`${url}?topics=blocks`);
    hub.publish('transactions', 'transaction', { hash: 'g1' });
    block(hub, 1);
    expect(await reader.next()).toMatchObject({ id: `${EPOCH}-2`, name: 'block' });
  });

  it('begins with what comes, not with what was', async () => {
    const hub = new EventHub({ epoch: EPOCH });
    block(hub, 1);
    const { url } = await listen('storage', hub);
    const reader = await read(url);
    block(hub, 2);
    expect(await reader.next()).toMatchObject({ data: '{"block_num":2}' });
  });

  it('gives a reader that comes back what it has missed', async () => {
    const hub = new EventHub({ epoch: EPOCH });
    const { url } = await listen('storage', hub);
    const first = await read(url);
    block(hub, 1);
    await first.next();
    first.close();
    block(hub, 2);
    block(hub, 3);
    const second = await read(url, { lastEventId: first.place() });
    expect([await second.next(), await second.next()]).toMatchObject([
      { data: '{"block_num":2}' },
      { data: '{"block_num":3}' },
    ]);
  });

  it('gives a place before the first event, so that nothing between two connections is lost', async () => {
    const hub = new EventHub({ epoch: EPOCH });
    const { url } = await listen('storage', hub);
    const first = await read(url);
    first.close();
    block(hub, 1);
    const second = await read(url, { lastEventId: first.place() });
    expect(await second.next()).toMatchObject({ data: '{"block_num":1}' });
  });

  it.each([
    ['of another start of the node', () => '1600000000000-1'],
    ['too old', () => `${EPOCH}-1`],
    ['from the future', () => `${EPOCH}-999`],
    ['that is no id', () => 'x'],
  ])('says reset to an id %s, and goes on with what comes', async (_why, id) => {
    const hub = new EventHub({ epoch: EPOCH, kept: 2 });
    for (let num = 1; num <= 5; num++) block(hub, num);
    const { url } = await listen('storage', hub);
    const reader = await read(url, { lastEventId: id() });
    expect(await reader.next()).toEqual({
      id: `${EPOCH}-5`,
      name: 'reset',
      data: `{"last_event_id":"${EPOCH}-5"}`,
    });
    block(hub, 6);
    expect(await reader.next()).toMatchObject({ data: '{"block_num":6}' });
  });

  it('keeps the events of a quiet topic while a busy one passes by', async () => {
    const hub = new EventHub({ epoch: EPOCH, kept: 2 });
    block(hub, 1);
    for (let i = 0; i < 10; i++) hub.publish('transactions', 'transaction', { i });
    const { url } = await listen('mempool', hub);
    const reader = await read(`${url}?topics=blocks`, { lastEventId: `${EPOCH}-0` });
    expect(await reader.next()).toMatchObject({ name: 'block', data: '{"block_num":1}' });
  });

  it('lets a reader go that falls too far behind, and tells it', async () => {
    const hub = new EventHub({ epoch: EPOCH, kept: 100 });
    const { port } = await listen('storage', hub);
    const socket = await openRaw(port);
    const received: string[] = [];
    socket.pause();
    // More than the connection takes: the rest is read from the hub, which keeps 100.
    const data = { text: 'x'.repeat(100_000) };
    for (let i = 0; i < 2_000; i++) {
      hub.publish('blocks', 'block', data);
      if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    socket.on('data', (chunk) => received.push(chunk.toString('latin1')));
    socket.resume();
    await once(socket, 'end');
    const text = received.join('');
    expect(text).toContain('event: lagged');
    expect(text.match(/^event: block$/gm)?.length).toBeLessThan(2_000);
  });

  it('cuts off a reader that takes nothing for a minute', async () => {
    const hub = new EventHub({ epoch: EPOCH });
    const clock = new ManualClock();
    const { port } = await listen('storage', hub, { modules: { clock } });
    const socket = await openRaw(port);
    socket.pause();
    const closed = once(socket, 'close');
    for (let i = 0; i < 200; i++) hub.publish('blocks', 'block', { text: 'x'.repeat(1_000_000) });
    // Until the buffers of both ends are full.
    await new Promise((resolve) => setImmediate(resolve));
    for (let beats = 0; beats < 5; beats++) clock.advance(15_000);
    socket.resume();
    await closed;
  });

  it('gives a sign of life every 15 seconds', async () => {
    const hub = new EventHub({ epoch: EPOCH });
    const clock = new ManualClock();
    const { port } = await listen('storage', hub, { modules: { clock } });
    const socket = await openRaw(port);
    let text = '';
    const beat = new Promise<void>((resolve) => {
      socket.on('data', (chunk) => {
        text += String(chunk);
        if (text.includes(': heartbeat')) resolve();
      });
    });
    clock.advance(15_000);
    await beat;
  });

  it('ends with the node, and the reader learns it', async () => {
    const hub = new EventHub({ epoch: EPOCH });
    const { app, url } = await listen('storage', hub);
    const reader = await read(url);
    const closing = app.close();
    expect(await reader.next()).toBeUndefined();
    await closing;
  });

  it('does not keep the node from stopping when a reader takes nothing', async () => {
    const hub = new EventHub({ epoch: EPOCH });
    const { app, port } = await listen('storage', hub);
    const socket = await openRaw(port);
    socket.pause();
    for (let i = 0; i < 200; i++) hub.publish('blocks', 'block', { text: 'x'.repeat(1_000_000) });
    await new Promise((resolve) => setImmediate(resolve));
    await app.close();
  });
});

/** A connection that has asked for the stream and got its first bytes. */
async function openRaw(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
  });
  socket.write('GET /v1/events?topics=blocks HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'readable');
  return socket;
}

describe('who may read events', () => {
  it('asks for the API key for topic wallet alone (decision H3)', async () => {
    const hub = new EventHub({ epoch: EPOCH });
    const { app, url } = await listen('user', hub);
    for (const query of ['', '?topics=wallet', '?topics=blocks,wallet']) {
      const answer = await send(app, { url: `/v1/events${query}` });
      expect([answer.status, answer.body.code]).toEqual([401, 'missing_api_key']);
    }
    const reader = await read(`${url}?topics=blocks`);
    block(hub, 1);
    expect(await reader.next()).toMatchObject({ name: 'block' });
  });

  it.each([
    ['storage', 'nonsense'],
    ['storage', 'wallet'],
    ['storage', ''],
    ['mempool', 'blocks,'],
  ] as const)('refuses on a %s node the topics "%s"', async (role, topics) => {
    const { app } = await listen(role, new EventHub({ epoch: EPOCH }));
    const answer = await send(app, { url: `/v1/events?topics=${topics}` });
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    expect(answer.body.detail).toContain('blocks');
  });

  it('serves so many readers and no more', async () => {
    const hub = new EventHub({ epoch: EPOCH });
    const { app, url } = await listen('storage', hub);
    const readers = [];
    for (let i = 0; i < 256; i++) readers.push(await read(url));
    const answer = await send(app, { url: '/v1/events' });
    expect([answer.status, answer.body.code]).toEqual([503, 'overloaded']);
  });

  it('refuses HEAD, which would be a stream without an end', async () => {
    const { app } = await listen('storage', new EventHub({ epoch: EPOCH }));
    expect((await send(app, { method: 'HEAD', url: '/v1/events' })).status).toBe(405);
  });
});

describe('the parser of events', () => {
  it('takes text in any pieces', () => {
    const text = 'retry: 1\nid: 7-0\n\n: heartbeat\n\nid: 7-1\nevent: block\ndata: {"a":1}\n\n';
    const whole = new EventParser().take(text);
    const parser = new EventParser();
    expect([...text].flatMap((character) => parser.take(character))).toEqual(whole);
    expect(whole.map(({ event }) => event)).toEqual([
      undefined,
      undefined,
      { id: '7-1', name: 'block', data: '{"a":1}' },
    ]);
  });
});
