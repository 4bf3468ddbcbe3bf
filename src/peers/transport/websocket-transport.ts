/**
 * Links over WebSocket, with TLS when certificates are given. Compression is off: blocks are hashes and signatures, which do
 * not shrink, and a compressed frame hides its size. Nothing here trusts the other end: frames, open sockets and the time
 * until the upgrade are bounded.
 */

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
  type Listener,
  MAX_FRAME_BYTES,
  type Transport,
} from './transport.js';

/** Certificates as PEM text or bytes. With them every link of this node uses TLS, dialed and accepted. */
export interface TlsFiles {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** The authority that signs the peers' certificates; the system's authorities when absent. */
  readonly ca?: string | Buffer;
}

export interface WebSocketTransportOptions {
  readonly tls?: TlsFiles;
  /** Bytes; smaller than `MAX_FRAME_BYTES` in tests only. */
  readonly maxFrameBytes?: number;
}

/** Milliseconds from a socket's opening to its upgrade. */
const UPGRADE_TIMEOUT_MS = 5_000;
/** Milliseconds that a closing connection has to send what is queued. */
const CLOSE_TIMEOUT_MS = 1_000;
/** Sockets that one listener holds at once; links have their own, lower bound. */
const MAX_SOCKETS = 2_048;

export function createWebSocketTransport(options: WebSocketTransportOptions = {}): Transport {
  const { tls } = options;
  const bounds = { perMessageDeflate: false, maxPayload: options.maxFrameBytes ?? MAX_FRAME_BYTES };
  const serverOptions: ServerOptions & { closeTimeout: number } = {
    ...bounds,
    noServer: true,
    clientTracking: false,
    closeTimeout: CLOSE_TIMEOUT_MS,
  };
  const clientOptions: ClientOptions & { closeTimeout: number } = {
    ...bounds,
    closeTimeout: CLOSE_TIMEOUT_MS,
    ...(tls?.ca === undefined ? {} : { ca: tls.ca }),
  };

  return {
    async listen(at, onConnection) {
      const server = createUpgradeServer(tls);
      const sockets = trackSockets(server);
      const webSockets = new WebSocketServer(serverOptions);
      server.on('upgrade', (request, socket, head) => {
        webSockets.handleUpgrade(request, socket, head, (webSocket) => onConnection(wrap(webSocket, request.socket)));
      });
      const address = await open(server, at);
      return {
        address,
        async close() {
          const closed = new Promise<void>((resolve) => server.close(() => resolve()));
          for (const socket of sockets) socket.destroy();
          await closed;
        },
      } satisfies Listener;
    },

    async dial(address, signal) {
      parseAddress(address);
      if (signal.aborted) throw aborted(address);
      const webSocket = new WebSocket(`${tls ? 'wss' : 'ws'}://${address}/`, clientOptions);
      return await opened(webSocket, address, signal);
    },
  };
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
  server.maxConnections = MAX_SOCKETS;
  server.on('request', (_request, response) => {
    response
      .writeHead(426, { connection: 'close', upgrade: 'websocket' })
      .end('This port takes links between nodes only.\n');
  });
  return server;
}

function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

function open(server: Server, at: HostAndPort): Promise<HostAndPort> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      reject(
        new TesseraError(
          'peer_unreachable',
          `cannot listen for peers on ${formatAddress(at)}: ${errorMessage(cause)}`,
          {
            cause,
          },
        ),
      );
    });
    server.listen(at.port, at.host, () => {
      const { port } = server.address() as AddressInfo;
      // What goes wrong later on one socket is that socket's end, not the listener's.
      server.on('error', () => undefined);
      resolve({ host: at.host, port });
    });
  });
}

function opened(webSocket: WebSocket, address: string, signal: AbortSignal): Promise<Connection> {
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
      if (socket) resolve(wrap(webSocket, socket));
    });
    // Stays for the life of the object: terminating it while it connects emits an error too.
    webSocket.on('error', (cause) => {
      signal.removeEventListener('abort', abort);
      reject(new TesseraError('peer_unreachable', `cannot reach ${address}: ${describe(cause)}`, { cause }));
    });
  });
}

function wrap(webSocket: WebSocket, socket: Socket): Connection {
  const early: Frame[] = [];
  let onMessage: ((frame: Frame) => void) | undefined;
  const closeListeners: ((reason: string) => void)[] = [];
  let closeReason = '';
  let closed = false;

  const fail = (reason: string): void => {
    closeReason ||= reason;
    webSocket.terminate();
  };
  // Added after the library's own listener, so that a frame which lifts the guard is handled before its chunk is counted.
  const guard = (): void => {
    if (socket.bytesRead > GUARD_BYTES) fail(GUARD_REASON);
  };
  socket.on('data', guard);
  socket.setNoDelay(true);

  webSocket.on('message', (data: RawData, isBinary: boolean) => {
    const frame = isBinary ? toBytes(data) : toBytes(data).toString('utf8');
    if (onMessage) onMessage(frame);
    else early.push(frame);
  });
  webSocket.on('error', (error) => {
    closeReason ||= describe(error);
  });
  webSocket.on('close', () => {
    closed = true;
    socket.off('data', guard);
    closeReason ||= 'the peer closed the connection';
    for (const listener of closeListeners.splice(0)) listener(closeReason);
  });

  return {
    remote: formatAddress({ host: socket.remoteAddress ?? '?', port: socket.remotePort ?? 0 }),
    get bufferedAmount() {
      return webSocket.bufferedAmount;
    },
    get bytesReceived() {
      return socket.bytesRead;
    },
    send(frame) {
      if (webSocket.readyState !== WebSocket.OPEN) return;
      webSocket.send(typeof frame === 'string' ? frame : asBuffer(frame), () => undefined);
    },
    onMessage(listener) {
      onMessage = listener;
      for (const frame of early.splice(0)) onMessage(frame);
    },
    onClose(listener) {
      if (closed) queueMicrotask(() => listener(closeReason));
      else closeListeners.push(listener);
    },
    liftGuard() {
      socket.off('data', guard);
    },
    close() {
      closeReason ||= 'closed by this node';
      webSocket.close(1000);
    },
  };
}

function toBytes(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

function aborted(address: string): TesseraError {
  return new TesseraError('aborted', `dialing ${address} was given up`);
}

/** The text of an error; a failed dial of several addresses has its texts inside. */
function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(errorMessage).join('; ');
  return errorMessage(error);
}
