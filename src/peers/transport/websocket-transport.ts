/**
 * Links over WebSocket, with TLS when certificates are given. Frames are not compressed: hashes do not shrink, and a
 * compressed frame hides its size. Frames, open sockets and the time until the upgrade are bounded.
 */

import { randomFillSync } from 'node:crypto';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type ClientOptions, type RawData, type ServerOptions, WebSocket, WebSocketServer } from 'ws';
import { asBuffer } from '../../lib/bytes.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { formatAddress, type HostAndPort, parseAddress } from '../address.js';
import {
  type Connection,
  type Frame,
  GUARD_BYTES,
  GUARD_REASON,
  type Guard,
  type Listener,
  MAX_FRAME_BYTES,
  type Transport,
} from './transport.js';

/** Certificates as PEM text or bytes. With certificates every link of this node uses TLS, dialed and accepted. */
export interface TlsFiles {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** The authority that signs the peers' certificates; the system's authorities when absent. */
  readonly ca?: string | Buffer;
}

interface WebSocketTransportOptions {
  readonly tls?: TlsFiles;
  /** Sockets that one listener holds at once; links have a lower bound of their own. */
  readonly maxSockets?: number;
  /** Most bytes of a frame; less than `MAX_FRAME_BYTES` in tests only. */
  readonly maxFrameBytes?: number;
}

const UPGRADE_TIMEOUT_MS = 5_000;
/** Milliseconds that a closing connection has to send queued frames. */
const CLOSE_TIMEOUT_MS = 1_000;
/** Most parts of a frame: nodes send a frame in one part, a proxy may cut it up, and even a part without bytes costs work. */
const MAX_FRAGMENTS = 64;
const DEFAULT_MAX_SOCKETS = 2_048;
/** Connections that the system queues (`net.core.somaxconn`): with a full queue, all that connect wait for retries after 1, 3, 7, 15 s. */
const BACKLOG = 4_096;
const PASS_HEADER = 'x-tessera-pass';
const MAX_PASS_LENGTH = 256;

export class WebSocketTransport implements Transport {
  readonly #tls: TlsFiles | undefined;
  readonly #maxSockets: number;
  readonly #bounds: {
    readonly perMessageDeflate: false;
    readonly maxPayload: number;
    readonly maxFragments: number;
    readonly closeTimeout: number;
  };

  constructor(options: WebSocketTransportOptions = {}) {
    this.#tls = options.tls;
    this.#maxSockets = options.maxSockets ?? DEFAULT_MAX_SOCKETS;
    this.#bounds = {
      perMessageDeflate: false,
      maxPayload: options.maxFrameBytes ?? MAX_FRAME_BYTES,
      maxFragments: MAX_FRAGMENTS,
      closeTimeout: CLOSE_TIMEOUT_MS,
    };
  }

  async listen(at: HostAndPort, onConnection: (connection: Connection) => void): Promise<Listener> {
    const server = createUpgradeServer(this.#tls);
    const sockets = new SocketPool(server, { maxSockets: this.#maxSockets, maxIdle: Math.ceil(this.#maxSockets / 4) });
    const serverOptions: ServerOptions = {
      ...this.#bounds,
      noServer: true,
      clientTracking: false,
      // Browsers name the page that connects, nodes name none: a page in an operator's browser would be a stranger on loopback.
      verifyClient: ({ origin }: { readonly origin?: string }) => origin === undefined,
    };
    const webSockets = new WebSocketServer(serverOptions);
    server.on('upgrade', (request, socket, head) => {
      const pass = request.headers[PASS_HEADER];
      const shown = typeof pass === 'string' && pass.length <= MAX_PASS_LENGTH ? pass : undefined;
      webSockets.handleUpgrade(request, socket, head, (webSocket) => {
        sockets.upgraded(request.socket);
        onConnection(new WebSocketConnection(webSocket, request.socket, { pass: shown }));
      });
    });
    const address = await open(server, at);
    return {
      address,
      async close() {
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        sockets.destroyAll();
        await closed;
      },
    };
  }

  async dial(address: string, signal: AbortSignal, pass?: string): Promise<Connection> {
    parseAddress(address);
    if (signal.aborted) throw aborted(address);
    const masks = new Masks();
    const clientOptions: ClientOptions = {
      ...this.#bounds,
      generateMask: masks.next,
      ...(this.#tls?.ca === undefined ? {} : { ca: this.#tls.ca }),
      ...(pass === undefined ? {} : { headers: { [PASS_HEADER]: pass } }),
    };
    const webSocket = new WebSocket(`${this.#tls ? 'wss' : 'ws'}://${address}/`, clientOptions);
    return await opened(webSocket, address, signal, masks);
  }
}

function createUpgradeServer(tls: TlsFiles | undefined): Server {
  const timeouts = {
    headersTimeout: UPGRADE_TIMEOUT_MS,
    requestTimeout: UPGRADE_TIMEOUT_MS,
    connectionsCheckingInterval: UPGRADE_TIMEOUT_MS,
  };
  const server = tls
    ? createHttpsServer({ ...timeouts, cert: tls.cert, key: tls.key, minVersion: 'TLSv1.2' })
    : createHttpServer(timeouts);
  server.on('request', (_request, response) => {
    response
      .writeHead(426, { connection: 'close', upgrade: 'websocket' })
      .end('This port takes links between nodes only.\n');
  });
  return server;
}

function open(server: Server, at: HostAndPort): Promise<HostAndPort> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const code = cause.code === 'EADDRINUSE' ? 'port_in_use' : 'peer_unreachable';
      const message = `cannot listen for peers on ${formatAddress(at)}: ${errorMessage(cause)}`;
      reject(new TesseraError(code, message, { cause }));
    });
    server.listen({ port: at.port, host: at.host, backlog: BACKLOG }, () => {
      const { port } = server.address() as AddressInfo;
      // A later error of one socket ends that socket, not the listener.
      server.on('error', () => undefined);
      resolve({ host: at.host, port });
    });
  });
}

function opened(webSocket: WebSocket, address: string, signal: AbortSignal, masks: Masks): Promise<Connection> {
  return new Promise((resolve, reject) => {
    let socket: Socket | undefined;
    const abort = (): void => {
      reject(aborted(address));
      webSocket.terminate();
    };
    signal.addEventListener('abort', abort, { once: true });
    webSocket.once('upgrade', (response) => {
      socket = response.socket;
    });
    webSocket.once('open', () => {
      signal.removeEventListener('abort', abort);
      if (socket) resolve(new WebSocketConnection(webSocket, socket, { masks }));
    });
    // The listener stays for the life of the object: terminating a connecting WebSocket emits an error too.
    webSocket.on('error', (cause) => {
      signal.removeEventListener('abort', abort);
      reject(new TesseraError('peer_unreachable', `cannot reach ${address}: ${describeError(cause)}`, { cause }));
    });
  });
}

function aborted(address: string): TesseraError {
  return new TesseraError('aborted', `dialing ${address} was given up`);
}

interface SocketPoolOptions {
  /** Most sockets at once, connections included. */
  readonly maxSockets: number;
  /** Most sockets at once that are not connections yet. */
  readonly maxIdle: number;
}

/** Name of a socket, by the addresses of its two ends: with TLS there are two objects for one socket. */
const nameOf = (socket: Socket): string => `${socket.remoteAddress} ${socket.remotePort} ${socket.localPort}`;

class SocketPool {
  readonly #options: SocketPoolOptions;
  readonly #sockets = new Map<string, Socket>();
  readonly #idle = new Map<string, Socket>();

  constructor(server: Server, options: SocketPoolOptions) {
    this.#options = options;
    server.on('connection', (socket: Socket) => this.#add(socket));
  }

  upgraded(socket: Socket): void {
    this.#idle.delete(nameOf(socket));
  }

  destroyAll(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
  }

  #add(socket: Socket): void {
    const name = nameOf(socket);
    this.#sockets.set(name, socket);
    this.#idle.set(name, socket);
    socket.once('close', () => {
      if (this.#sockets.get(name) !== socket) return;
      this.#sockets.delete(name);
      this.#idle.delete(name);
    });
    const { maxSockets, maxIdle } = this.#options;
    if (this.#sockets.size > maxSockets || this.#idle.size > maxIdle) this.#dropOldest();
  }

  #dropOldest(): void {
    const [oldest] = this.#idle;
    if (oldest === undefined) return;
    const [name, socket] = oldest;
    this.#idle.delete(name);
    this.#sockets.delete(name);
    socket.destroy();
  }
}

/** Bytes from which on a frame to a node of the same operator is not masked: below, masking costs next to nothing. */
const PLAIN_FROM = 64 * 1024;
/** Bytes that a small arrival counts as: each is an object in memory, which takes some 700 bytes besides its content. */
const LEAST_ARRIVAL_BYTES = 512;
/** Most pings and pongs between two frames before a connection ends: nodes send none, proxies a few. */
const MAX_BARE_CONTROLS = 32;

/** The masks of frames that a dialer sends. Frames of an accepted connection are not masked. */
class Masks {
  /** True if the next frame is sent as it is, which a mask of zeros says. */
  isOff = false;

  readonly next = (mask: Buffer): void => {
    if (this.isOff) mask.fill(0);
    else randomFillSync(mask);
  };
}

class WebSocketConnection implements Connection {
  readonly remote: string;
  readonly remoteHost: string;
  readonly pass: string | undefined;
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #masks: Masks;
  readonly #early: Frame[] = [];
  readonly #closeListeners: ((reason: string) => void)[] = [];
  #onMessage: ((frame: Frame) => void) | undefined;
  #guard: Guard = () => (this.#socket.bytesRead > GUARD_BYTES ? GUARD_REASON : undefined);
  /** Bytes of the frame that is being received. */
  #heldBytes = 0;
  /** True if the last arrival has brought the end of a frame. */
  #isComplete = false;
  /** Pings and pongs since the last frame. */
  #bareControls = 0;
  #isPlain = false;
  #closeReason = '';
  #closed = false;

  constructor(
    webSocket: WebSocket,
    socket: Socket,
    { pass, masks = new Masks() }: { readonly pass?: string | undefined; readonly masks?: Masks } = {},
  ) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#masks = masks;
    this.pass = pass;
    this.remoteHost = socket.remoteAddress ?? '?';
    this.remote = formatAddress({ host: this.remoteHost, port: socket.remotePort ?? 0 });
    // The listener is added after the library's own: the frames of a chunk are handled before the chunk is counted,
    // with the guard that they may have set.
    socket.on('data', this.#count);
    socket.setNoDelay(true);
    webSocket.on('message', (data: RawData, isBinary: boolean) => this.#receive(data, isBinary));
    webSocket.on('ping', this.#countControl);
    webSocket.on('pong', this.#countControl);
    webSocket.on('error', (error) => {
      this.#closeReason ||= describeError(error);
    });
    webSocket.on('close', () => this.#end());
  }

  get bufferedAmount(): number {
    return this.#webSocket.bufferedAmount;
  }

  get bytesReceived(): number {
    return this.#socket.bytesRead;
  }

  send(frame: Frame): void {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return;
    // The library asks for the mask before `send` returns.
    this.#masks.isOff = this.#isPlain && frame.length >= PLAIN_FROM;
    this.#webSocket.send(typeof frame === 'string' ? frame : asBuffer(frame), () => undefined);
    this.#masks.isOff = false;
  }

  sendPlain(): void {
    this.#isPlain = true;
  }

  onMessage(listener: (frame: Frame) => void): void {
    this.#onMessage = listener;
    for (const frame of this.#early.splice(0)) this.#onMessage(frame);
  }

  onClose(listener: (reason: string) => void): void {
    if (this.#closed) queueMicrotask(() => listener(this.#closeReason));
    else this.#closeListeners.push(listener);
  }

  guard(guard: Guard): void {
    this.#guard = guard;
  }

  pause(): void {
    this.#webSocket.pause();
  }

  resume(): void {
    this.#webSocket.resume();
  }

  close(): void {
    this.#closeReason ||= 'closed by this node';
    // The other end's farewell must be read.
    this.#webSocket.resume();
    this.#webSocket.close(1000);
  }

  cut(reason: string): void {
    this.#closeReason ||= reason;
    this.#webSocket.terminate();
  }

  readonly #count = ({ length }: Uint8Array): void => {
    this.#heldBytes = this.#isComplete ? 0 : this.#heldBytes + Math.max(length, LEAST_ARRIVAL_BYTES);
    this.#isComplete = false;
    const reason = this.#guard(this.#heldBytes);
    if (reason !== undefined) this.cut(reason);
  };

  readonly #countControl = (): void => {
    if (++this.#bareControls > MAX_BARE_CONTROLS) this.cut('more pings or pongs of WebSocket than a proxy needs');
  };

  #receive(data: RawData, isBinary: boolean): void {
    const frame = isBinary ? toBytes(data) : toBytes(data).toString('utf8');
    this.#isComplete = true;
    this.#bareControls = 0;
    if (this.#onMessage) this.#onMessage(frame);
    else this.#early.push(frame);
  }

  #end(): void {
    this.#closed = true;
    this.#socket.off('data', this.#count);
    this.#closeReason ||= 'the peer closed the connection';
    for (const listener of this.#closeListeners.splice(0)) listener(this.#closeReason);
  }
}

function toBytes(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

/** The text of an error; that of a failed dial of several addresses has the texts of all its errors. */
function describeError(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(errorMessage).join('; ');
  return errorMessage(error);
}
