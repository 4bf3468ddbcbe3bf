import { get } from 'node:http';
import { createConnection, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createDeferred } from '../../src/lib/deferred.js';
import {
  type Connection,
  type Frame,
  GUARD_BYTES,
  GUARD_REASON,
  type Listener,
  type Transport,
} from '../../src/peers/transport/transport.js';
import { WebSocketTransport } from '../../src/peers/transport/websocket-transport.js';
import { NODE_CERT, NODE_TLS_KEY, OTHER_CERT } from '../support/certificates.js';
import { SettlingClock } from '../support/manual-clock.js';
import { createMemoryHub } from '../support/memory-transport.js';

const HERE = { host: '127.0.0.1', port: 0 };
const never = new AbortController().signal;
const tls = { cert: NODE_CERT, key: NODE_TLS_KEY, ca: NODE_CERT };

const KINDS: [string, () => Transport][] = [
  ['WebSocket', () => new WebSocketTransport()],
  ['WebSocket with TLS', () => new WebSocketTransport({ tls })],
  ['memory', () => createMemoryHub().transport()],
];

function frameOf(connection: Connection): Promise<Frame> {
  const frame = createDeferred<Frame>();
  connection.onMessage(frame.resolve);
  return frame.promise;
}

function endOf(connection: Connection): Promise<string> {
  const end = createDeferred<string>();
  connection.onClose(end.resolve);
  return end.promise;
}

describe.each(KINDS)('the %s transport', (_name, create) => {
  let transport: Transport;
  let listener: Listener;
  let accepted: Promise<Connection>;

  beforeEach(async () => {
    transport = create();
    const first = createDeferred<Connection>();
    accepted = first.promise;
    listener = await transport.listen(HERE, first.resolve);
  });
  afterEach(() => listener.close());

  const dial = () => transport.dial(`127.0.0.1:${listener.address.port}`, never);

  it('carries text and bytes both ways', async () => {
    const dialer = await dial();
    const other = await accepted;
    dialer.send('hello');
    expect(await frameOf(other)).toBe('hello');
    other.send(Uint8Array.of(1, 2, 3));
    const bytes = await frameOf(dialer);
    expect(typeof bytes === 'string' ? bytes : [...bytes]).toEqual([1, 2, 3]);
    expect(dialer.bytesReceived).toBeGreaterThan(0);
  });

  it('keeps frames that came before anybody listened', async () => {
    const dialer = await dial();
    const other = await accepted;
    other.send('first');
    other.send('second');
    dialer.send('answer');
    await frameOf(other);
    const frames: Frame[] = [];
    const both = createDeferred<void>();
    dialer.onMessage((frame) => {
      frames.push(frame);
      if (frames.length === 2) both.resolve();
    });
    await both.promise;
    expect(frames).toEqual(['first', 'second']);
  });

  it('sends what is queued before it closes, and tells both ends once', async () => {
    const dialer = await dial();
    const other = await accepted;
    const frame = frameOf(other);
    const ends = Promise.all([endOf(dialer), endOf(other)]);
    dialer.send('bye');
    dialer.close();
    expect(await frame).toBe('bye');
    expect(await ends).toEqual(['closed by this node', 'the peer closed the connection']);
    expect(await endOf(dialer)).toBe('closed by this node');
    dialer.send('into the void');
  });

  it('ends a connection that sends much before its guard is lifted', async () => {
    const dialer = await dial();
    const other = await accepted;
    const frames: Frame[] = [];
    other.onMessage((frame) => frames.push(frame));
    dialer.send(new Uint8Array(8 * GUARD_BYTES));
    expect(await endOf(other)).toBe(GUARD_REASON);
    expect(frames).toEqual([]);
  });

  it('carries a large frame once its guard is lifted', async () => {
    const dialer = await dial();
    const other = await accepted;
    other.guard(() => undefined);
    const frame = frameOf(other);
    dialer.send(new Uint8Array(8 * 1024 * 1024).fill(7));
    expect((await frame).length).toBe(8 * 1024 * 1024);
  });

  it('cannot reach a port on which nobody listens', async () => {
    await listener.close();
    await expect(dial()).rejects.toMatchObject({ code: 'peer_unreachable' });
  });

  it('cannot listen twice on one port', async () => {
    const at = { host: '127.0.0.1', port: listener.address.port };
    await expect(transport.listen(at, () => undefined)).rejects.toMatchObject({ code: 'port_in_use' });
  });

  it('gives up a dial by its signal', async () => {
    const abort = new AbortController();
    abort.abort();
    await expect(transport.dial('127.0.0.1:9', abort.signal)).rejects.toMatchObject({ code: 'aborted' });
  });

  it('closes what it accepted when its listener closes', async () => {
    const dialer = await dial();
    await accepted;
    const end = endOf(dialer);
    await listener.close();
    expect(await end).not.toBe('');
  });
});

describe('the WebSocket transport alone', () => {
  let listener: Listener | undefined;

  afterEach(async () => {
    await listener?.close();
  });

  it('does not accept a certificate of another authority', async () => {
    listener = await new WebSocketTransport({ tls }).listen(HERE, () => undefined);
    const stranger = new WebSocketTransport({ tls: { ...tls, ca: OTHER_CERT } });
    await expect(stranger.dial(`127.0.0.1:${listener.address.port}`, never)).rejects.toThrow(/certificate/);
  });

  it('does not link with TLS on one side only', async () => {
    listener = await new WebSocketTransport({ tls }).listen(HERE, () => undefined);
    const plain = new WebSocketTransport();
    await expect(plain.dial(`127.0.0.1:${listener.address.port}`, never)).rejects.toMatchObject({
      code: 'peer_unreachable',
    });
  });

  it('reaches a peer by its name', async () => {
    const transport = new WebSocketTransport();
    listener = await transport.listen({ host: 'localhost', port: 0 }, () => undefined);
    const connection = await transport.dial(`localhost:${listener.address.port}`, never);
    const end = endOf(connection);
    connection.close();
    expect(await end).toBe('closed by this node');
  });

  it('tells a plain HTTP client what it is', async () => {
    listener = await new WebSocketTransport().listen(HERE, () => undefined);
    const status = createDeferred<number | undefined>();
    get({ ...listener.address, path: '/v1/debug' }, (response) => {
      response.resume();
      status.resolve(response.statusCode);
    });
    expect(await status.promise).toBe(426);
  });

  it('takes no upgrade from a web page, which always says where it is from', async () => {
    const accepted: Connection[] = [];
    listener = await new WebSocketTransport().listen(HERE, (connection) => accepted.push(connection));
    const { port } = listener.address;
    for (const origin of ['https://example.com', `http://127.0.0.1:${port}`, 'null', '']) {
      const status = createDeferred<number | undefined>();
      const page = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { origin } });
      page.once('unexpected-response', (_request, response) => status.resolve(response.resume().statusCode));
      page.once('open', () => status.resolve(101));
      expect(await status.promise).toBe(401);
    }
    expect(accepted).toEqual([]);
  });

  it('gives up a dial that is under way', async () => {
    const transport = new WebSocketTransport();
    const connected = createDeferred<void>();
    const mute = createServer(() => connected.resolve());
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const at = mute.address();
    const abort = new AbortController();
    const dialed = transport.dial(`127.0.0.1:${typeof at === 'object' ? at?.port : 0}`, abort.signal);
    const failed = expect(dialed).rejects.toMatchObject({ code: 'aborted' });
    await connected.promise;
    abort.abort();
    await failed;
    await new Promise((resolve) => mute.close(resolve));
  });

  it('masks what it sends, but for large frames to a node of the same operator (docs/adr/small-decisions.md#0052)', async () => {
    const other = createDeferred<Connection>();
    listener = await new WebSocketTransport().listen(HERE, other.resolve);
    const said: Buffer[] = [];
    const relay = createServer((from) => {
      const to = createConnection(listener?.address ?? HERE);
      for (const socket of [from, to]) socket.on('error', () => undefined);
      from
        .on('data', (chunk) => said.push(chunk))
        .pipe(to)
        .pipe(from);
    });
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
    const at = relay.address();
    const dialer = await new WebSocketTransport().dial(`127.0.0.1:${typeof at === 'object' ? at?.port : 0}`, never);
    const listening = await other.promise;
    for (const end of [listening, dialer]) end.guard(() => undefined);
    const small = Buffer.alloc(64 * 1024 - 1, 'small');
    const large = Buffer.alloc(64 * 1024, 'large');
    const isPlain = async (frame: Buffer): Promise<boolean> => {
      const arrived = frameOf(listening);
      dialer.send(frame);
      expect(frame.equals((await arrived) as Buffer)).toBe(true);
      return Buffer.concat(said.splice(0)).includes(frame.subarray(0, 40));
    };
    expect([await isPlain(large), await isPlain(small)]).toEqual([false, false]);
    dialer.sendPlain();
    expect([await isPlain(large), await isPlain(small)]).toEqual([true, false]);
    listening.sendPlain();
    const answer = frameOf(dialer);
    listening.send(large);
    expect((await answer).length).toBe(large.length);
    dialer.cut('done');
    relay.close();
  });

  /** A connection of which every byte is the test's own. */
  const openRaw = async (): Promise<{ socket: Socket; other: Connection }> => {
    const first = createDeferred<Connection>();
    listener = await new WebSocketTransport().listen(HERE, first.resolve);
    const socket = createConnection(listener.address).setNoDelay(true);
    socket.on('error', () => undefined);
    socket.write(
      'GET / HTTP/1.1\r\nHost: node\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    return { socket, other: await first.promise };
  };
  /** The head of a masked frame without bytes. */
  const bare = (first: number): Buffer => Buffer.from([first, 0x80, 1, 2, 3, 4]);

  it.each([
    ['pings', Buffer.concat(Array.from({ length: 64 }, () => bare(0x89))), /pings or pongs/],
    ['pongs', Buffer.concat(Array.from({ length: 64 }, () => bare(0x8a))), /pings or pongs/],
    ['parts without bytes', Buffer.concat([bare(0x02), ...Array.from({ length: 128 }, () => bare(0))]), /fragments/],
  ])('ends a connection over many %s, which nobody pays for', async (_what, bytes, reason) => {
    const { socket, other } = await openRaw();
    const end = endOf(other);
    socket.write(bytes);
    expect(await end).toMatch(reason);
  });

  it('answers the pings of a proxy for as long as frames come between them', async () => {
    const { socket, other } = await openRaw();
    let frames = 0;
    const all = createDeferred<void>();
    other.onMessage(() => {
      frames += 1;
      if (frames === 64) all.resolve();
    });
    for (let i = 0; i < 64; i++) socket.write(Buffer.concat([bare(0x89), bare(0x82)]));
    await all.promise;
    other.cut('done');
  });

  it('counts what arrives byte by byte as what it takes in memory', async () => {
    const { socket, other } = await openRaw();
    const held: number[] = [];
    const end = endOf(other);
    other.guard((heldBytes) => {
      held.push(heldBytes);
      return held.length < 64 ? undefined : 'enough';
    });
    // A frame of 65,535 bytes.
    socket.write(Buffer.from([0x82, 0xfe, 0xff, 0xff, 0, 0, 0, 0]));
    const more = setInterval(() => socket.write('x'), 1);
    expect(await end).toBe('enough');
    clearInterval(more);
    expect(held.at(-1)).toBeGreaterThanOrEqual(64 * 512);
  });

  it('closes with sockets open that never became links', async () => {
    listener = await new WebSocketTransport().listen(HERE, () => undefined);
    const socket = createConnection(listener.address);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined);
    await new Promise((resolve) => socket.once('connect', resolve));
    await listener.close();
    await closed;
    listener = undefined;
  });
});

describe('the memory transport alone', () => {
  const two = async (options: Parameters<typeof createMemoryHub>[0] = {}) => {
    const hub = createMemoryHub(options);
    const first = createDeferred<Connection>();
    const { address } = await hub.transport().listen(HERE, first.resolve);
    const dialer = await hub.transport().dial(`127.0.0.1:${address.port}`, never);
    return { wire: hub.wires[0], dialer, other: await first.promise };
  };

  it('delays frames by the clock', async () => {
    const clock = new SettlingClock();
    const { dialer, other } = await two({ clock, delayMs: 100 });
    const frames: Frame[] = [];
    other.onMessage((frame) => frames.push(frame));
    dialer.send('a');
    await clock.advance(99);
    expect(frames).toEqual([]);
    await clock.advance(1);
    expect(frames).toEqual(['a']);
  });

  it('drops and changes frames as the test says', async () => {
    const { wire, dialer, other } = await two();
    wire?.filter((frame, from) => (from === 'listener' ? undefined : `${String(frame)}!`));
    other.send('lost');
    dialer.send('heard');
    expect(await frameOf(other)).toBe('heard!');
  });

  it('queues frames while it is stalled', async () => {
    const { wire, dialer, other } = await two();
    wire?.stall();
    dialer.send('abc');
    dialer.send(new Uint8Array(7));
    expect(dialer.bufferedAmount).toBe(10);
    const frame = frameOf(other);
    wire?.resume();
    expect(await frame).toBe('abc');
  });
});
