/** Bounds on connections: how many one address may hold, and the answer to what is no HTTP at all. */

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import type { Clock, Timer } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { stringifyExact } from '../../lib/json.js';
import { isLoopback } from './api-key.js';
import { PROBLEM_MEDIA_TYPE, problemOf } from './problem.js';
import type { RequestObserver } from './request-log.js';

/** Milliseconds that answers under way have when the app closes; the node stops within five seconds. */
const GRACE_MS = 2_000;

/** Closes connections of a remote address beyond `limit`. Loopback is not counted: a proxy may stand there. */
export function limitConnections(server: Server, limit: number): void {
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress;
    if (address === undefined || isLoopback(address)) return;
    const count = (open.get(address) ?? 0) + 1;
    if (count > limit) {
      socket.destroy();
      return;
    }
    open.set(address, count);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
  });
}

/**
 * When the app closes: connections that have asked for nothing (browsers keep some in store) are closed at once, which
 * Node's own way of closing would wait for; answers under way get a moment.
 */
export function closeInTime(app: FastifyInstance, clock: Clock): void {
  const { server } = app;
  const unused = new Set<Socket>();
  let grace: Timer | undefined;
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.on('request', ({ socket }) => unused.delete(socket));
  app.addHook('preClose', async () => {
    for (const socket of unused) socket.destroy();
    grace = clock.after(GRACE_MS, () => server.closeAllConnections());
  });
  app.addHook('onClose', async () => grace?.cancel());
}

/** Tells of each request from its first byte until its answer is out or its connection gone. */
export function observeServer(server: Server, observer: RequestObserver): void {
  server.on('request', (_request, response) => {
    observer.began();
    response.once('close', () => observer.ended());
  });
}

/** Answers what the HTTP parser refuses, and requests that do not arrive in time, with a problem document. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, title, detail] = clientFault(error.code);
  const problem = { ...problemOf(new TesseraError('invalid_request', detail)), status, title };
  const body = stringifyExact(problem);
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: ${PROBLEM_MEDIA_TYPE}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function clientFault(code: string | undefined): readonly [number, string, string] {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'Request Timeout', 'The request did not arrive in time.'];
  if (code === 'HPE_HEADER_OVERFLOW') return [431, 'Request Header Fields Too Large', 'The header is too large.'];
  return [400, 'Bad Request', 'This is no HTTP request that can be read.'];
}
